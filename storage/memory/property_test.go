package memory_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/memory"
	"github.com/eurekaless/registry/storage/storagetest"
)

// TestAgainstModel makes random operations on a few keys and compares each
// answer, and each state, with what a model of the contract says.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{store: memory.New(memory.Config{TTLGrace: time.Minute}), items: map[eureka.Key]eureka.Lease{}, now: now}
		t.Repeat(map[string]func(*rapid.T){
			"register": m.register,
			"renew":    m.renew,
			"update":   m.update,
			"cancel":   m.cancel,
			"evict":    m.evict,
			"expire":   m.expire,
			"":         m.check,
		})
	})
}

// machine is the store and the model of it.
type machine struct {
	store *memory.Store
	// items is what the contract says to be stored.
	items   map[eureka.Key]eureka.Lease
	checker storagetest.Checker
	now     time.Time
}

// tick draws a server's clock: it goes on, and differs by some seconds.
func (m *machine) tick(t *rapid.T) time.Time {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "pass")) * time.Millisecond)
	return m.now.Add(time.Duration(rapid.IntRange(-3000, 3000).Draw(t, "skew")) * time.Millisecond)
}

func (m *machine) key(t *rapid.T) eureka.Key {
	return eureka.NewKey("shop", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"))
}

// dirty draws a client's timestamp, from few, so that they are often equal.
func dirty(t *rapid.T) time.Time {
	if n := rapid.IntRange(0, 4).Draw(t, "dirty"); n > 0 {
		return now.Add(time.Duration(n) * time.Minute)
	}
	return time.Time{}
}

func status(t *rapid.T, label string) eureka.Status {
	return rapid.SampledFrom([]eureka.Status{eureka.Up, eureka.Down, eureka.OutOfService, eureka.Unknown}).Draw(t, label)
}

// quiet draws a quiet time, most often none.
func quiet(t *rapid.T) time.Duration {
	return time.Duration(rapid.SampledFrom([]int{0, 0, 30, 75}).Draw(t, "quiet")) * time.Second
}

// override draws an override, most often none.
func override(t *rapid.T, label string) eureka.Status {
	return rapid.SampledFrom([]eureka.Status{"", "", eureka.OutOfService, eureka.Down}).Draw(t, label)
}

// live returns the live lease of a key.
func (m *machine) live(key eureka.Key) (eureka.Lease, bool) {
	l, ok := m.items[key]
	return l, ok && !l.Tombstone()
}

// expect demands success, or the failed condition with the state that the
// model holds; a renewal's need not carry it.
func (m *machine) expect(t *rapid.T, key eureka.Key, ok bool, err error) {
	if ok {
		require.NoError(t, err)
		return
	}
	var failed *registry.ConditionFailedError
	require.ErrorAs(t, err, &failed)
	held, exists := m.items[key]
	if !exists {
		require.Nil(t, failed.Stored)
	} else if failed.Stored != nil {
		require.Empty(t, storagetest.DiffLeases([]eureka.Lease{held}, []eureka.Lease{*failed.Stored}))
	}
}

func (m *machine) register(t *rapid.T) {
	key, at := m.key(t), m.tick(t)
	l := newLease(key)
	l.Status, l.Overridden, l.Dirty = status(t, "status"), override(t, "override"), dirty(t)
	l.Updated, l.Registered, l.Renewed, l.Quiet = at, at, at, quiet(t)
	if l.Status == eureka.Up {
		l.ServiceUp = at
	}
	r := registry.Registration{Lease: l, Stored: override(t, "demanded")}
	before, exists := m.items[key]
	live := exists && !before.Tombstone()
	ok := r.Stored == before.Overridden && (!live || !before.Dirty.After(l.Dirty))
	m.expect(t, key, ok, m.store.Register(context.Background(), r))
	if !ok {
		return
	}
	if live && !before.ServiceUp.IsZero() {
		l.ServiceUp = before.ServiceUp
	}
	if l.Quiet == 0 {
		l.Quiet = before.Quiet
	}
	l.Version = m.newVersion(t, key, max(before.Version+1, 1))
	if !exists {
		require.GreaterOrEqual(t, l.Version, at.UnixMilli())
	}
	m.items[key] = l
}

// newVersion reads the version that the store gave; the model knows only what
// it is at the least.
func (m *machine) newVersion(t *rapid.T, key eureka.Key, least int64) int64 {
	l, err := m.store.Get(context.Background(), key)
	require.NoError(t, err)
	require.GreaterOrEqual(t, l.Version, least)
	return l.Version
}

func (m *machine) renew(t *rapid.T) {
	r := registry.Renewal{Key: m.key(t), Now: m.tick(t), Dirty: dirty(t), Exact: rapid.Bool().Draw(t, "exact"), Quiet: quiet(t)}
	l, live := m.live(r.Key)
	ok := live && l.Status != eureka.Unknown &&
		(r.Dirty.IsZero() || l.Dirty.Equal(r.Dirty) || !r.Exact && l.Dirty.After(r.Dirty))
	m.expect(t, r.Key, ok, errorOf(m.store.Renew(context.Background(), r)))
	if ok {
		l.Renewed = r.Now
		if r.Quiet > 0 {
			l.Quiet = r.Quiet
		}
		m.items[r.Key] = l
	}
}

func (m *machine) update(t *rapid.T) {
	u := registry.Update{
		Key: m.key(t), Status: status(t, "status"), Overridden: override(t, "override"),
		Action: eureka.Modified, Dirty: dirty(t), Updated: m.tick(t),
	}
	l, live := m.live(u.Key)
	u.IfVersion = m.items[u.Key].Version - int64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "behind"))
	if rapid.Bool().Draw(t, "instance too") {
		u.Instance = newLease(u.Key).Instance
		u.Instance.HostName = rapid.StringN(0, 5, -1).Draw(t, "host name")
	}
	ok := live && u.IfVersion == l.Version
	m.expect(t, u.Key, ok, m.store.Update(context.Background(), u))
	if !ok {
		return
	}
	if u.Instance != nil {
		l.Instance = u.Instance
	}
	l.Status, l.Overridden, l.Action = u.Status, u.Overridden, u.Action
	l.Dirty, l.Updated, l.ServiceUp = u.Dirty, u.Updated, u.ServiceUp
	l.Version++
	m.items[u.Key] = l
}

