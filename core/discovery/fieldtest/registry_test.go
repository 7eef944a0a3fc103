package fieldtest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/storage/memory"
)

// passes is the pace of eviction in these tests.
const passes = time.Second

// inProcess is this registry over the reference driver, in this process. It is
// an http.Handler and, without any socket, an http.RoundTripper.
type inProcess struct {
	t testing.TB

	// mu guards all that follows; one request is served at a time, so each
	// finds the changes of those before it.
	mu      sync.Mutex
	store   *memory.Store
	pumped  int
	handler http.Handler
	evictor *eviction.Runner
}

// newInProcess returns an empty registry whose eviction runs until the context
// ends.
func newInProcess(ctx context.Context, t testing.TB) *inProcess {
	r := &inProcess{t: t}
	r.restart(true)
	go func() {
		ticker := time.NewTicker(passes)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				r.evict()
			}
		}
	}()
	return r
}

// restart begins anew, as a new process does, with the tables as they are or
// with empty ones.
func (r *inProcess) restart(lose bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lose {
		r.store, r.pumped = memory.New(memory.Config{}), 0
	}
	logger := slog.New(slog.NewTextHandler(r.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	r.handler = httpapi.New(httpapi.Config{
		Registry:     registry.New(registry.Config{Store: r.store}),
		Cache:        view.New(view.Config{Source: r.store, Logger: logger}),
		Publications: r.store,
		Logger:       logger,
	})
	cfg := eviction.DefaultConfig()
	cfg.Store, cfg.Deltas, cfg.Publications = r.store, r.store, r.store
	cfg.Interval, cfg.Policy.SelfPreservation = passes, false
	evictor, err := eviction.New(cfg)
	require.NoError(r.t, err)
	r.evictor = evictor
}

// ServeHTTP implements http.Handler.
func (r *inProcess) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pump()
	r.handler.ServeHTTP(w, req)
}

// RoundTrip implements http.RoundTripper.
func (r *inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	body := io.Reader(http.NoBody)
	if req.Body != nil {
		defer req.Body.Close()
		body = req.Body
	}
	served := httptest.NewRequestWithContext(req.Context(), req.Method, req.URL.String(), body)
	served.Header = req.Header
	w := httptest.NewRecorder()
	r.ServeHTTP(w, served)
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// pump does the stream's and its function's work: changes become rows.
func (r *inProcess) pump() {
	records := r.store.Records(r.pumped)
	r.pumped += len(records)
	var rows []delta.Row
	for _, record := range records {
		if row, ok := delta.Project(record.Image); ok {
			row.Written = time.Now()
			rows = append(rows, row)
		}
	}
	require.NoError(r.t, r.store.Put(context.Background(), rows))
}

func (r *inProcess) evict() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pump()
	_, err := r.evictor.Run(context.Background())
	require.NoError(r.t, err)
}
