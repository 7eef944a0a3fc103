package eviction_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/registry"
)

// tables is a small lease table, delta table and publication store with a
// clock that only moves when told. Each change of the lease table becomes a row
// at once, unless the change is to be lost.
type tables struct {
	mu     sync.Mutex
	now    time.Time
	leases map[eureka.Key]eureka.Lease
	rows   []delta.Row

	snapshot   *delta.Snapshot
	statistics delta.Statistics
	claim      delta.Claim
	recent     delta.Recent
	recentPuts int

	// lose keeps changes from becoming rows, as if their stream records were
	// lost.
	lose bool
	// corrupt are leases that a scan leaves out and Get cannot understand.
	corrupt map[eureka.Key]bool
	// before is called before each operation; an error fails it unapplied.
	before func(ctx context.Context, operation string, key eureka.Key) error
	// after is called when an operation was applied; an error is its answer.
	after func(operation string, key eureka.Key) error
}

// epoch is when the tests' clock starts.
var epoch = time.UnixMilli(1_700_000_000_000).UTC()

func newTables() *tables {
	return &tables{now: epoch, leases: map[eureka.Key]eureka.Lease{}, corrupt: map[eureka.Key]bool{}}
}

// clock is the tables' clock.
func (t *tables) clock() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// advance moves the clock.
func (t *tables) advance(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = t.now.Add(d)
}

// runner returns a runner on the tables, with default settings but for what
// change sets.
func (t *tables) runner(tb testing.TB, change func(*eviction.Config)) *eviction.Runner {
	cfg := eviction.DefaultConfig()
	cfg.Store, cfg.Deltas, cfg.Publications = t, t, t
	cfg.Now = t.clock
	seed := uint64(0)
	var mu sync.Mutex
	cfg.Seed = func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		seed++
		return seed
	}
	if change != nil {
		change(&cfg)
	}
	r, err := eviction.New(cfg)
	require.NoError(tb, err)
	return r
}

// everyPass publishes a snapshot at every pass.
func everyPass(c *eviction.Config) { c.SnapshotInterval = time.Second }

// do runs an operation under the lock, with what the hooks make of it.
func (t *tables) do(ctx context.Context, operation string, key eureka.Key, apply func() error) error {
	if t.before != nil {
		if err := t.before(ctx, operation, key); err != nil {
			return err
		}
	}
	t.mu.Lock()
	err := apply()
	t.mu.Unlock()
	if err == nil && t.after != nil {
		err = t.after(operation, key)
	}
	return err
}

// write stores an item and makes the row of the change.
func (t *tables) write(next eureka.Lease) {
	image := delta.Image{New: &next, Marked: true, Sequence: fmt.Sprint(len(t.rows))}
	if old, ok := t.leases[next.Key]; ok {
		image.Old = &old
	}
	t.leases[next.Key] = next
	t.record(image)
}

func (t *tables) record(image delta.Image) {
	if row, ok := delta.Project(image); ok && !t.lose {
		row.Written = t.now
		t.rows = append(t.rows, row)
	}
}

// register registers an instance that is UP, with the usual times unless change
// sets others.
func (t *tables) register(key eureka.Key, change func(*eureka.Lease)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := eureka.Lease{
		Key:      key,
		Instance: &eureka.InstanceInfo{InstanceID: key.ID, HostName: key.ID, App: key.App, IPAddr: "192.0.2.10", Status: eureka.Up},
		Version:  max(t.now.UnixMilli(), t.leases[key].Version) + 1,
		Status:   eureka.Up, Action: eureka.Added,
		Dirty: t.now, Updated: t.now, Registered: t.now, Renewed: t.now, ServiceUp: t.now,
		Interval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration,
	}
	if change != nil {
		change(&l)
	}
	t.write(l)
}

// renew renews a lease and reports whether there is one.
func (t *tables) renew(key eureka.Key, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.leases[key]
	if !ok || l.Tombstone() {
		return false
	}
	l.Renewed = at
	t.leases[key] = l
	return true
}

// setStatus sets an override.
func (t *tables) setStatus(key eureka.Key, status eureka.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.leases[key]
	l.Status, l.Overridden, l.Action, l.Updated = status, status, eureka.Modified, t.now
	l.Version++
	t.write(l)
}

// cancel makes a tombstone without override.
func (t *tables) cancel(key eureka.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.write(eureka.Lease{Key: key, Version: t.leases[key].Version + 1, Gone: t.now})
}

// remove takes an item out of the table, as its TTL does.
func (t *tables) remove(key eureka.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.leases[key]
	delete(t.leases, key)
	t.record(delta.Image{Old: &old, Removed: true, Sequence: fmt.Sprint(len(t.rows))})
}

// lease returns an item and whether it is a live lease.
func (t *tables) lease(key eureka.Key) (eureka.Lease, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.leases[key]
	return l, ok && !l.Tombstone()
}

// live counts the live leases.
func (t *tables) live() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, l := range t.leases {
		if !l.Tombstone() {
			n++
		}
	}
	return n
}

