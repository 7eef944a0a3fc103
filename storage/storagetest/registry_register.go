package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

func registerTests() []test {
	return []test{
		{"Register keeps every field", registerRich},
		{"Register keeps what is empty empty", registerPoor},
		{"Register keeps large metadata", registerLarge},
		{"Register keeps each status and action", registerStatuses},
		{"Register replaces the whole lease", registerReplaces},
		{"Register over a live lease looks at Dirty", registerDirty},
		{"Register over a tombstone does not look at Dirty", registerOverTombstone},
		{"Register demands the override that was named", registerOverride},
		{"Register writes its own override, not the one that was named", registerOwnOverride},
		{"Register assigns rising versions", registerVersions},
		{"Register keeps ServiceUp of a live lease", registerServiceUp},
		{"Register takes an override of UNKNOWN as none", registerUnknownOverride},
	}
}

func registerRich(t *testing.T, f *fixture) {
	key := f.key("rich: ä/#%")
	want := eureka.Lease{
		Key:        key,
		Instance:   richInstance(key, f.now),
		Status:     eureka.Down,
		Overridden: eureka.OutOfService,
		Action:     eureka.Modified,
		Dirty:      f.after(1),
		Updated:    f.after(2),
		Registered: f.after(3),
		Renewed:    f.after(4),
		ServiceUp:  f.after(5),
		Interval:   11 * time.Second,
		Duration:   47 * time.Second,
	}
	require.NoError(t, f.Registry.Register(t.Context(), registry.Registration{Lease: want}))
	got := f.get(t, key)
	want.Version = got.Version
	requireLease(t, want, got)
	requireLease(t, want, f.scanned(t)[key])
}

// registerPoor stores the least: no text, no port, no time but those that a
// lease needs.
func registerPoor(t *testing.T, f *fixture) {
	key := f.key("poor.example.org")
	want := eureka.Lease{
		Key:      key,
		Instance: &eureka.InstanceInfo{HostName: key.ID, App: key.App, Status: eureka.Up},
		Status:   eureka.Up,
		Action:   eureka.Added,
		Updated:  f.now,
		Renewed:  f.now,
		Duration: time.Second,
	}
	require.NoError(t, f.Registry.Register(t.Context(), registry.Registration{Lease: want}))
	got := f.get(t, key)
	want.Version = got.Version
	requireLease(t, want, got)
	requireLease(t, want, f.scanned(t)[key])
}

func registerLarge(t *testing.T, f *fixture) {
	key := f.key("large")
	metadata := manyMetadata(1000, 200)
	got := f.register(t, key, func(l *eureka.Lease) { l.Instance.Metadata = metadata })
	assert.Equal(t, metadata, got.Instance.Metadata)
	assert.Equal(t, metadata, f.scanned(t)[key].Instance.Metadata)
}

func registerStatuses(t *testing.T, f *fixture) {
	for _, own := range []eureka.Status{eureka.Up, eureka.Down, eureka.Starting, eureka.OutOfService, eureka.Unknown} {
		for _, action := range []eureka.ActionType{eureka.Added, eureka.Modified} {
			key := f.key(fmt.Sprint(own, action))
			got := f.register(t, key, func(l *eureka.Lease) {
				l.Status, l.Overridden, l.Action = own, eureka.Down, action
				l.Instance.Status, l.Instance.Action = own, action
			})
			assert.Equal(t, own, got.Status)
			assert.Equal(t, eureka.Down, got.Overridden)
			assert.Equal(t, action, got.Action)
			assert.Equal(t, own, got.Instance.Status)
			assert.Equal(t, action, got.Instance.Action)
		}
	}
}

// registerReplaces leaves nothing of a rich lease behind, nor of a tombstone.
func registerReplaces(t *testing.T, f *fixture) {
	for _, before := range []string{"lease", "tombstone"} {
		key := f.key(before)
		f.register(t, key, func(l *eureka.Lease) { l.Instance = richInstance(key, f.now); l.ServiceUp = time.Time{} })
		if before == "tombstone" {
			require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(1)))
		}
		want := f.lease(key)
		want.Instance = &eureka.InstanceInfo{HostName: key.ID, App: key.App, Status: eureka.Down}
		want.Status, want.Action = eureka.Down, eureka.Modified
		want.Updated, want.Registered, want.Renewed = f.after(7), f.after(8), f.after(9)
		want.ServiceUp = time.Time{}
		want.Interval, want.Duration = time.Second, 2*time.Second
		require.NoError(t, f.Registry.Register(t.Context(), registry.Registration{Lease: want}))
		got := f.get(t, key)
		want.Version = got.Version
		requireLease(t, want, got)
	}
}

func registerDirty(t *testing.T, f *fixture) {
	for name, c := range map[string]struct {
		stored, given time.Time
		ok            bool
	}{
		"newer":          {stored: f.now, given: f.after(1), ok: true},
		"equal":          {stored: f.now, given: f.now, ok: true},
		"older":          {stored: f.now, given: f.after(-1)},
		"none over some": {stored: f.now},
		"some over none": {given: f.after(-1000), ok: true},
		"none over none": {ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			key := f.key(name)
			before := f.register(t, key, func(l *eureka.Lease) { l.Dirty = c.stored })
			again := f.lease(key)
			again.Dirty, again.Status = c.given, eureka.Down
			err := f.Registry.Register(t.Context(), registry.Registration{Lease: again})
			if c.ok {
				require.NoError(t, err)
				again.Version = f.get(t, key).Version
				f.requireStored(t, again)
				return
			}
			requireFailedCondition(t, err, &before)
			f.requireStored(t, before)
		})
	}
}