func (m *machine) cancel(t *rapid.T) {
	key, at := m.key(t), m.tick(t)
	l, ok := m.live(key)
	m.expect(t, key, ok, m.store.Cancel(context.Background(), key, at))
	if ok {
		m.items[key] = eureka.Lease{Key: key, Version: m.newVersion(t, key, l.Version+1), Quiet: l.Quiet, Gone: at}
	}
}

func (m *machine) evict(t *rapid.T) {
	key, at := m.key(t), m.tick(t)
	l, live := m.live(key)
	renewed := l.Renewed
	if rapid.IntRange(0, 3).Draw(t, "read") == 0 {
		renewed = renewed.Add(-time.Millisecond)
	}
	ok := live && renewed.Equal(l.Renewed)
	m.expect(t, key, ok, m.store.Evict(context.Background(), key, renewed, at))
	if ok {
		m.items[key] = eureka.Lease{Key: key, Version: m.newVersion(t, key, l.Version+1), Quiet: l.Quiet, Overridden: l.Overridden, Gone: at}
	}
}

// expire removes leases that ended more than the grace ago, and tombstones
// after their hour. A lease that was renewed just before may outlive this, one
// that was not may not.
func (m *machine) expire(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{0, 60, 145, 4000}).Draw(t, "seconds")) * time.Second)
	m.store.ExpireTTL(m.now)
	for key, l := range m.items {
		_, err := m.store.Get(context.Background(), key)
		over := l.End().Add(time.Minute)
		if l.Tombstone() {
			over = l.Gone.Add(time.Hour)
		}
		switch gone := errors.Is(err, eureka.ErrLeaseNotFound); {
		case gone:
			require.True(t, m.now.After(over), "%s went too early", key)
			delete(m.items, key)
		default:
			require.False(t, m.now.After(over.Add(2*time.Second)), "%s stays too long", key)
		}
	}
}

// check compares the whole state, and what the records tell, with the model.
func (m *machine) check(t *rapid.T) {
	scan, err := m.store.Scan(context.Background())
	require.NoError(t, err)
	var want []eureka.Lease
	for _, l := range m.items {
		want = append(want, l)
	}
	require.Empty(t, storagetest.DiffLeases(want, scan))
	require.Empty(t, m.checker.Observe(scan...))
	require.Empty(t, storagetest.DiffLeases(scan, m.replay(t)))
}

// replay follows the records from the first: each continues its item's state,
// and the marker is on those that change the version.
func (m *machine) replay(t *rapid.T) []eureka.Lease {
	states := map[eureka.Key]*eureka.Lease{}
	for _, r := range m.store.Records(0) {
		key := slices.DeleteFunc([]*eureka.Lease{r.New, r.Old}, func(l *eureka.Lease) bool { return l == nil })[0].Key
		require.Equal(t, states[key], r.Old)
		states[key] = r.New
		if r.Removed {
			require.Nil(t, r.New)
			continue
		}
		require.Equal(t, r.Old == nil || r.Old.Version != r.New.Version, r.Marked)
	}
	var found []eureka.Lease
	for _, l := range states {
		if l != nil {
			found = append(found, *l)
		}
	}
	return found
}
