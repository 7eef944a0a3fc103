package eventsource_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/local/eventsource"
	store "github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// TestOnEngines writes items and waits for each, in its order, at the handler,
// also with a clock that differs from the engine's: no record is given up for an
// age that only the difference makes.
func TestOnEngines(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		for _, off := range []time.Duration{0, 2 * time.Minute, time.Hour, -2 * time.Minute} {
			t.Run(off.String(), func(t *testing.T) { testOnEngine(t, e.Endpoint, off) })
		}
	})
}

func testOnEngine(t *testing.T, endpoint string, off time.Duration) {
	clock := store.NewClock(store.ClockConfig{Now: func() time.Time { return time.Now().Add(off) }})
	db := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, clock.Observe)
	streams := dynamodbstreams.New(dynamodbstreams.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	table := fmt.Sprintf("poller-%d", time.Now().UnixNano())
	createTable(t, db, table)
	var got arrivals
	p, err := eventsource.New(eventsource.Config{
		Table: table, Tables: db, Streams: streams, Handler: got.handle,
		Filters: []string{`{"dynamodb":{"NewImage":{"change":{"S":[{"exists":true}]}}}}`},
		Now:     clock.Now, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		p.Run(ctx)
	}()

	for i := range 50 {
		put(t, db, table, map[string]types.AttributeValue{"n": &types.AttributeValueMemberN{Value: fmt.Sprint(i)}})
		put(t, db, table, map[string]types.AttributeValue{
			"n": &types.AttributeValueMemberN{Value: fmt.Sprint(i)}, "change": &types.AttributeValueMemberS{Value: "1"},
		})
		at := time.Now()
		require.Eventually(t, func() bool { return got.count() == i+1 }, 5*time.Second, time.Millisecond)
		assert.Less(t, time.Since(at), time.Second)
	}
	cancel()
	<-ran

	for i, n := range got.numbers {
		assert.Equal(t, fmt.Sprint(i), n)
	}
	assert.Equal(t, eventsource.Stats{Read: 100, Matched: 50}, p.Stats())
}

type arrivals struct {
	mu      sync.Mutex
	numbers []string
}

func (a *arrivals) handle(_ context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range event.Records {
		a.numbers = append(a.numbers, r.Change.NewImage["n"].Number())
	}
	return events.DynamoDBEventResponse{}, nil
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.numbers)
}

func createTable(t *testing.T, db *dynamodb.Client, name string) {
	t.Helper()
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("k"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("k"), KeyType: types.KeyTypeHash}},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	})
	require.NoError(t, err)
}

func put(t *testing.T, db *dynamodb.Client, table string, item map[string]types.AttributeValue) {
	t.Helper()
	item["k"] = &types.AttributeValueMemberS{Value: "one"}
	_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item})
	require.NoError(t, err)
}