func (t *tables) Scan(ctx context.Context) (leases []eureka.Lease, err error) {
	return leases, t.do(ctx, "Scan", eureka.Key{}, func() error {
		for key, l := range t.leases {
			if !t.corrupt[key] {
				leases = append(leases, l)
			}
		}
		return nil
	})
}

func (t *tables) Get(ctx context.Context, key eureka.Key) (found *eureka.Lease, err error) {
	return found, t.do(ctx, "Get", key, func() error {
		l, ok := t.leases[key]
		switch {
		case !ok:
			return eureka.ErrLeaseNotFound
		case t.corrupt[key]:
			return eureka.ErrCorrupt
		}
		found = &l
		return nil
	})
}

func (t *tables) Evict(ctx context.Context, key eureka.Key, renewed, now time.Time) error {
	return t.do(ctx, "Evict", key, func() error {
		l, ok := t.leases[key]
		if !ok {
			return &registry.ConditionFailedError{}
		}
		if l.Tombstone() || !l.Renewed.Equal(renewed) {
			return &registry.ConditionFailedError{Stored: &l}
		}
		t.write(eureka.Lease{Key: key, Version: l.Version + 1, Overridden: l.Overridden, Gone: now})
		return nil
	})
}

func (t *tables) Put(ctx context.Context, rows []delta.Row) error {
	return t.do(ctx, "Put", eureka.Key{}, func() error {
		t.rows = append(t.rows, rows...)
		return nil
	})
}

func (t *tables) Deltas(ctx context.Context, since, until time.Time) (rows []delta.Row, err error) {
	return rows, t.do(ctx, "Deltas", eureka.Key{}, func() error {
		for _, row := range t.rows {
			if row.Written.After(since) && !row.Written.After(until) {
				rows = append(rows, row)
			}
		}
		return nil
	})
}

func (t *tables) Snapshot(ctx context.Context) (s *delta.Snapshot, err error) {
	return s, t.do(ctx, "Snapshot", eureka.Key{}, func() error {
		if t.snapshot == nil {
			return eureka.ErrNoSnapshot
		}
		s = t.snapshot
		return nil
	})
}

func (t *tables) PutSnapshot(ctx context.Context, s *delta.Snapshot) error {
	return t.do(ctx, "PutSnapshot", eureka.Key{}, func() error { t.snapshot = s; return nil })
}

func (t *tables) Statistics(ctx context.Context) (s delta.Statistics, err error) {
	return s, t.do(ctx, "Statistics", eureka.Key{}, func() error { s = t.statistics; return nil })
}

func (t *tables) PutStatistics(ctx context.Context, s delta.Statistics) error {
	return t.do(ctx, "PutStatistics", eureka.Key{}, func() error { t.statistics = s; return nil })
}

func (t *tables) Claim(ctx context.Context, c delta.Claim) error {
	return t.do(ctx, "Claim", eureka.Key{}, func() error {
		if c.Conflicts(t.claim) {
			return eureka.ErrPassClaimed
		}
		t.claim = c
		return nil
	})
}

func (t *tables) Recent(ctx context.Context) (r delta.Recent, err error) {
	return r, t.do(ctx, "Recent", eureka.Key{}, func() error { r = t.recent; return nil })
}

func (t *tables) PutRecent(ctx context.Context, r delta.Recent) error {
	return t.do(ctx, "PutRecent", eureka.Key{}, func() error {
		t.recent, t.recentPuts = r, t.recentPuts+1
		return nil
	})
}

// readers is what a reader holds that applied every row it was told of.
type readers map[eureka.Key]delta.Row

// readAll applies all rows by version, in the order in which they were written.
func (t *tables) readAll() readers {
	t.mu.Lock()
	rows := slices.Clone(t.rows)
	t.mu.Unlock()
	held := readers{}
	for _, row := range rows {
		if row.Version > held[row.Key].Version {
			held[row.Key] = row
		}
	}
	return held
}

// instances returns the instances that the reader shows, without the times of
// renewal, which no row carries.
func (r readers) instances() map[eureka.Key]*eureka.InstanceInfo {
	shown := map[eureka.Key]*eureka.InstanceInfo{}
	for key, row := range r {
		if !row.Deleted() {
			shown[key] = withoutRenewal(row.Instance)
		}
	}
	return shown
}

// scanned returns the instances in the lease table in the same shape.
func (t *tables) scanned() map[eureka.Key]*eureka.InstanceInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	shown := map[eureka.Key]*eureka.InstanceInfo{}
	for key, l := range t.leases {
		if !l.Tombstone() {
			shown[key] = withoutRenewal(l.Effective())
		}
	}
	return shown
}

func withoutRenewal(i *eureka.InstanceInfo) *eureka.InstanceInfo {
	out := *i
	out.Lease.LastRenewed = time.Time{}
	return &out
}

var (
	_ eviction.Store        = (*tables)(nil)
	_ eviction.Deltas       = (*tables)(nil)
	_ eviction.Publications = (*tables)(nil)
)
