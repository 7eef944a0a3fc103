package boot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/dashboard/templates"
	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/memory"
)

const registration = `{"instance": {"instanceId": "shop-1", "hostName": "shop-1.example.org", "app": "SHOP",
	"ipAddr": "192.0.2.10", "status": "UP", "dataCenterInfo": {
	"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`

// parts returns parts on the reference driver.
func parts(t *testing.T, user boot.User, env map[string]string) (*boot.Parts, *memory.Store, *clock) {
	t.Helper()
	cfg, err := boot.Load(lookup(env), user)
	require.NoError(t, err)
	return partsOf(t, cfg)
}

func partsOf(t testing.TB, cfg boot.Config) (*boot.Parts, *memory.Store, *clock) {
	t.Helper()
	c := newClock()
	store := memory.New(memory.Config{})
	return &boot.Parts{
		Config: cfg, Tables: storage.Tables{LeaseTable: store, DeltaTable: store},
		Log: slog.New(slog.DiscardHandler), Meter: handlers.Unmetered{}, Now: c.Now,
		Pages: templates.New(), Environment: "test",
	}, store, c
}

// event returns a gateway event.
func event(t *testing.T, method, path, body string) []byte {
	t.Helper()
	out, err := json.Marshal(map[string]any{
		"version": "2.0", "rawPath": path, "body": body,
		"headers":        map[string]string{"content-type": "application/json", "accept": "application/json"},
		"requestContext": map[string]any{"http": map[string]string{"method": method, "path": path}},
	})
	require.NoError(t, err)
	return out
}

type invoker interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

func status(t *testing.T, h invoker, payload []byte) (int, string) {
	t.Helper()
	answer, err := h.Invoke(t.Context(), payload)
	require.NoError(t, err)
	var a struct {
		StatusCode int
		Body       string
	}
	require.NoError(t, json.Unmarshal(answer, &a))
	return a.StatusCode, a.Body
}

// TestFunctionsTogether: what the write function takes, the read function
// gives; the write function has no lists.
func TestFunctionsTogether(t *testing.T) {
	p, _, _ := parts(t, boot.Local, map[string]string{"REGISTRY_CACHE_REFRESH": "0s"})
	write, read := p.Write(), p.Read()
	code, _ := status(t, write, event(t, "POST", "/eureka/apps/SHOP", registration))
	assert.Equal(t, http.StatusNoContent, code)
	code, body := status(t, read, event(t, "GET", "/eureka/apps/SHOP/shop-1", ""))
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, "shop-1.example.org")
	code, body = status(t, read, event(t, "GET", "/eureka/apps", ""))
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, "UP_1_")
	code, _ = status(t, write, event(t, "GET", "/eureka/apps", ""))
	assert.Equal(t, http.StatusNotFound, code)

	evict, err := p.Evict()
	require.NoError(t, err)
	require.NoError(t, evict.Handle(t.Context()))
	code, body = status(t, read, event(t, "GET", "/eureka/status", ""))
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, body, `"leases": 1`)

	assert.HTTPStatusCode(t, p.API().ServeHTTP, "GET", "/eureka/apps", nil, http.StatusOK)
}

// TestClosed: without credentials and without being asked for open access,
// nothing is served.
func TestClosed(t *testing.T) {
	p, store, _ := parts(t, boot.Write, map[string]string{
		"REGISTRY_CREDENTIALS_SECRET": "arn:aws:secretsmanager:eu-west-3:123456789012:secret:eureka",
	})
	for _, h := range []invoker{p.Write(), p.Read()} {
		for _, method := range []string{"POST", "GET", "PUT", "DELETE"} {
			code, _ := status(t, h, event(t, method, "/eureka/apps/SHOP", registration))
			assert.Equal(t, http.StatusUnauthorized, code)
		}
	}
	leases, err := store.Scan(t.Context())
	require.NoError(t, err)
	assert.Empty(t, leases)
}

// meter keeps the last value of each metric.
type meter map[handlers.Metric]float64

func (m meter) Record(metric handlers.Metric, value float64) { m[metric] = value }
func (m meter) Flush()                                       {}

// failing is a source that fails when told.
type failing struct {
	storage.DeltaTable
	err error
}

func (f *failing) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.DeltaTable.Deltas(ctx, since, until)
}

// TestRegistryAge: the age that is measured is that of the view, also when no
// new one can be made.
func TestRegistryAge(t *testing.T) {
	p, store, c := parts(t, boot.Local, nil)
	m, source := meter{}, &failing{DeltaTable: store}
	p.Meter, p.Tables.DeltaTable = m, source
	read := p.Read()
	list := event(t, "GET", "/eureka/apps", "")

	code, _ := status(t, read, list)
	assert.Equal(t, http.StatusOK, code)
	assert.LessOrEqual(t, m[handlers.RegistryAge], 30.0)
	source.err = errors.New("throttled")
	c.now = c.now.Add(5 * time.Minute)
	code, _ = status(t, read, list)
	assert.Equal(t, http.StatusOK, code, "stale is better than nothing")
	assert.Greater(t, m[handlers.RegistryAge], 299.0)
}

// TestFunction: from the environment alone, against an engine that is not
// there: that is a 503, a metric and no panic.
func TestFunction(t *testing.T) {
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no table"}`))
	}))
	defer engine.Close()
	env := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s3cr3t", "AWS_SESSION_TOKEN": "t0ken",
		"AWS_LAMBDA_FUNCTION_NAME": "eureka-write", "AWS_ENDPOINT_URL_DYNAMODB": engine.URL, "REGISTRY_ANONYMOUS": "true",
	}
	var out bytes.Buffer
	p, err := boot.Function(lookup(env), &out, boot.Write)
	require.NoError(t, err)
	heartbeat, err := os.ReadFile("../write/event.json")
	require.NoError(t, err)
	code, _ := status(t, p.Write(), heartbeat)
	assert.GreaterOrEqual(t, code, 500)
	assert.Contains(t, out.String(), `"StoreFailures":1`)
	assert.Contains(t, out.String(), `"FunctionName":"eureka-write"`)
	assert.NotContains(t, out.String(), "s3cr3t")
	assert.NotContains(t, out.String(), "t0ken")
}

func TestFunctionRefusesToStart(t *testing.T) {
	_, err := boot.Function(lookup(nil), &bytes.Buffer{}, boot.Read)
	assert.ErrorContains(t, err, "settings of the read function")
}
