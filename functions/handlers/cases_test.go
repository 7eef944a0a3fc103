package handlers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage/memory"
)

// TestH29: self-preservation is seen in a metric: 1 while 8 of 20 are silent
// and held back, 0 from the pass on that gave them up; the counts follow what
// is registered, whatever its status.
func TestH29(t *testing.T) {
	now, store := start, memory.New(memory.Config{})
	key := func(n int) eureka.Key { return eureka.NewKey("SHOP", fmt.Sprintf("shop-%02d", n)) }
	const all, living = 20, 12
	for n := range all {
		require.NoError(t, store.Register(t.Context(), registry.Registration{Lease: eureka.Lease{
			Key: key(n), Instance: &eureka.InstanceInfo{App: "SHOP", InstanceID: key(n).ID},
			Status: []eureka.Status{eureka.Up, eureka.Down}[n%2], Action: eureka.Added,
			Dirty: now, Updated: now, Registered: now, Renewed: now,
			Interval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration,
		}}))
	}
	cfg := eviction.DefaultConfig()
	cfg.Store, cfg.Deltas, cfg.Publications = store, store, store
	cfg.Now = func() time.Time { return now }
	runner, err := eviction.New(cfg)
	require.NoError(t, err)
	m := meter{}
	h := handlers.NewEvict(handlers.EvictConfig{Pass: runner, Meter: m})

	// Minutes after the registration, and what the pass then measures.
	want := map[int]meter{
		1:  {handlers.SelfPreservation: 0, handlers.Leases: 20, handlers.LeasesExpected: 20, handlers.LeasesSeen: 20, handlers.LeasesExpired: 0, handlers.LeasesEvicted: 0},
		2:  {handlers.SelfPreservation: 1, handlers.Leases: 20, handlers.LeasesExpected: 20, handlers.LeasesSeen: 12, handlers.LeasesExpired: 8, handlers.LeasesEvicted: 0},
		60: {handlers.SelfPreservation: 1, handlers.Leases: 20, handlers.LeasesExpected: 20, handlers.LeasesSeen: 12, handlers.LeasesExpired: 8, handlers.LeasesEvicted: 0},
		61: {handlers.SelfPreservation: 0, handlers.Leases: 20, handlers.LeasesExpected: 12, handlers.LeasesSeen: 12, handlers.LeasesExpired: 8},
		65: {handlers.SelfPreservation: 0, handlers.Leases: 12, handlers.LeasesExpected: 12, handlers.LeasesSeen: 12, handlers.LeasesExpired: 0, handlers.LeasesEvicted: 0},
	}
	for minute := 1; minute <= 65; minute++ {
		now = start.Add(time.Duration(minute) * time.Minute)
		for n := range living {
			require.NoError(t, errorOf(store.Renew(t.Context(), registry.Renewal{Key: key(n), Now: now})))
		}
		clear(m)
		require.NoError(t, h.Handle(t.Context()))
		for metric, value := range want[minute] {
			assert.Equal(t, value, m[metric], "%s after %d minutes", metric.Definition().Name, minute)
		}
	}
}

// errorOf returns the error of a call that returns a value too.
func errorOf[T any](_ T, err error) error { return err }