func registerOverTombstone(t *testing.T, f *fixture) {
	for name, tombstone := range map[string]eureka.Lease{
		"cancelled": f.cancelled(t, f.key("cancelled")),
		"evicted":   f.evicted(t, f.key("evicted"), ""),
	} {
		got := f.register(t, tombstone.Key, func(l *eureka.Lease) { l.Dirty = f.after(-1000) })
		assert.False(t, got.Tombstone(), name)
		assert.True(t, got.Gone.IsZero(), name)
		assert.Greater(t, got.Version, tombstone.Version, name)
	}
}

// registerOverride tries each override against each state of the item.
func registerOverride(t *testing.T, f *fixture) {
	held := map[string]struct {
		make     func(t *testing.T, key eureka.Key) *eureka.Lease
		override eureka.Status
	}{
		"no item": {make: func(*testing.T, eureka.Key) *eureka.Lease { return nil }},
		"lease without": {make: func(t *testing.T, key eureka.Key) *eureka.Lease {
			l := f.register(t, key)
			return &l
		}},
		"lease with": {override: eureka.OutOfService, make: func(t *testing.T, key eureka.Key) *eureka.Lease {
			l := f.register(t, key, overridden(eureka.OutOfService))
			return &l
		}},
		"cancelled": {make: func(t *testing.T, key eureka.Key) *eureka.Lease {
			l := f.register(t, key, overridden(eureka.OutOfService))
			require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(1)))
			l = f.get(t, key)
			return &l
		}},
		"evicted without": {make: func(t *testing.T, key eureka.Key) *eureka.Lease {
			l := f.evicted(t, key, "")
			return &l
		}},
		"evicted with": {override: eureka.OutOfService, make: func(t *testing.T, key eureka.Key) *eureka.Lease {
			l := f.evicted(t, key, eureka.OutOfService)
			return &l
		}},
	}
	for name, h := range held {
		for _, named := range []eureka.Status{"", eureka.OutOfService, eureka.Up} {
			key := f.key(name + "/" + string(named))
			t.Run(key.ID, func(t *testing.T) {
				before := h.make(t, key)
				l := f.lease(key)
				l.Overridden, l.Dirty = named, f.after(1)
				err := f.Registry.Register(t.Context(), registry.Registration{Lease: l, Stored: named})
				if named == h.override {
					require.NoError(t, err)
					l.Version = f.get(t, key).Version
					f.requireStored(t, l)
					return
				}
				requireFailedCondition(t, err, before)
				if before == nil {
					f.requireNone(t, key)
					return
				}
				f.requireStored(t, *before)
			})
		}
	}
}

// registerOwnOverride: what is demanded and what is written are two things. An
// override may have outlived its time, or a client may bring one.
func registerOwnOverride(t *testing.T, f *fixture) {
	for name, stored := range map[string]eureka.Status{"ends": eureka.Down, "begins": "", "changes": eureka.OutOfService} {
		for _, own := range []eureka.Status{"", eureka.Up} {
			key := f.key(name + "/" + string(own))
			f.evicted(t, key, stored)
			l := f.lease(key)
			l.Overridden = own
			require.NoError(t, f.Registry.Register(t.Context(), registry.Registration{Lease: l, Stored: stored}))
			assert.Equal(t, own, f.get(t, key).Overridden, key.ID)
		}
	}
}

// registerVersions goes through the states of one instance, and lets the
// servers' clocks run backwards meanwhile.
func registerVersions(t *testing.T, f *fixture) {
	key := f.key("id")
	version := f.now.UnixMilli() - 1
	rises := func(what string) {
		t.Helper()
		got := f.get(t, key).Version
		require.Greater(t, got, version, what)
		version = got
	}
	f.register(t, key, func(l *eureka.Lease) { l.Version = 1 << 60 })
	rises("a new item's version is at least its time")
	require.Less(t, version, int64(1<<60), "the version given is not taken")
	f.register(t, key, func(l *eureka.Lease) { l.Updated, l.Dirty = f.after(-60_000), f.after(1) })
	rises("registered again by a clock that is late")
	require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(-120_000)))
	rises("cancelled")
	f.register(t, key, func(l *eureka.Lease) { l.Updated = f.after(-60_000) })
	rises("registered over a tombstone")
	require.NoError(t, f.Eviction.Evict(t.Context(), key, f.now, f.after(1)))
	rises("evicted")
	f.register(t, key)
	rises("registered over an evicted one")
}

func registerServiceUp(t *testing.T, f *fixture) {
	first, second := f.after(1), f.after(2)
	for name, c := range map[string]struct {
		stored, given, want time.Time
		cancel              bool
	}{
		"kept":                       {stored: first, given: second, want: first},
		"kept though none is given":  {stored: first, want: first},
		"taken when there was none":  {given: second, want: second},
		"none":                       {},
		"not kept of a tombstone":    {stored: first, given: second, want: second, cancel: true},
		"a tombstone's is forgotten": {stored: first, cancel: true},
	} {
		key := f.key(name)
		f.register(t, key, func(l *eureka.Lease) { l.ServiceUp = c.stored })
		if c.cancel {
			require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(3)))
		}
		got := f.register(t, key, func(l *eureka.Lease) { l.ServiceUp = c.given })
		assert.Equal(t, canonicalTime(c.want), canonicalTime(got.ServiceUp), name)
	}
}

// registerUnknownOverride holds because both mean that there is no override,
// and a lease's Overridden is empty then.
func registerUnknownOverride(t *testing.T, f *fixture) {
	key := f.key("id")
	got := f.register(t, key, overridden(eureka.Unknown))
	assert.Empty(t, got.Overridden)
	require.NoError(t, f.Registry.Register(t.Context(), registry.Registration{Lease: f.lease(key), Stored: eureka.Unknown}))
	f.register(t, key)
}
