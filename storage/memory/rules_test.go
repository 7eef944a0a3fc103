package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// TestFollows: the store notices a wrong state before it stores it.
func TestFollows(t *testing.T) {
	key, now := eureka.NewKey("shop", "shop-1"), time.UnixMilli(1_700_000_000_000)
	held := item{lease: eureka.Lease{
		Key: key, Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App}, Version: 7, Status: eureka.Up, Renewed: now,
	}}
	for name, c := range map[string]struct {
		change func(next *item)
		fails  bool
	}{
		"a newer version":             {change: func(next *item) { next.lease.Version = 8 }},
		"the same version":            {change: func(*item) {}, fails: true},
		"an older version":            {change: func(next *item) { next.lease.Version = 6 }, fails: true},
		"another's instance":          {change: func(next *item) { next.lease.Version, next.lease.Key.ID = 8, "other" }, fails: true},
		"a tombstone":                 {change: func(next *item) { next.lease = eureka.Lease{Key: key, Version: 8, Gone: now} }},
		"a tombstone without its end": {change: func(next *item) { next.lease = eureka.Lease{Key: key, Version: 8} }, fails: true},
		"a lease that has ended":      {change: func(next *item) { next.lease.Version, next.lease.Gone = 8, now }, fails: true},
	} {
		next := held
		c.change(&next)
		err := follows(&held, &next)
		if c.fails {
			assert.ErrorIs(t, err, errRule, name)
		} else {
			assert.NoError(t, err, name)
		}
	}
}

// TestNothingIsLeftBehind: after churn of a day, whose leases end in each way,
// there are no items, no rows, and no map that is still as large as it once was.
func TestNothingIsLeftBehind(t *testing.T) {
	s := New(Config{})
	now := time.UnixMilli(1_700_000_000_000)
	s.Subscribe(func(r Record) {
		row, ok := delta.Project(r.Image)
		require.True(t, ok)
		row.Sequence, row.Written = r.Sequence, now
		require.NoError(t, s.Put(t.Context(), []delta.Row{row}))
	})
	stays := eureka.NewKey("shop", "stays")
	register(t, s, stays, now)
	const churned = 10_000
	largest := 0
	for n := range churned {
		now = now.Add(24 * time.Hour / churned)
		key := eureka.NewKey("shop", "shop-"+now.Format(time.RFC3339Nano))
		register(t, s, key, now)
		switch n % 3 {
		case 0:
			require.NoError(t, s.Cancel(t.Context(), key, now))
		case 1:
			require.NoError(t, s.Evict(t.Context(), key, now, now))
		}
		renew(t, s, stays, now)
		if n%10 == 0 {
			s.ExpireTTL(now)
		}
		largest = max(largest, len(s.deltas.buckets))
	}
	assert.LessOrEqual(t, largest, 75*60/10+10, "buckets of 75 minutes")

	for _, later := range []time.Duration{24*time.Hour + 91*time.Second, 75*time.Minute + time.Second} {
		now = now.Add(later)
		renew(t, s, stays, now)
		s.ExpireTTL(now)
	}

	app := s.apps["SHOP"]
	assert.Len(t, app.items, 1, "the lease that was renewed last")
	assert.Equal(t, 1, app.live)
	assert.LessOrEqual(t, app.most, 64)
	assert.Empty(t, s.deltas.buckets)
	assert.Empty(t, s.records)
}

func register(t *testing.T, s *Store, key eureka.Key, now time.Time) {
	t.Helper()
	require.NoError(t, s.Register(t.Context(), registry.Registration{Lease: eureka.Lease{
		Key: key, Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App}, Status: eureka.Up,
		Renewed: now, Registered: now, Updated: now, Duration: eureka.DefaultLeaseDuration,
	}}))
}

func renew(t *testing.T, s *Store, key eureka.Key, now time.Time) {
	t.Helper()
	_, err := s.Renew(t.Context(), registry.Renewal{Key: key, Now: now})
	require.NoError(t, err)
}
