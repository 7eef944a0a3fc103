// Package functions_test measures the functions as Lambda runs them: built
// binaries, started anew for each measurement, on a stand-in of the Lambda
// runtime API.
package functions_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/local/engine"
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
	e, err := engine.Start("", slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	b.Cleanup(func() { _ = e.Close(context.WithoutCancel(b.Context())) })
	env := map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": e.URL(), "REGISTRY_ANONYMOUS": "true",
	}
	fill(b, env)
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

// build builds a function as `sam build` does, for this machine.
func build(b *testing.B, function string) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "bootstrap")
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", binary, "./"+function)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, string(out))
	return binary
}

// zipped returns the size of a function's package in megabytes.
func zipped(b *testing.B, binary string) float64 {
	b.Helper()
	data, err := os.ReadFile(binary)
	require.NoError(b, err)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("bootstrap")
	require.NoError(b, err)
	_, err = w.Write(data)
	require.NoError(b, err)
	require.NoError(b, z.Close())
	return float64(out.Len()) / 1e6
}

// fill creates the tables and registers instances.
func fill(b *testing.B, env map[string]string) {
	b.Helper()
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	cfg, err := boot.Load(lookup, boot.Local)
	require.NoError(b, err)
	client := dynamodb.ClientFrom(boot.LambdaConfig(lookup), dynamodb.ClientConfig{Endpoint: cfg.DynamoDBEndpoint})
	_, err = dynamodb.CreateTables(b.Context(), client, cfg.LeaseTable, cfg.DeltaTable)
	require.NoError(b, err)
	log := slog.New(slog.DiscardHandler)
	parts := &boot.Parts{
		Config: cfg, Log: log, Meter: handlers.Unmetered{}, Now: time.Now,
		Tables: boot.Tables(client, cfg, log, handlers.Unmetered{}),
	}
	write := parts.Write()
	for i := range leases {
		app, id := i/10, i%10
		answer, err := write.Invoke(b.Context(), []byte(event("POST", fmt.Sprintf("/eureka/apps/APP-%d", app), fmt.Sprintf(registration, app, id))))
		require.NoError(b, err)
		require.Contains(b, string(answer), "204")
	}
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
	r := &runtimeAPI{event: event, asked: make(chan time.Time, 1), answered: make(chan answer, 1)}
	server := httptest.NewServer(r)
	defer server.Close()
	cmd := exec.Command(binary)
	cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(server.URL, "http://"), "AWS_LAMBDA_FUNCTION_NAME=cold", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
	}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Kill() })
	asked := await(b, r.asked, &out)
	got := await(b, r.answered, &out)
	require.NoError(b, cmd.Process.Kill())
	_ = cmd.Wait() // says that it was killed
	require.NotContains(b, got.body[:min(len(got.body), 200)], `"statusCode":5`)
	require.False(b, got.failed, got.body)
	return asked.Sub(began), got.at.Sub(asked), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

func await[T any](b *testing.B, from <-chan T, out fmt.Stringer) T {
	b.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(20 * time.Second):
		b.Fatalf("the function does not get on: %s", out)
		panic("not reached")
	}
}

// runtimeAPI stands in for Lambda's runtime API:
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
type runtimeAPI struct {
	event    string
	asks     atomic.Int64
	asked    chan time.Time
	answered chan answer
}

type answer struct {
	at     time.Time
	body   string
	failed bool
}

func (a *runtimeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/invocation/next"):
		if a.asks.Add(1) > 1 {
			<-r.Context().Done() // one event is all there is
			return
		}
		a.asked <- time.Now()
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(20*time.Second).UnixMilli(), 10))
		_, _ = io.WriteString(w, a.event)
	default:
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		a.answered <- answer{time.Now(), string(body), strings.HasSuffix(r.URL.Path, "/error")}
	}
}
