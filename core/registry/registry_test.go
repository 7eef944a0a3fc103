package registry_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/memory"
)

var (
	noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	key  = eureka.Key{App: "SHOP", ID: "shop-1"}
)

// fixture is a registry over the memory driver, with a clock that the test
// sets and a rival that it may send ahead.
type fixture struct {
	*registry.Registry
	t     *testing.T
	store *rivalStore
	now   time.Time
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, store: &rivalStore{Store: memory.New(memory.Config{})}, now: noon}
	f.Registry = registry.New(registry.Config{Store: f.store, Now: func() time.Time { return f.now }, MaxMetadata: 3})
	return f
}

// shop is a registration; dirty counts milliseconds from a moment in the past.
func shop(status eureka.Status, dirty int) *eureka.InstanceInfo {
	return &eureka.InstanceInfo{
		App: "SHOP", InstanceID: "shop-1", HostName: "shop-1.example.org", Status: status,
		Metadata:  map[string]string{"zone": "a"},
		LastDirty: time.UnixMilli(1_700_000_000_000 + int64(dirty)),
	}
}

func (f *fixture) register(status eureka.Status, dirty int) {
	f.t.Helper()
	require.NoError(f.t, f.Register(context.Background(), shop(status, dirty)))
}

func (f *fixture) read() *eureka.InstanceInfo {
	f.t.Helper()
	got, err := f.Instance(context.Background(), key)
	require.NoError(f.t, err)
	return got
}

func TestRegister(t *testing.T) {
	f := newFixture(t)
	f.register(eureka.Up, 0)
	got := f.read()
	assert.Equal(t, eureka.Up, got.Status)
	assert.Equal(t, eureka.Unknown, got.OverriddenStatus)
	assert.Equal(t, eureka.Added, got.Action)
	assert.Equal(t, eureka.DefaultRenewalInterval, got.Lease.RenewalInterval)
	assert.Equal(t, eureka.DefaultLeaseDuration, got.Lease.Duration)
	assert.True(t, got.Lease.Registered.Equal(noon))
	assert.True(t, got.Lease.ServiceUp.Equal(noon))

	f.now = noon.Add(time.Minute)
	f.register(eureka.Up, 1)
	got = f.read()
	assert.True(t, got.Lease.Registered.Equal(f.now), "a new registration, a new time")
	assert.True(t, got.Lease.ServiceUp.Equal(noon), "it has been up since noon")
}

func TestRegisterWithoutDirtyTimestampGetsTheServers(t *testing.T) {
	f := newFixture(t)
	info := shop(eureka.Up, 0)
	info.LastDirty = time.Time{}
	require.NoError(t, f.Register(context.Background(), info))
	assert.True(t, f.read().LastDirty.Equal(noon))
}

func TestOlderRegistrationRenewsAndKeeps(t *testing.T) {
	f := newFixture(t)
	f.register(eureka.Up, 10)
	f.now = noon.Add(time.Minute)
	f.register(eureka.Down, 5)
	got := f.read()
	assert.Equal(t, eureka.Up, got.Status)
	assert.True(t, got.Lease.LastRenewed.Equal(f.now))
	assert.True(t, got.Lease.Registered.Equal(noon))
}

