package dynamodb_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/sdkconfig"
)

// transport answers the SDK's requests in the place of an engine, below its
// retries.
type transport func(*http.Request) (*http.Response, error)

// Do implements the SDK's HTTPClient.
func (t transport) Do(r *http.Request) (*http.Response, error) { return t(r) }

// answer is a response of DynamoDB.
func answer(status int, body string) *http.Response {
	return &http.Response{
		StatusCode:    status,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
	}
}

// refusal is an error response of DynamoDB.
func refusal(code, message string) *http.Response {
	return answer(http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"`+message+`"}`)
}

// answers is a transport that gives answers in order, the last again and again,
// and counts.
type answers struct {
	count atomic.Int64
	steps []transport
}

// Do implements the SDK's HTTPClient.
func (a *answers) Do(r *http.Request) (*http.Response, error) {
	n := int(a.count.Add(1)) - 1
	return a.steps[min(n, len(a.steps)-1)](r)
}

type httpClient interface {
	Do(*http.Request) (*http.Response, error)
}

// clientOn returns a client on a transport.
func clientOn(t testing.TB, http httpClient, options ...func(*awsdynamodb.Options)) *awsdynamodb.Client {
	t.Helper()
	client, err := sdkconfig.NewClient(t.Context(), dynamodb.ClientConfig{Endpoint: "http://127.0.0.1:1"},
		append(options, func(o *awsdynamodb.Options) { o.HTTPClient = http })...)
	require.NoError(t, err)
	return client
}

var shop1 = eureka.Key{App: "SHOP", ID: "shop-1"}
