package emulator_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/local/emulator"
)

func client(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

func start(t *testing.T, listen string) *emulator.Emulator {
	t.Helper()
	e, err := emulator.Start(listen, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close(context.Background())) })
	return e
}

func createTable(t *testing.T, db *dynamodb.Client, name string) {
	t.Helper()
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("k"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("k"), KeyType: types.KeyTypeHash}},
	})
	require.NoError(t, err)
}

func TestTheEngineServesDynamoDBOnAPortOfItsOwn(t *testing.T) {
	e := start(t, "")
	createTable(t, client(e.URL()), "own-port")

	host, _, err := net.SplitHostPort(e.Address())
	require.NoError(t, err)
	assert.True(t, net.ParseIP(host).IsLoopback())
}

func TestTheEngineServesTheSameTablesOnTheWantedAddress(t *testing.T) {
	e := start(t, "127.0.0.1:0")
	createTable(t, client(e.URL()), "wanted-address")

	out, err := client("http://"+e.Address()).DescribeTable(t.Context(),
		&dynamodb.DescribeTableInput{TableName: aws.String("wanted-address")})

	require.NoError(t, err)
	assert.Equal(t, "wanted-address", aws.ToString(out.Table.TableName))
	assert.NotEqual(t, e.URL(), "http://"+e.Address())
}

func TestTheWantedAddressServesNoOtherService(t *testing.T) {
	e := start(t, "127.0.0.1:0")
	for _, target := range []string{"", "AmazonSQS.ListQueues", "secretsmanager.ListSecrets", "DynamoDB"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+e.Address()+"/", strings.NewReader("{}"))
		require.NoError(t, err)
		req.Header.Set("X-Amz-Target", target)

		resp, err := http.DefaultClient.Do(req)

		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, http.StatusNotFound, resp.StatusCode, "target %q", target)
	}
}

func TestAnAddressThatIsTakenIsAnErrorAtTheStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()

	_, err = emulator.Start(taken.Addr().String(), slog.New(slog.DiscardHandler))

	assert.ErrorContains(t, err, "address already in use")
}

func TestNothingListensAfterClose(t *testing.T) {
	e, err := emulator.Start("127.0.0.1:0", slog.New(slog.DiscardHandler))
	require.NoError(t, err)

	require.NoError(t, e.Close(context.Background()))

	for _, address := range []string{e.Address(), strings.TrimPrefix(e.URL(), "http://")} {
		_, err := net.Dial("tcp", address)
		assert.Error(t, err)
	}
}
