package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/storage/dynamodb"
)

// cannedTable is a DynamoDB that says yes to everything and counts.
type cannedTable struct{ calls atomic.Int64 }

func (c *cannedTable) Do(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: 2, Body: io.NopCloser(strings.NewReader("{}")), Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {"2745614147"}},
	}, err
}

// BenchmarkWriteFunction measures the write function as it is deployed, event
// in and answer out, the SDK included, DynamoDB itself excluded.
func BenchmarkWriteFunction(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(boot.WriteGCPercent))
	f := fleet{perApp: 10}
	for name, request := range map[string]func(i int) request{"renew": f.heartbeat, "register": f.register} {
		b.Run(name, func(b *testing.B) {
			cfg, err := boot.Load(func(name string) (string, bool) { return "true", name == "REGISTRY_ANONYMOUS" }, boot.Write)
			require.NoError(b, err)
			table := &cannedTable{}
			client := dynamodb.ClientFrom(aws.Config{
				Region: "us-east-1", HTTPClient: table, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "token"),
			}, dynamodb.ClientConfig{})
			log := slog.New(slog.DiscardHandler)
			meter := boot.NewMetrics(io.Discard, "write", boot.FlushEvery, time.Now)
			parts := &boot.Parts{
				Config: cfg, Log: log, Meter: meter, Now: time.Now, Tables: boot.Tables(client, cfg, log, meter),
			}
			s := &stage{write: parts.Write()}
			s.measure(b, s.write, request)
			calls := fmt.Sprintf("%.2f", float64(table.calls.Load())/float64(b.N+1))
			require.Equal(b, "1.00", calls, "one call of DynamoDB each")
		})
	}
}
