package dynamodb

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// ClientConfig says how to reach DynamoDB. Zero values mean the defaults.
type ClientConfig struct {
	// Endpoint is the base URL of an engine, or of DynamoDB where the SDK does
	// not know it itself; default: what the SDK finds in its own environment
	// (AWS_ENDPOINT_URL_DYNAMODB among it) and configuration.
	Endpoint string
	// MaxAttempts is how often a call is tried in all; default 4.
	MaxAttempts int
	// AttemptTimeout bounds one try, its answer included; default 3 s, and 30 s
	// at a loopback address, where an engine may share this machine's
	// processors and its pages have no limit of 1 MB.
	AttemptTimeout time.Duration
}

// ClientFrom returns a client for DynamoDB, with a configuration that package
// sdkconfig loaded, or one of region and credentials alone, as a function has
// them at hand. Build it once for a process.
func ClientFrom(loaded aws.Config, cfg ClientConfig, options ...func(*dynamodb.Options)) *dynamodb.Client {
	if loaded.HTTPClient == nil {
		loaded.HTTPClient = cfg.HTTPClient()
	}
	if loaded.Retryer == nil {
		loaded.Retryer = cfg.Retryer
	}
	return dynamodb.NewFromConfig(loaded, append([]func(*dynamodb.Options){func(o *dynamodb.Options) {
		if cfg.Endpoint != "" {
			o.BaseEndpoint = &cfg.Endpoint
		}
		// Engines send no checksum, for which the SDK writes a warning each time.
		o.DisableValidateResponseChecksum = Loopback(cfg.Endpoint)
		o.APIOptions = append(o.APIOptions, markUnsure)
	}}, options...)...)
}

// Loopback reports whether a URL's host is this machine itself.
func Loopback(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(u.Hostname())
	return err == nil && address.Unmap().IsLoopback()
}

// maxBackoff bounds the pause before a try. The SDK's default of 20 s is
// longer than a function's whole deadline.
const maxBackoff = time.Second

// Retryer returns the SDK's standard one, with DynamoDB's pauses from 25 ms on.
func (c ClientConfig) Retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = cmp.Or(c.MaxAttempts, 4)
		o.MaxBackoff = maxBackoff
		o.BaseDelay = 25 * time.Millisecond
	})
}

// HTTPClient returns one that is tuned for a function: one host, many small
// requests, some parallel ones in a scan. (The SDK adds a configured CA bundle to
// it.) Idle connections are dropped before the other side does it, and after a
// function's freeze: the transport looks at the wall clock.
func (c ClientConfig) HTTPClient() *awshttp.BuildableClient {
	timeout := 3 * time.Second
	if Loopback(c.Endpoint) {
		timeout = 30 * time.Second
	}
	return awshttp.NewBuildableClient().
		WithTimeout(cmp.Or(c.AttemptTimeout, timeout)).
		WithDialerOptions(func(d *net.Dialer) {
			d.Timeout = time.Second
			d.KeepAlive = 15 * time.Second
		}).
		WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConns = 256
			t.MaxIdleConnsPerHost = 128
			t.IdleConnTimeout = 30 * time.Second
			t.TLSHandshakeTimeout = 2 * time.Second
			t.ExpectContinueTimeout = 0
			t.DisableCompression = true // answers are small, and the SDK asks for none
		})
}
