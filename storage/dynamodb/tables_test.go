package dynamodb_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
	"github.com/eurekaless/registry/storage/dynamodb/sdkconfig"
)

func TestTablesAreCreatedOnce(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		client, cfg := e.Client(t), e.Tables(t)

		created, err := dynamodb.CreateTables(t.Context(), client, cfg.LeaseTable, cfg.DeltaTable)
		require.NoError(t, err)
		assert.Empty(t, created, "both are there")

		for name, stream := range map[string]bool{cfg.LeaseTable: true, cfg.DeltaTable: false} {
			table, err := client.DescribeTable(t.Context(), &awsdynamodb.DescribeTableInput{TableName: &name})
			require.NoError(t, err)
			specification := table.Table.StreamSpecification
			assert.Equal(t, stream, specification != nil && aws.ToBool(specification.StreamEnabled), name)
			if stream {
				assert.Equal(t, types.StreamViewTypeNewAndOldImages, specification.StreamViewType)
			}
			ttl, err := client.DescribeTimeToLive(t.Context(), &awsdynamodb.DescribeTimeToLiveInput{TableName: &name})
			require.NoError(t, err)
			assert.Equal(t, dynamodb.AttrTTL, aws.ToString(ttl.TimeToLiveDescription.AttributeName), name)
		}
	})
}

func TestTablesAreNotCreatedElsewhere(t *testing.T) {
	for _, endpoint := range []string{"", "https://dynamodb.eu-west-1.amazonaws.com", "http://172.17.0.1:8000"} {
		a := &answers{steps: []transport{status(200)}}
		client, err := sdkconfig.NewClient(t.Context(), dynamodb.ClientConfig{Endpoint: endpoint}, func(o *awsdynamodb.Options) { o.HTTPClient = a })
		require.NoError(t, err)

		_, err = dynamodb.CreateTables(t.Context(), client, "leases", "deltas")

		require.ErrorIs(t, err, dynamodb.ErrNotLocal)
		assert.Zero(t, a.count.Load())
	}
}

func TestAFailureToCreateNamesTheTable(t *testing.T) {
	client := clientOn(t, refuse("LimitExceededException", "too many tables"))

	_, err := dynamodb.CreateTables(t.Context(), client, "leases", "deltas")

	assert.ErrorContains(t, err, `create table "leases"`)
}
