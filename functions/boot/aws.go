package boot

import (
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/eurekaless/registry/storage/dynamodb"
)

// attemptTimeout bounds one try of a call in a function, whose client waits for
// at most some seconds.
const attemptTimeout = 3 * time.Second

// LambdaConfig returns the SDK's configuration in a function. Lambda gives
// region and credentials in the environment, where they stay the same as long
// as the container lives. The SDK's own loader looks in many more places and
// takes 10 to 40 ms of a cold start for it (measured; this one takes none).
func LambdaConfig(lookup Lookup) aws.Config {
	get := func(name string) string {
		value, _ := lookup(name)
		return value
	}
	return aws.Config{
		Region: get("AWS_REGION"),
		Credentials: credentials.NewStaticCredentialsProvider(
			get("AWS_ACCESS_KEY_ID"), get("AWS_SECRET_ACCESS_KEY"), get("AWS_SESSION_TOKEN")),
		HTTPClient: httpClient(),
		Retryer:    dynamodb.ClientConfig{}.Retryer,
	}
}

// httpClient is for one host and small requests, some of them parallel in a
// scan. Connections are given up before the other side does it; a frozen
// container finds those it had too old, since idleness is wall-clock time. One
// that died unnoticed costs an attempt's timeout and a retry.
func httpClient() aws.HTTPClient {
	return awshttp.NewBuildableClient().
		WithTimeout(attemptTimeout).
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = time.Second }).
		WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = 32
			t.IdleConnTimeout = 30 * time.Second
			t.TLSHandshakeTimeout = 2 * time.Second
			t.DisableCompression = true
		}).
		Freeze()
}
