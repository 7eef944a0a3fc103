package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/storage/memory"
)

// output is what the services print.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestServicesFindEachOther runs everything over a registry in this process,
// until both greeters have answered.
func TestServicesFindEachOther(t *testing.T) {
	defer goleak.VerifyNone(t)
	store := memory.New(memory.Config{})
	store.Subscribe(func(r memory.Record) { // without rows, deltas would lack who registers after the first fetch
		row, ok := delta.Project(r.Image)
		if !ok {
			return
		}
		row.Written = time.Now()
		assert.NoError(t, store.Put(context.Background(), []delta.Row{row}))
	})
	server := httptest.NewServer(httpapi.New(httpapi.Config{
		Registry: registry.New(registry.Config{Store: store}), Cache: view.New(view.Config{Source: store}),
	}))
	defer server.Close()
	var out output
	e := example{
		registry: server.URL + "/eureka", pause: 20 * time.Millisecond, out: &out,
		log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- e.run(ctx, nil) }()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		ports := map[string]bool{}
		for _, answer := range regexp.MustCompile(`hello from port \d+`).FindAllString(out.String(), -1) {
			ports[answer] = true
		}
		assert.Len(c, ports, 2)
	}, 30*time.Second, 20*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	leases, err := store.Scan(context.Background())
	require.NoError(t, err)
	for _, l := range leases {
		assert.True(t, l.Tombstone(), "%s has cancelled its lease", l.Key)
	}
	assert.Len(t, leases, 2)
}

func TestUnknownService(t *testing.T) {
	e := example{}
	assert.ErrorContains(t, e.run(t.Context(), []string{"greeter", "baker"}), `"baker"`)
}

func TestRegistryAway(t *testing.T) {
	defer goleak.VerifyNone(t)
	var out output
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	e := example{registry: "http://127.0.0.1:1/eureka", pause: 20 * time.Millisecond, out: &out, log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	require.NoError(t, e.run(ctx, []string{"caller"}))
	assert.Contains(t, out.String(), "nobody to call yet")
}
