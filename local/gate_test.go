package main

import (
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// engineGate stands before an engine and behaves as DynamoDB does in a bad
// hour.
type engineGate struct {
	url  string
	mode atomic.Int32
	// tables is what the tables' names end with: the embedded engines of one
	// process have the same tables.
	tables string
	// limit is how many calls a second are let through.
	limit *rate.Limiter
	// opened ends requests that hang.
	opened chan struct{}
}

const (
	gateOpen = iota
	// gateAway cuts every connection.
	gateAway
	// gateHangs takes requests and never answers.
	gateHangs
)

// newEngineGate puts a gate before an engine of the test's own.
func newEngineGate(t *testing.T) *engineGate {
	t.Helper()
	engine, err := url.Parse(enginetest.Kumo(t).Endpoint)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(engine)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 256}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	g := &engineGate{tables: strings.ToLower(rand.Text()), limit: rate.NewLimiter(rate.Inf, 1), opened: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.pass(w, r, proxy) }))
	t.Cleanup(func() {
		close(g.opened)
		server.Close()
	})
	g.url = server.URL
	return g
}

// settings are those of a process that works behind the gate.
func (g *engineGate) settings(more ...string) []string {
	return append(more, "AWS_ENDPOINT_URL_DYNAMODB="+g.url,
		"REGISTRY_LEASE_TABLE=leases-"+g.tables, "REGISTRY_DELTA_TABLE=deltas-"+g.tables)
}

func (g *engineGate) pass(w http.ResponseWriter, r *http.Request, engine http.Handler) {
	switch g.mode.Load() {
	case gateAway:
		panic(http.ErrAbortHandler)
	case gateHangs:
		select {
		case <-g.opened:
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
		panic(http.ErrAbortHandler)
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") && !g.limit.Allow() {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"throttled"}`)
		return
	}
	engine.ServeHTTP(w, r)
}
