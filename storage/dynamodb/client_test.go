package dynamodb_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/sdkconfig"
)

func TestLoopback(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"http://127.0.0.1:8000":                    true,
		"http://127.8.9.10":                        true,
		"http://localhost:8000":                    true,
		"http://[::1]:8000":                        true,
		"http://[::ffff:127.0.0.1]:8000":           true,
		"":                                         false,
		"127.0.0.1:8000":                           false,
		"http://172.17.0.1:8000":                   false,
		"http://0.0.0.0:8000":                      false,
		"http://localhost.example.org:8000":        false,
		"http://127.0.0.1.example.org":             false,
		"https://dynamodb.us-east-1.amazonaws.com": false,
		"http://user@127.0.0.1@example.org/":       false,
		"::":                                       false,
	} {
		assert.Equal(t, want, dynamodb.Loopback(endpoint), endpoint)
	}
}

// TestAConfigurationOfRegionAndCredentialsIsEnough: the rest is the same as
// after a loading.
func TestAConfigurationOfRegionAndCredentialsIsEnough(t *testing.T) {
	client := dynamodb.ClientFrom(aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, dynamodb.ClientConfig{MaxAttempts: 7})

	assert.Equal(t, 7, client.Options().Retryer.MaxAttempts())
	assert.IsType(t, &awshttp.BuildableClient{}, client.Options().HTTPClient)
	assert.Equal(t, 3*time.Second, client.Options().HTTPClient.(*awshttp.BuildableClient).GetTimeout())
}

// on returns a store on a server that answers as told, by its own connections.
func on(t *testing.T, cfg dynamodb.ClientConfig, handler http.HandlerFunc) (*dynamodb.Store, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg.Endpoint = server.URL
	client, err := sdkconfig.NewClient(t.Context(), cfg)
	require.NoError(t, err)
	return dynamodb.New(client, dynamodb.Config{}), server
}

func TestATryThatGetsNoAnswerIsGivenUp(t *testing.T) {
	var calls atomic.Int64
	release := make(chan struct{})
	s, _ := on(t, dynamodb.ClientConfig{AttemptTimeout: 100 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			<-release
			return
		}
		_, _ = w.Write([]byte("{}"))
	})
	defer close(release)

	err := errorOf(s.Renew(t.Context(), registry.Renewal{Key: shop1, Now: began}))

	require.NoError(t, err)
	assert.EqualValues(t, 2, calls.Load())
}

// TestADeadConnectionCostsOneRetry: as after a function's freeze.
func TestADeadConnectionCostsOneRetry(t *testing.T) {
	s, server := on(t, dynamodb.ClientConfig{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	for range 3 {
		require.NoError(t, errorOf(s.Renew(t.Context(), registry.Renewal{Key: shop1, Now: began})))
		server.CloseClientConnections()
	}
}

func TestUsageIsReportedWithTheCallersContext(t *testing.T) {
	type key struct{}
	var seen []dynamodb.Usage
	a := &answers{steps: []transport{status(500), func(*http.Request) (*http.Response, error) {
		return answer(200, `{"ConsumedCapacity":{"TableName":"leases","CapacityUnits":2.5}}`), nil
	}}}
	client := clientOn(t, a, dynamodb.ObserveUsage(func(ctx context.Context, u dynamodb.Usage) {
		assert.Equal(t, "operation", ctx.Value(key{}))
		seen = append(seen, u)
	}), func(o *awsdynamodb.Options) { o.RetryMaxAttempts = 2 })
	ctx := context.WithValue(t.Context(), key{}, "operation")

	require.NoError(t, errorOf(dynamodb.New(client, dynamodb.Config{}).Renew(ctx, registry.Renewal{Key: shop1, Now: began})))

	assert.Equal(t, []dynamodb.Usage{{Operation: "UpdateItem", WriteUnits: 2.5, Attempts: 2}}, seen)
}
