// Package memory keeps both tables in the process. The local registry serves
// from it, the tests of the core run on it, and other drivers are compared with
// it. It also makes the change records that a table's stream would carry: a
// process takes them as they are made ([Store.Subscribe]), a test reads them
// later ([Store.Records]).
//
// Memory follows the number of items and of the rows of [Config].RowsKept,
// provided that the owner subscribes and calls [Store.ExpireTTL] regularly. No
// write does work that grows with the number of items.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
)

var (
	_ registry.Store        = (*Store)(nil)
	_ eviction.Store        = (*Store)(nil)
	_ eviction.Deltas       = (*Store)(nil)
	_ eviction.Publications = (*Store)(nil)
	_ view.Source           = (*Store)(nil)
)

// Config holds how long items stay; see [Store.ExpireTTL].
type Config struct {
	// TTLGrace is how far past a lease's end its TTL lies; default 24 h.
	TTLGrace time.Duration
	// OverrideKept is how long an evicted lease's override stays at the
	// least; default 1 h. Every tombstone stays for 1 h.
	OverrideKept time.Duration
	// RowsKept is how long delta rows stay; default that of [delta.RowLifetime].
	RowsKept time.Duration
}

// tombstoneKept is how long a tombstone stays, so that its version outlives
// the rows and snapshots of the lease that it ended.
const tombstoneKept = time.Hour

// Store holds both tables. It is safe for concurrent use, has no clock of its
// own, and keeps times to the millisecond as the tables do.
type Store struct {
	cfg Config

	// mu guards the lease table and its records, which agree with each other
	// while it is held. A subscriber is called with it held, so that it gets
	// the changes in their order.
	mu         sync.Mutex
	apps       map[string]*application
	subscriber func(Record)
	sequence   int64
	records    []Record

	deltas deltaTable
}

// application is the items of one application.
type application struct {
	items map[string]*item
	// live counts the items that are no tombstones.
	live int
	// most is the largest size that items has had; see [application.shrink].
	most int
}

// count keeps the number of live items when one item replaces another; nil
// stands for no item.
func (a *application) count(old, next *item) {
	if old.live() {
		a.live--
	}
	if next.live() {
		a.live++
	}
}

// New returns an empty store.
func New(cfg Config) *Store {
	return &Store{
		cfg: Config{
			TTLGrace:     cmp.Or(cfg.TTLGrace, 24*time.Hour),
			OverrideKept: cmp.Or(cfg.OverrideKept, time.Hour),
			RowsKept:     cmp.Or(cfg.RowsKept, delta.RowLifetime(0)),
		},
		apps:   map[string]*application{},
		deltas: deltaTable{buckets: map[int64]map[rowKey]keptRow{}},
	}
}

// ended returns the error of a context that has ended. Nothing in this store
// takes time, so it is looked at once, before anything is done.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", eureka.ErrUnavailable, err)
	}
	return nil
}

// millis returns a time as the tables keep it.
func millis(t time.Time) time.Time {
	if t.IsZero() || t.UnixMilli() == 0 {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// compareKeys orders keys, so that a failing test fails again in the same way.
func compareKeys(a, b eureka.Key) int {
	return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.ID, b.ID))
}

// keptInstance returns a copy that no caller can change, as the tables keep
// it.
func keptInstance(in *eureka.InstanceInfo) *eureka.InstanceInfo {
	if in == nil {
		return nil
	}
	out := in.Clone()
	out.Metadata = keptMap(out.Metadata)
	out.DataCenter.Metadata = keptMap(out.DataCenter.Metadata)
	out.LastUpdated, out.LastDirty = millis(in.LastUpdated), millis(in.LastDirty)
	out.Lease.Registered, out.Lease.LastRenewed = millis(in.Lease.Registered), millis(in.Lease.LastRenewed)
	out.Lease.Evicted, out.Lease.ServiceUp = millis(in.Lease.Evicted), millis(in.Lease.ServiceUp)
	return out
}

func keptMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Get implements [registry.Store] and [eviction.Store].
func (s *Store) Get(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.stored(key); l != nil {
		return l, nil
	}
	return nil, eureka.ErrLeaseNotFound
}

// Count implements [registry.Counter].
func (s *Store) Count(ctx context.Context, app string, limit int) (int, error) {
	if err := ended(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.apps[app]; a != nil {
		return min(a.live, limit), nil
	}
	return 0, nil
}

// Scan implements [eviction.Store] and [view.Source].
func (s *Store) Scan(ctx context.Context) ([]eureka.Lease, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	leases := s.copies()
	slices.SortFunc(leases, func(a, b eureka.Lease) int { return compareKeys(a.Key, b.Key) })
	return leases, nil
}

// copies returns all leases and tombstones in no order.
func (s *Store) copies() []eureka.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, app := range s.apps {
		n += len(app.items)
	}
	leases := make([]eureka.Lease, 0, n)
	for _, app := range s.apps {
		for _, i := range app.items {
			leases = append(leases, i.lease)
		}
	}
	return leases
}
