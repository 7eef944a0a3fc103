package registry_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/memory"
)

const writeInterval = 75 * time.Second

// countingStore counts the renewals that reach it, and fails them when told.
type countingStore struct {
	registry.Store
	renewals int
	err      error
	// during runs after a renewal was applied, before its answer.
	during func()
}

func (s *countingStore) Renew(ctx context.Context, r registry.Renewal) (time.Duration, error) {
	s.renewals++
	if s.err != nil {
		return 0, s.err
	}
	duration, err := s.Store.Renew(ctx, r)
	if s.during != nil {
		s.during()
	}
	return duration, err
}

// quietFixture is a registry that need not write every heartbeat, with clocks
// that a test moves.
type quietFixture struct {
	*registry.Registry
	t         *testing.T
	store     *countingStore
	wall      time.Time
	monotonic time.Duration
}

func newQuietFixture(t *testing.T, change ...func(*registry.Config)) *quietFixture {
	f := &quietFixture{t: t, store: &countingStore{Store: memory.New(memory.Config{})}, wall: time.UnixMilli(1_700_000_000_000)}
	f.Registry = f.process(change...)
	require.NoError(t, f.Register(t.Context(), dirtyShop(10)))
	return f
}

// process returns another process on the same table and clocks.
func (f *quietFixture) process(change ...func(*registry.Config)) *registry.Registry {
	cfg := registry.Config{
		Store: f.store, RenewalWriteInterval: writeInterval,
		Now: func() time.Time { return f.wall }, Monotonic: func() time.Duration { return f.monotonic },
	}
	for _, c := range change {
		c(&cfg)
	}
	return registry.New(cfg)
}

// dirtyShop is a registration with that dirty timestamp, in milliseconds.
func dirtyShop(dirty int64) *eureka.InstanceInfo {
	return &eureka.InstanceInfo{
		App: key.App, InstanceID: key.ID, HostName: "shop.example.org", Status: eureka.Up, LastDirty: time.UnixMilli(dirty),
	}
}

// pass moves both clocks.
func (f *quietFixture) pass(d time.Duration) {
	f.wall, f.monotonic = f.wall.Add(d), f.monotonic+d
}

func (f *quietFixture) renew(dirty int64) error {
	return f.Renew(f.t.Context(), key, time.UnixMilli(dirty))
}

// writes returns how many of some heartbeats are written.
func (f *quietFixture) writes(heartbeats func()) int {
	before := f.store.renewals
	heartbeats()
	return f.store.renewals - before
}

func (f *quietFixture) lease() *eureka.Lease {
	l, err := f.store.Get(f.t.Context(), key)
	require.NoError(f.t, err)
	return l
}

// TestTwoOfThreeHeartbeatsNeedNoWrite: with the usual 30 and 90 s and a setting
// of 75 s, in one process.
func TestTwoOfThreeHeartbeatsNeedNoWrite(t *testing.T) {
	f := newQuietFixture(t)
	written := f.writes(func() {
		for range 120 {
			f.pass(30 * time.Second)
			require.NoError(t, f.renew(10))
			require.False(t, f.lease().Expired(f.wall.Add(90*time.Second), 0), "one duration after a heartbeat")
		}
	})
	assert.Equal(t, 40, written)
	assert.Equal(t, writeInterval, f.lease().Quiet)
}