func TestOverrideOutlivesRegistrationsAndEndsWithCancel(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.register(eureka.Up, 0)
	require.NoError(t, f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
	f.register(eureka.Up, 1)
	assert.Equal(t, eureka.OutOfService, f.read().Status)
	f.register(eureka.Starting, 2)
	assert.Equal(t, eureka.Starting, f.read().Status, "an instance that does not offer itself is believed")
	assert.Equal(t, eureka.OutOfService, f.read().OverriddenStatus)
	require.NoError(t, f.Cancel(ctx, key))
	f.register(eureka.Up, 3)
	assert.Equal(t, eureka.Up, f.read().Status)
}

func TestOverrideOutlivesAnEvictionForAnHour(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		after time.Duration
		want  eureka.Status
	}{
		{59 * time.Minute, eureka.OutOfService},
		{time.Hour, eureka.Up},
	} {
		t.Run(c.after.String(), func(t *testing.T) {
			f := newFixture(t)
			f.register(eureka.Up, 0)
			require.NoError(t, f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
			require.NoError(t, f.store.Store.(*memory.Store).Evict(ctx, key, noon, noon))
			f.now = noon.Add(c.after)
			f.register(eureka.Up, 1)
			assert.Equal(t, c.want, f.read().Status)
		})
	}
}

func TestSetStatus(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	assert.ErrorIs(t, f.SetStatus(ctx, key, eureka.Down, time.Time{}), eureka.ErrLeaseNotFound)
	f.register(eureka.Starting, 0)
	require.NoError(t, f.SetStatus(ctx, key, eureka.Starting, time.Time{}))
	assert.Equal(t, eureka.Unknown, f.read().OverriddenStatus, "the status that it has is no override")

	f.now = noon.Add(time.Second)
	require.NoError(t, f.SetStatus(ctx, key, eureka.Up, time.UnixMilli(1_700_000_000_500)))
	got := f.read()
	assert.Equal(t, eureka.Up, got.Status)
	assert.Equal(t, eureka.Up, got.OverriddenStatus)
	assert.Equal(t, eureka.Modified, got.Action)
	assert.True(t, got.LastDirty.Equal(time.UnixMilli(1_700_000_000_500)), "a newer dirty timestamp is taken over")
	assert.True(t, got.Lease.ServiceUp.Equal(f.now))

	require.NoError(t, f.SetStatus(ctx, key, eureka.Down, time.UnixMilli(1)))
	assert.True(t, f.read().LastDirty.Equal(time.UnixMilli(1_700_000_000_500)), "an older one is not")
}

func TestRemoveOverride(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.register(eureka.Up, 0)
	require.NoError(t, f.RemoveOverride(ctx, key, eureka.Down, time.Time{}))
	assert.Equal(t, eureka.Up, f.read().Status, "without an override nothing changes")
	require.NoError(t, f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
	require.NoError(t, f.RemoveOverride(ctx, key, eureka.Down, time.Time{}))
	assert.Equal(t, eureka.Down, f.read().Status)
	assert.Equal(t, eureka.Unknown, f.read().OverriddenStatus)
}

// TestRemovalAfterUnknown: a status that somebody set to UNKNOWN is an override
// too, and its removal leaves the status that it names. (Case H35.)
func TestRemovalAfterUnknown(t *testing.T) {
	ctx := context.Background()
	setUnknown := func(f *fixture) error { return f.SetStatus(ctx, key, eureka.Unknown, time.Time{}) }
	remove := func(left eureka.Status) func(*fixture) error {
		return func(f *fixture) error { return f.RemoveOverride(ctx, key, left, time.Time{}) }
	}
	replicate := func(r registry.Replicated) func(*fixture) error {
		return func(f *fixture) error {
			r.Key = key
			return f.Replicate(ctx, []registry.Replicated{r})[0].Err
		}
	}
	override := func(f *fixture) error { return f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}) }
	for _, c := range []struct {
		name  string
		own   eureka.Status
		steps []func(*fixture) error
		want  eureka.Status
	}{
		{"to UP", eureka.Up, []func(*fixture) error{setUnknown, remove(eureka.Up)}, eureka.Up},
		{"to DOWN", eureka.Up, []func(*fixture) error{setUnknown, remove(eureka.Down)}, eureka.Down},
		{"to OUT_OF_SERVICE", eureka.Up, []func(*fixture) error{setUnknown, remove(eureka.OutOfService)}, eureka.OutOfService},
		{"of an instance that is DOWN", eureka.Down, []func(*fixture) error{setUnknown, remove(eureka.Starting)}, eureka.Starting},
		{"to no status", eureka.Up, []func(*fixture) error{setUnknown, remove(eureka.Unknown)}, eureka.Unknown},
		{"over another override", eureka.Up, []func(*fixture) error{override, setUnknown, remove(eureka.Up)}, eureka.Up},
		{"removed twice", eureka.Up, []func(*fixture) error{override, remove(eureka.Unknown), remove(eureka.Up)}, eureka.Up},
		{"by peers", eureka.Up, []func(*fixture) error{
			replicate(registry.Replicated{Action: "StatusUpdate", Status: eureka.Unknown}),
			replicate(registry.Replicated{Action: "DeleteStatusOverride", Status: eureka.Up}),
		}, eureka.Up},
		{"of the instance's own word", eureka.Unknown, []func(*fixture) error{setUnknown, remove(eureka.Up)}, eureka.Unknown},
		{"when none was set", eureka.Down, []func(*fixture) error{remove(eureka.Up)}, eureka.Down},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.register(c.own, 0)
			for _, step := range c.steps {
				require.NoError(t, step(f))
			}
			assert.Equal(t, c.want, f.read().Status)
			assert.Equal(t, eureka.Unknown, f.read().OverriddenStatus)
			if c.want == eureka.Unknown {
				assert.ErrorIs(t, f.Renew(ctx, key, time.Time{}), eureka.ErrLeaseNotFound)
			} else {
				assert.NoError(t, f.Renew(ctx, key, time.Time{}))
			}
		})
	}
}

