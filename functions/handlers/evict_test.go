package handlers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/functions/handlers"
)

type passFunc func(context.Context) (eviction.Report, error)

func (f passFunc) Run(ctx context.Context) (eviction.Report, error) { return f(ctx) }

func evict(m meter, report eviction.Report, err error) *handlers.Evict {
	return handlers.NewEvict(handlers.EvictConfig{Meter: m, Pass: passFunc(func(context.Context) (eviction.Report, error) {
		return report, err
	})})
}

var report = eviction.Report{
	Scanned:    true,
	Statistics: delta.Statistics{Pass: start, Leases: 20, Expected: 18, Seen: 12, SelfPreservation: true, Enabled: true},
	Lateness:   1500 * time.Millisecond, Expired: 6, Evicted: 3, Failed: 1, Healed: 2,
}

func TestEvict(t *testing.T) {
	m := meter{}
	answer, err := evict(m, report, nil).Invoke(t.Context(), read(t, "../evict/event.json"))
	require.NoError(t, err)
	assert.JSONEq(t, "null", string(answer))
	assert.Equal(t, meter{
		handlers.Leases: 20, handlers.LeasesExpected: 18, handlers.LeasesSeen: 12, handlers.SelfPreservation: 1,
		handlers.LeasesExpired: 6, handlers.LeasesEvicted: 3, handlers.EvictionsFailed: 1,
		handlers.EvictionLateness: 1.5, handlers.RowsHealed: 2,
	}, m)
}

// TestEvictInPart: a pass that failed in part is an error, and what it found
// is measured.
func TestEvictInPart(t *testing.T) {
	m, cause := meter{}, errors.New("snapshot not written")
	_, err := evict(m, report, cause).Invoke(t.Context(), nil)
	assert.ErrorIs(t, err, cause)
	assert.Equal(t, 20.0, m[handlers.Leases])
}

// TestEvictWithoutScan: a pass that saw nothing must not look like an empty
// registry.
func TestEvictWithoutScan(t *testing.T) {
	m := meter{}
	err := evict(m, eviction.Report{OnlyLooked: true, Statistics: delta.Statistics{Pass: start}}, errors.New("no scan")).Handle(t.Context())
	assert.Error(t, err)
	assert.Empty(t, m)
}

// TestEvictEmptyRegistry: an empty registry is one.
func TestEvictEmptyRegistry(t *testing.T) {
	m := meter{}
	empty := eviction.Report{Scanned: true, Statistics: delta.Statistics{Pass: start, Enabled: true}}
	require.NoError(t, evict(m, empty, nil).Handle(t.Context()))
	assert.Contains(t, m, handlers.Leases)
}

// TestWithin: what an invocation does ends before the invocation does.
func TestWithin(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	invocation, _ := ctx.Deadline()
	var pass time.Time
	h := handlers.NewEvict(handlers.EvictConfig{Pass: passFunc(func(ctx context.Context) (eviction.Report, error) {
		pass, _ = ctx.Deadline()
		return report, nil
	})})
	require.NoError(t, h.Handle(ctx))
	assert.Equal(t, 500*time.Millisecond, invocation.Sub(pass))
}