// TestWhichHeartbeatsAreWritten: a heartbeat was written; which ones need no
// write after it?
func TestWhichHeartbeatsAreWritten(t *testing.T) {
	ctx := context.Background()
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	for _, c := range []struct {
		name    string
		between func(f *quietFixture)
		then    func(f *quietFixture) error
		written int
		err     error
	}{
		{name: "the same timestamp", between: func(f *quietFixture) { f.pass(seconds(30)) }},
		{name: "just within the interval", between: func(f *quietFixture) { f.pass(writeInterval - time.Millisecond) }},
		{name: "at its end", between: func(f *quietFixture) { f.pass(writeInterval) }, written: 1},
		{name: "the wall clock stands still", between: func(f *quietFixture) { f.monotonic += writeInterval }, written: 1},
		{name: "the monotonic clock stands still", between: func(f *quietFixture) { f.wall = f.wall.Add(writeInterval) }, written: 1},
		{name: "the wall clock is set back", between: func(f *quietFixture) { f.wall = f.wall.Add(-time.Millisecond) }, written: 1},
		{name: "the monotonic clock goes back", between: func(f *quietFixture) { f.monotonic-- }, written: 1},
		{name: "an older timestamp", then: func(f *quietFixture) error { return f.Renew(ctx, key, time.UnixMilli(9)) }, written: 1},
		{name: "a newer timestamp", then: func(f *quietFixture) error { return f.renew(11) }, written: 1, err: eureka.ErrLeaseNotFound},
		{name: "no timestamp", then: func(f *quietFixture) error { return f.Renew(ctx, key, time.Time{}) }, written: 1},
		{name: "a peer's", then: func(f *quietFixture) error {
			_, err := f.RenewReplicated(ctx, key, time.UnixMilli(10))
			return err
		}, written: 1},
		{name: "a peer's in a batch", then: func(f *quietFixture) error {
			return f.Replicate(ctx, []registry.Replicated{{Key: key, Action: registry.ActionHeartbeat, Dirty: time.UnixMilli(10)}})[0].Err
		}, written: 1},
		{name: "another instance's", then: func(f *quietFixture) error {
			return f.Renew(ctx, eureka.Key{App: key.App, ID: "other"}, time.UnixMilli(10))
		}, written: 1, err: eureka.ErrLeaseNotFound},
		{name: "after a registration", between: func(f *quietFixture) {
			require.NoError(f.t, f.Register(ctx, dirtyShop(10)))
		}, written: 1},
		{name: "after one that kept the newer one stored", between: func(f *quietFixture) {
			require.NoError(f.t, f.Register(ctx, dirtyShop(9)))
		}, written: 1},
		{name: "after a cancel", between: func(f *quietFixture) {
			require.NoError(f.t, f.Cancel(ctx, key))
		}, written: 1, err: eureka.ErrLeaseNotFound},
		{name: "after an override", between: func(f *quietFixture) {
			require.NoError(f.t, f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
		}, written: 1},
		{name: "after its removal, which asks for a registration", between: func(f *quietFixture) {
			require.NoError(f.t, f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
			require.NoError(f.t, f.renew(10))
			require.NoError(f.t, f.RemoveOverride(ctx, key, eureka.Unknown, time.Time{}))
		}, written: 1, err: eureka.ErrLeaseNotFound},
		{name: "after a change of metadata", between: func(f *quietFixture) {
			require.NoError(f.t, f.AddMetadata(ctx, key, map[string]string{"zone": "b"}))
		}, written: 1},
		{name: "after a change that changed nothing", between: func(f *quietFixture) {
			require.NoError(f.t, f.SetStatus(ctx, key, eureka.Up, time.Time{}))
		}},
		{name: "after a renewal that failed", between: func(f *quietFixture) {
			f.pass(writeInterval)
			f.store.err = eureka.ErrThrottled
			require.ErrorIs(f.t, f.renew(10), eureka.ErrThrottled)
			f.wall, f.monotonic, f.store.err = f.wall.Add(-writeInterval), f.monotonic-writeInterval, nil
		}, written: 1},
		{name: "after another process cancelled it", between: func(f *quietFixture) {
			require.NoError(f.t, f.process().Cancel(ctx, key))
		}},
		{name: "after a view showed that", between: func(f *quietFixture) {
			require.NoError(f.t, f.process().Cancel(ctx, key))
			f.Forget(key)
		}, written: 1, err: eureka.ErrLeaseNotFound},
		{name: "after a view showed changes of others", between: func(f *quietFixture) {
			f.Forget(eureka.Key{App: key.App, ID: "other"})
		}},
		{name: "after a view was loaded anew", between: func(f *quietFixture) { f.ForgetAll() }, written: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newQuietFixture(t)
			require.Equal(t, 1, f.writes(func() { require.NoError(t, f.renew(10)) }), "the first one is written")
			if c.between != nil {
				c.between(f)
			}
			if c.then == nil {
				c.then = func(f *quietFixture) error { return f.renew(10) }
			}
			assert.Equal(t, c.written, f.writes(func() { assert.ErrorIs(t, c.then(f), c.err) }), "written")
		})
	}
}

// TestShortLeasesAreWrittenWithinTheirDuration, whatever the setting is.
func TestShortLeasesAreWrittenWithinTheirDuration(t *testing.T) {
	f := newQuietFixture(t)
	info := dirtyShop(10)
	info.Lease.Duration = 10 * time.Second
	require.NoError(t, f.Register(t.Context(), info))
	require.NoError(t, f.renew(10))
	f.pass(10*time.Second - time.Millisecond)
	assert.Zero(t, f.writes(func() { require.NoError(t, f.renew(10)) }))
	assert.False(t, f.lease().Expired(f.wall.Add(10*time.Second), 0), "one duration after the last heartbeat")
	assert.True(t, f.lease().Expired(f.wall.Add(10*time.Second+2*time.Millisecond), 0), "and not much longer")
	f.pass(time.Millisecond)
	assert.Equal(t, 1, f.writes(func() { require.NoError(t, f.renew(10)) }))
}

// TestEveryRenewalSaysHowQuiet: whoever judges the lease learns by the item for
// how long heartbeats may go unwritten, in the write that renews it.
func TestEveryRenewalSaysHowQuiet(t *testing.T) {
	ctx := context.Background()
	for name, do := range map[string]func(f *quietFixture) error{
		"registration":                      func(f *quietFixture) error { return f.Register(ctx, dirtyShop(11)) },
		"registration that keeps the newer": func(f *quietFixture) error { return f.Register(ctx, dirtyShop(9)) },
		"heartbeat":                         func(f *quietFixture) error { return f.renew(10) },
		"heartbeat without a timestamp":     func(f *quietFixture) error { return f.Renew(ctx, key, time.Time{}) },
		"peer's heartbeat": func(f *quietFixture) error {
			_, err := f.RenewReplicated(ctx, key, time.UnixMilli(10))
			return err
		},
		"peer's heartbeat that is behind": func(f *quietFixture) error {
			newer, err := f.RenewReplicated(ctx, key, time.UnixMilli(9))
			assert.NotNil(f.t, newer)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newQuietFixture(t, func(c *registry.Config) { c.RenewalWriteInterval = 0 })
			require.Zero(t, f.lease().Quiet)
			for _, d := range []struct{ setting, want time.Duration }{
				{0, 0}, {75 * time.Second, 75 * time.Second}, {1500 * time.Millisecond, 2 * time.Second}, {0, 2 * time.Second},
			} {
				f.pass(time.Second)
				f.Registry = f.process(func(c *registry.Config) { c.RenewalWriteInterval = d.setting })
				require.NoError(t, do(f))
				assert.Equal(t, f.wall, f.lease().Renewed.Local())
				assert.Equal(t, d.want, f.lease().Quiet, "with a setting of %s", d.setting)
			}
		})
	}
}