// TestRegisterAfterRemovedOverride: without a word on what follows, the status
// is UNKNOWN, the heartbeat a 404, and the registration that it asks for is
// taken, even when the administrator's clock was ahead of the client's.
func TestRegisterAfterRemovedOverride(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.register(eureka.Up, 0)
	require.NoError(t, f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
	ahead := time.UnixMilli(1_700_000_009_000)
	require.NoError(t, f.RemoveOverride(ctx, key, eureka.Unknown, ahead))
	dirty := time.UnixMilli(1_700_000_000_000)
	assert.ErrorIs(t, f.Renew(ctx, key, dirty), eureka.ErrLeaseNotFound)
	f.register(eureka.Up, 0)
	assert.Equal(t, eureka.Up, f.read().Status)
	assert.NoError(t, f.Renew(ctx, key, dirty))
}

func TestRenew(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	assert.ErrorIs(t, f.Renew(ctx, key, time.Time{}), eureka.ErrLeaseNotFound)
	f.register(eureka.Up, 10)
	stored := time.UnixMilli(1_700_000_000_010)
	f.now = noon.Add(30 * time.Second)
	for _, dirty := range []time.Time{{}, stored, stored.Add(-time.Hour)} {
		assert.NoError(t, f.Renew(ctx, key, dirty))
	}
	assert.True(t, f.read().Lease.LastRenewed.Equal(f.now))
	assert.ErrorIs(t, f.Renew(ctx, key, stored.Add(time.Millisecond)), eureka.ErrLeaseNotFound)
}

func TestRenewReplicated(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	_, err := f.RenewReplicated(ctx, key, time.Time{})
	assert.ErrorIs(t, err, eureka.ErrLeaseNotFound)
	f.register(eureka.Up, 10)
	stored := time.UnixMilli(1_700_000_000_010)
	for _, dirty := range []time.Time{{}, stored} {
		newer, err := f.RenewReplicated(ctx, key, dirty)
		require.NoError(t, err)
		assert.Nil(t, newer)
	}
	f.now = noon.Add(time.Second)
	newer, err := f.RenewReplicated(ctx, key, stored.Add(-time.Millisecond))
	require.NoError(t, err)
	assert.Equal(t, f.read(), newer, "an older peer gets what is stored, renewed")
	_, err = f.RenewReplicated(ctx, key, stored.Add(time.Millisecond))
	assert.ErrorIs(t, err, eureka.ErrLeaseNotFound)
}

func TestCancel(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	assert.ErrorIs(t, f.Cancel(ctx, key), eureka.ErrLeaseNotFound)
	f.register(eureka.Up, 0)
	require.NoError(t, f.Cancel(ctx, key))
	_, err := f.Instance(ctx, key)
	assert.ErrorIs(t, err, eureka.ErrLeaseNotFound)
	f.now = noon.Add(time.Second)
	assert.ErrorIs(t, f.Cancel(ctx, key), eureka.ErrLeaseNotFound)
	assert.ErrorIs(t, f.Renew(ctx, key, time.Time{}), eureka.ErrLeaseNotFound)
}

func TestAddMetadata(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	assert.ErrorIs(t, f.AddMetadata(ctx, key, map[string]string{"a": "1"}), eureka.ErrLeaseNotFound)
	f.register(eureka.Up, 0)
	require.NoError(t, f.AddMetadata(ctx, key, map[string]string{"zone": "b", "a": "1"}))
	assert.Equal(t, map[string]string{"zone": "b", "a": "1"}, f.read().Metadata)
	assert.ErrorIs(t, f.AddMetadata(ctx, key, map[string]string{"b": "2", "c": "3"}), eureka.ErrTooLarge)
	assert.Equal(t, map[string]string{"zone": "b", "a": "1"}, f.read().Metadata)
}

func TestParallelMetadataAllSurvives(t *testing.T) {
	store := memory.New(memory.Config{})
	r := registry.New(registry.Config{Store: store})
	require.NoError(t, r.Register(context.Background(), shop(eureka.Up, 0)))
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			assert.NoError(t, r.AddMetadata(context.Background(), key, map[string]string{fmt.Sprint(i): "x"}))
		})
	}
	writers.Wait()
	got, err := r.Instance(context.Background(), key)
	require.NoError(t, err)
	assert.Len(t, got.Metadata, 9)
}

