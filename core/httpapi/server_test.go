package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/dashboard/templates"
	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/storage/memory"
)

// pages are those of all servers.
var pages = templates.New()

// server is the handler over the memory driver, with a clock that stands.
type server struct {
	t       *testing.T
	handler http.Handler
	store   *memory.Store
	now     time.Time
	pumped  int
}

// newServer returns a server whose reads are consistent with the table.
func newServer(t *testing.T, change ...func(*httpapi.Config)) *server {
	s := &server{t: t, store: memory.New(memory.Config{}), now: time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return s.now }
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	cfg := httpapi.Config{
		Registry:     registry.New(registry.Config{Store: s.store, Now: clock, MaxMetadata: 1000}),
		Cache:        view.New(view.Config{Source: s.store, Now: clock, Logger: logger}),
		Publications: s.store,
		Pages:        pages,
		Limits:       wire.Limits{MaxMetadata: 1000},
		Now:          clock, Logger: logger, Region: "eu-central-1", Environment: "test",
	}
	for _, c := range change {
		c(&cfg)
	}
	s.handler = httpapi.New(cfg)
	return s
}

// pump delivers the change records that came since the last call.
func (s *server) pump() {
	records := s.store.Records(s.pumped)
	s.pumped += len(records)
	var rows []delta.Row
	for _, r := range records {
		if row, ok := delta.Project(r.Image); ok {
			row.Written = s.now
			rows = append(rows, row)
		}
	}
	require.NoError(s.t, s.store.Put(context.Background(), rows))
}

// do sends a request; headers come in pairs.
func (s *server) do(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	s.pump()
	s.now = s.now.Add(time.Millisecond)
	r := httptest.NewRequest(method, "http://registry.example.org"+path, strings.NewReader(body))
	r.Header.Set("Accept", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// post registers at /eureka/apps/{app} as JSON.
func (s *server) post(app, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.do("POST", "/eureka/apps/"+app, body, "Content-Type", "application/json")
}

// must fails the test unless the answer has the status.
func (s *server) must(status int, w *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	s.t.Helper()
	require.Equal(s.t, status, w.Code, "body: %s", w.Body)
	return w
}

// read reads one instance's JSON.
func (s *server) read(path string) map[string]any {
	s.t.Helper()
	return decode(s.t, s.must(200, s.do("GET", "/eureka"+path, "")))["instance"].(map[string]any)
}

func decode(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out), "body: %s", w.Body)
	return out
}

// object is a JSON object of a request.
type object = map[string]any

// shop is the complete registration of the cases, with parts replaced; nil
// takes a part away.
func shop(parts object) string {
	info := object{
		"instanceId": "shop-1", "hostName": "shop-1.example.org", "app": "SHOP", "ipAddr": "192.0.2.10",
		"status": "UP", "overriddenStatus": "UNKNOWN",
		"port":       object{"$": 8080, "@enabled": "true"},
		"securePort": object{"$": 8443, "@enabled": "false"}, "countryId": 1,
		"dataCenterInfo": object{"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
		"leaseInfo":      object{"renewalIntervalInSecs": 30, "durationInSecs": 90},
		"metadata":       object{"zone": "a"}, "vipAddress": "shop", "secureVipAddress": "shop",
		"lastUpdatedTimestamp": "1700000000000", "lastDirtyTimestamp": "1700000000000",
	}
	for k, v := range parts {
		if v == nil {
			delete(info, k)
		} else {
			info[k] = v
		}
	}
	body, err := json.Marshal(object{"instance": info})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// fuzz sends a request that may not even be one; nil when it is not.
func (s *server) fuzz(method, path, media, body string) *httptest.ResponseRecorder {
	r, err := http.NewRequest(method, "http://registry.example.org"+path, strings.NewReader(body))
	if err != nil {
		return nil
	}
	r.Header.Set("Content-Type", media)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// brokenStore fails at everything.
type brokenStore struct{}

var errBroken = fmt.Errorf("secret inside: %w", eureka.ErrUnavailable)

func (brokenStore) Get(context.Context, eureka.Key) (*eureka.Lease, error) { return nil, errBroken }
func (brokenStore) Register(context.Context, registry.Registration) error  { return errBroken }
func (brokenStore) Renew(context.Context, registry.Renewal) (time.Duration, error) {
	return 0, errBroken
}
func (brokenStore) Update(context.Context, registry.Update) error       { return errBroken }
func (brokenStore) Cancel(context.Context, eureka.Key, time.Time) error { return errBroken }

// unavailable is a registry whose store does not answer.
func unavailable() *registry.Registry { return registry.New(registry.Config{Store: brokenStore{}}) }