// TestChangeDuringARenewalIsNotForgotten: the renewal was applied before the
// change, and its answer arrives after it.
func TestChangeDuringARenewalIsNotForgotten(t *testing.T) {
	for name, change := range map[string]func(f *quietFixture){
		"cancel":     func(f *quietFixture) { require.NoError(f.t, f.Cancel(f.t.Context(), key)) },
		"view":       func(f *quietFixture) { f.Forget(key) },
		"whole view": func(f *quietFixture) { f.ForgetAll() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newQuietFixture(t)
			f.store.during = func() { change(f) }
			require.NoError(t, f.renew(10))
			f.store.during = nil
			assert.Equal(t, 1, f.writes(func() { _ = f.renew(10) }))
		})
	}
}

// TestRememberedRenewalsAreBounded: beyond the bound a part of the heartbeats
// still needs no write, though they come in the same order each time.
func TestRememberedRenewalsAreBounded(t *testing.T) {
	const bound, fleet = 100, 150
	f := newQuietFixture(t, func(c *registry.Config) { c.MaxRemembered = bound })
	keys := make([]eureka.Key, fleet)
	for n := range keys {
		info := dirtyShop(10)
		info.InstanceID = fmt.Sprint(n)
		keys[n] = info.Key()
		require.NoError(t, f.Register(t.Context(), info))
	}
	round := func() int {
		f.pass(30 * time.Second)
		return f.writes(func() {
			for _, k := range keys {
				require.NoError(t, f.Renew(t.Context(), k, time.UnixMilli(10)))
			}
		})
	}
	require.Equal(t, fleet, round())
	written := 0
	for range 30 {
		written += round()
	}
	assert.Less(t, written, 30*fleet*9/10, "some are found")
	assert.Greater(t, written, 30*(fleet-bound), "no more than the bound")
}

// TestExpiredRenewalsLeaveFirst: new leases push out nobody while what is
// remembered of dead ones has expired.
func TestExpiredRenewalsLeaveFirst(t *testing.T) {
	const bound = 100
	f := newQuietFixture(t, func(c *registry.Config) { c.MaxRemembered = bound })
	renew := func(from, to int) int {
		return f.writes(func() {
			for n := from; n < to; n++ {
				require.NoError(t, f.Renew(t.Context(), eureka.Key{App: key.App, ID: fmt.Sprint(n)}, time.UnixMilli(10)))
			}
		})
	}
	for n := range 2 * bound {
		info := dirtyShop(10)
		info.InstanceID = fmt.Sprint(n)
		require.NoError(t, f.Register(t.Context(), info))
	}
	require.Equal(t, bound/2, renew(0, bound/2))
	f.pass(writeInterval / 2)
	require.Equal(t, bound/2, renew(bound/2, bound))
	f.pass(writeInterval / 2)
	require.Equal(t, bound/2, renew(bound, bound+bound/2), "in place of the first half")
	assert.Zero(t, renew(bound/2, bound+bound/2), "the second half and the new ones are all there")
}

// TestAnswerFromMemoryAllocatesNothing beside what the request itself did.
func TestAnswerFromMemoryAllocatesNothing(t *testing.T) {
	f := newQuietFixture(t)
	require.NoError(t, f.renew(10))
	ctx, dirty := t.Context(), time.UnixMilli(10)
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = f.Renew(ctx, key, dirty) }))
}

func BenchmarkRenewFromMemory(b *testing.B) {
	r := registry.New(registry.Config{Store: memory.New(memory.Config{}), RenewalWriteInterval: time.Hour})
	for n := range 10_000 {
		info := dirtyShop(10)
		info.InstanceID, info.Lease.Duration = fmt.Sprint(n), time.Hour
		require.NoError(b, r.Register(b.Context(), info))
		require.NoError(b, r.Renew(b.Context(), info.Key(), info.LastDirty))
	}
	last, dirty := eureka.Key{App: key.App, ID: "9999"}, time.UnixMilli(10)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Renew(b.Context(), last, dirty); err != nil {
			b.Fatal(err)
		}
	}
}
