// Package functions_test measures the functions as Lambda runs them: built
// binaries, started anew for each measurement, on a stand-in of the Lambda
// runtime API.
package functions_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/local/emulator"
	"github.com/eurekaless/registry/storage/dynamodb"
)

// leases is how many the engine holds for the first full read.
const leases = 1000

const registration = `{"instance": {"instanceId": "app-%[1]d-%[2]d", "hostName": "app-%[1]d-%[2]d.example.org", "app": "APP-%[1]d",
	"ipAddr": "192.0.2.%[2]d", "status": "UP", "port": {"$": 8080, "@enabled": "true"}, "vipAddress": "app-%[1]d",
	"homePageUrl": "http://app-%[1]d-%[2]d.example.org:8080/", "metadata": {"zone": "a", "management.port": "8080"},
	"dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`

// BenchmarkColdStart prints medians, in milliseconds: ready is from the start
// of the process until it asks for its first event, first is from there until
// its first answer, cpu is the processor time of both, which a busy machine
// disturbs least. zip-MB is the size of the function's package.
func BenchmarkColdStart(b *testing.B) {
	e, err := emulator.Start("", slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	b.Cleanup(func() { _ = e.Close(context.WithoutCancel(b.Context())) })
	env := map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": e.URL(), "REGISTRY_ANONYMOUS": "true",
	}
	fill(b, env, leases)
	for _, tt := range []struct{ name, function, event string }{
		{"write/heartbeat", "write", event("PUT", "/eureka/apps/APP-1/app-1-1", "")},
		{"read/full", "read", event("GET", "/eureka/apps", "")},
		{"stream/change", "stream", fixture(b, "stream/event.json")},
		{"evict/pass", "evict", fixture(b, "evict/event.json")},
	} {
		binary := build(b, tt.function)
		b.Run(tt.name, func(b *testing.B) {
			var ready, first, processor []time.Duration
			for b.Loop() {
				r, f, p := start(b, binary, env, tt.event)
				ready, first, processor = append(ready, r), append(first, f), append(processor, p)
			}
			b.ReportMetric(0, "ns/op") // the mean of what includes the end of the process
			b.ReportMetric(median(ready), "ready-ms")
			b.ReportMetric(median(first), "first-ms")
			b.ReportMetric(median(processor), "cpu-ms")
			b.ReportMetric(zipped(b, binary), "zip-MB")
		})
	}
}

func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Microseconds()) / 1000
}

// fill creates the tables and registers instances. It returns the parts by which
// it did.
func fill(t testing.TB, env map[string]string, instances int) *boot.Parts {
	t.Helper()
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	cfg, err := boot.Load(lookup, boot.Local)
	require.NoError(t, err)
	client := dynamodb.ClientFrom(boot.LambdaConfig(lookup), dynamodb.ClientConfig{Endpoint: cfg.DynamoDBEndpoint})
	_, err = dynamodb.CreateTables(t.Context(), client, cfg.LeaseTable, cfg.DeltaTable)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	parts := &boot.Parts{
		Config: cfg, Log: log, Meter: handlers.Unmetered{}, Now: time.Now,
		Tables: boot.Tables(client, cfg, log, handlers.Unmetered{}),
	}
	write := parts.Write()
	for i := range instances {
		app, id := i/10, i%10
		answer, err := write.Invoke(t.Context(), []byte(event("POST", fmt.Sprintf("/eureka/apps/APP-%d", app), fmt.Sprintf(registration, app, id))))
		require.NoError(t, err)
		require.Contains(t, string(answer), "204")
	}
	return parts
}

func event(method, path, body string) string {
	return fmt.Sprintf(`{"version": "2.0", "rawPath": %[2]q, "body": %[3]s,
		"headers": {"accept": "application/json", "accept-encoding": "gzip", "content-type": "application/json"},
		"requestContext": {"domainName": "a.execute-api.us-east-1.amazonaws.com", "http": {"method": %[1]q, "path": %[2]q}}}`,
		method, path, strconv.Quote(body))
}

func fixture(b *testing.B, name string) string {
	b.Helper()
	data, err := os.ReadFile(name)
	require.NoError(b, err)
	return string(data)
}

// start starts a function, gives it one event, and ends it.
func start(b *testing.B, binary string, env map[string]string, event string) (ready, first, processor time.Duration) {
	b.Helper()
	c := launch(b, binary, env)
	c.offer(event)
	asked := await(b, c.api.asked, &c.out)
	got := c.answer()
	c.end()
	require.NotContains(b, got.body[:min(len(got.body), 200)], `"statusCode":5`)
	return asked.Sub(c.began), got.at.Sub(asked), c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}
