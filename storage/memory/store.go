// Package memory is the reference driver: the tables of the design as maps
// under one lock. Tests of the core run on it, other drivers are compared with
// it, and it also emits the change records that a table's stream would. It is
// as mean as the contracts allow, and panics when a caller, or it itself,
// breaks a rule that no caller may break.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/lease"
	"github.com/eurekaless/registry/core/published"
	"github.com/eurekaless/registry/core/readcache"
	"github.com/eurekaless/registry/core/registry"
)

var (
	_ registry.Store        = (*Store)(nil)
	_ eviction.Store        = (*Store)(nil)
	_ eviction.Deltas       = (*Store)(nil)
	_ eviction.Publications = (*Store)(nil)
	_ readcache.Source      = (*Store)(nil)
)

// Config holds how long items stay; see [Store.ExpireTTL].
type Config struct {
	// TTLGrace is how far past a lease's end its TTL lies; default 24 h.
	TTLGrace time.Duration
	// OverrideKept is how long an evicted lease's override stays at the
	// least; default 1 h. Every tombstone stays for 1 h.
	OverrideKept time.Duration
	// RowsKept is how long delta rows stay; default 1 h.
	RowsKept time.Duration
}

// tombstoneKept is how long a tombstone stays, so that its version outlives
// the rows and snapshots of the lease that it ended.
const tombstoneKept = time.Hour

// Store holds both tables. It is safe for concurrent use, has no clock of its
// own, and keeps times to the millisecond as the tables do.
type Store struct {
	cfg Config

	// mu guards all that follows; holding it, the tables and the records
	// agree with each other.
	mu         sync.Mutex
	items      map[eureka.Key]item
	records    []Record
	rows       map[rowKey]delta.Row
	snapshot   *published.Snapshot
	statistics published.Statistics
	claim      published.Claim
	recent     published.Recent
}

// New returns an empty store.
func New(cfg Config) *Store {
	return &Store{
		cfg: Config{
			TTLGrace:     cmp.Or(cfg.TTLGrace, 24*time.Hour),
			OverrideKept: cmp.Or(cfg.OverrideKept, time.Hour),
			RowsKept:     cmp.Or(cfg.RowsKept, time.Hour),
		},
		items: map[eureka.Key]item{},
		rows:  map[rowKey]delta.Row{},
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
func (s *Store) Get(ctx context.Context, key eureka.Key) (*lease.Lease, error) {
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
	n := 0
	for key, i := range s.items {
		if key.App == app && i.live() && n < limit {
			n++
		}
	}
	return n, nil
}

// Scan implements [eviction.Store] and [readcache.Source].
func (s *Store) Scan(ctx context.Context) ([]lease.Lease, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	leases := make([]lease.Lease, 0, len(s.items))
	for _, key := range slices.SortedFunc(maps.Keys(s.items), compareKeys) {
		leases = append(leases, s.items[key].lease)
	}
	return leases, nil
}