// TestLostAnswers: each write is applied, its answer lost, and made again by
// the driver; it succeeds all the same.
func TestLostAnswers(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.store.repeat = true
	f.register(eureka.Up, 0)
	require.NoError(t, f.Renew(ctx, key, time.Time{}))
	require.NoError(t, f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
	assert.Equal(t, eureka.OutOfService, f.read().OverriddenStatus)
	require.NoError(t, f.RemoveOverride(ctx, key, eureka.Up, time.Time{}))
	assert.Equal(t, eureka.Unknown, f.read().OverriddenStatus)
	require.NoError(t, f.AddMetadata(ctx, key, map[string]string{"a": "1"}))
	require.NoError(t, f.Cancel(ctx, key))
	assert.ErrorIs(t, f.Cancel(ctx, key), eureka.ErrLeaseNotFound, "another request's cancel of the same moment is another cancel")
}

// TestRivals: another writer acts between the read and the write.
func TestRivals(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		rival func(*fixture)
		do    func(*fixture) error
		check func(*testing.T, *fixture, error)
	}{
		{"metadata under a status change", func(f *fixture) {
			require.NoError(f.t, f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
		}, func(f *fixture) error {
			return f.AddMetadata(ctx, key, map[string]string{"a": "1"})
		}, func(t *testing.T, f *fixture, err error) {
			require.NoError(t, err)
			assert.Equal(t, eureka.OutOfService, f.read().Status)
			assert.Equal(t, "1", f.read().Metadata["a"])
		}},
		{"status of one that is cancelled", func(f *fixture) {
			require.NoError(f.t, f.Cancel(ctx, key))
		}, func(f *fixture) error {
			return f.SetStatus(ctx, key, eureka.Down, time.Time{})
		}, func(t *testing.T, f *fixture, err error) {
			assert.ErrorIs(t, err, eureka.ErrLeaseNotFound)
			_, err = f.Instance(ctx, key)
			assert.ErrorIs(t, err, eureka.ErrLeaseNotFound)
		}},
		{"registration under an override", func(f *fixture) {
			require.NoError(f.t, f.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
		}, func(f *fixture) error {
			return f.Register(ctx, shop(eureka.Up, 1))
		}, func(t *testing.T, f *fixture, err error) {
			require.NoError(t, err)
			assert.Equal(t, eureka.OutOfService, f.read().Status)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.register(eureka.Up, 0)
			f.store.before = func() { c.rival(f) }
			c.check(t, f, c.do(f))
		})
	}
}

// restless is a store in which every update loses against a rival.
type restless struct{ registry.Store }

func (s restless) Update(ctx context.Context, u registry.Update) error {
	l, err := s.Get(ctx, u.Key)
	if err != nil {
		return err
	}
	l.Version = u.IfVersion + 2
	return &registry.ConditionFailedError{Stored: l}
}

func TestTriesAreBounded(t *testing.T) {
	f := newFixture(t)
	f.register(eureka.Up, 0)
	r := registry.New(registry.Config{Store: restless{f.store}})
	assert.ErrorIs(t, r.SetStatus(context.Background(), key, eureka.Down, time.Time{}), eureka.ErrConflict)
}

func TestReplicateKeepsTheOrderOfEachInstance(t *testing.T) {
	f := newFixture(t)
	other := eureka.Key{App: "SHOP", ID: "other"}
	dirty := time.UnixMilli(1_700_000_000_000)
	got := f.Replicate(context.Background(), []registry.Replicated{
		{Key: key, Action: registry.ActionRegister, Instance: shop(eureka.Up, 0)},
		{Key: other, Action: registry.ActionHeartbeat, Dirty: dirty},
		{Key: key, Action: registry.ActionHeartbeat, Dirty: dirty},
		{Key: key, Action: registry.ActionHeartbeat, Dirty: dirty.Add(-time.Hour)},
		{Key: key, Action: registry.ActionStatusUpdate, Status: eureka.OutOfService},
		{Key: key, Action: registry.ActionDeleteStatusOverride},
		{Key: key, Action: registry.ActionCancel},
		{Key: key, Action: "Dance"},
		{Key: key, Action: registry.ActionRegister},
		{Key: key, Action: registry.ActionStatusUpdate},
	})
	require.Len(t, got, 10)
	assert.NoError(t, got[0].Err)
	assert.ErrorIs(t, got[1].Err, eureka.ErrLeaseNotFound)
	assert.Equal(t, registry.Outcome{}, got[2])
	assert.NotNil(t, got[3].Newer)
	for _, o := range got[4:7] {
		assert.Equal(t, registry.Outcome{}, o)
	}
	for _, o := range got[7:] {
		assert.ErrorIs(t, o.Err, eureka.ErrInvalid)
	}
}

func TestReplicateShowsTheLastState(t *testing.T) {
	f := newFixture(t)
	f.register(eureka.Up, 10)
	got := f.Replicate(context.Background(), []registry.Replicated{
		{Key: key, Action: registry.ActionHeartbeat, Dirty: time.UnixMilli(1)},
		{Key: key, Action: registry.ActionStatusUpdate, Status: eureka.OutOfService},
	})
	require.NotNil(t, got[0].Newer)
	assert.Equal(t, f.read(), got[0].Newer)
	assert.Equal(t, eureka.OutOfService, got[0].Newer.Status)
}

// TestCancelTwiceInAMillisecond: the second cancel finds no lease, though the
// tombstone has its very time.
func TestCancelTwiceInAMillisecond(t *testing.T) {
	f := newFixture(t)
	f.register(eureka.Up, 0)
	require.NoError(t, f.Cancel(t.Context(), key))
	assert.ErrorIs(t, f.Cancel(t.Context(), key), eureka.ErrLeaseNotFound)
	f.register(eureka.Up, 1)
	assert.NoError(t, f.Cancel(t.Context(), key), "and a new registration is cancelled")
}
