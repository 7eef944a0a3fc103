package storagetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// registryTests are the promises of registry.Store.
func registryTests() []test {
	return slices.Concat([]test{
		{"Get of no item", getNone},
		{"Get of a tombstone", getTombstone},
		{"What was read belongs to the reader", readsAreCopies},
		{"Nothing but Register makes an item", nothingElseMakesAnItem},
		{"Keys that are easily mixed up", oddKeys},
		{"Times are kept to the millisecond", timesToTheMillisecond},
		{"A context that has ended", endedContext},
	}, registerTests(), renewTests(), updateTests(), cancelTests(), parallelTests())
}

func getNone(t *testing.T, f *fixture) {
	f.register(t, f.key("other"))
	f.requireNone(t, f.key("none"))
}

func getTombstone(t *testing.T, f *fixture) {
	l := f.cancelled(t, f.key("id"))
	require.True(t, l.Tombstone())
	require.Equal(t, f.key("id"), l.Key)
}

func readsAreCopies(t *testing.T, f *fixture) {
	want := f.register(t, f.key("id"))
	change := func(l *eureka.Lease) { l.Status, l.Version, l.Renewed = eureka.Down, 1, f.after(-1) }
	got, err := f.Registry.Get(t.Context(), want.Key)
	require.NoError(t, err)
	change(got)
	f.requireStored(t, want)
	var failed *registry.ConditionFailedError
	require.ErrorAs(t, f.Registry.Update(t.Context(), registry.Update{Key: want.Key}), &failed)
	change(failed.Stored)
	f.requireStored(t, want)
}

func nothingElseMakesAnItem(t *testing.T, f *fixture) {
	key := f.key("id")
	for name, write := range map[string]func() error{
		"renew": func() error { return errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.now})) },
		"renew with dirty": func() error {
			return errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.now, Dirty: f.now}))
		},
		"renew exactly": func() error {
			return errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.now, Dirty: f.now, Exact: true}))
		},
		"update": func() error {
			return f.Registry.Update(t.Context(), registry.Update{Key: key, Status: eureka.Down, Action: eureka.Modified, Updated: f.now})
		},
		"update with instance": func() error {
			return f.Registry.Update(t.Context(), registry.Update{
				Key: key, IfVersion: 1, Instance: usualInstance(key, f.now), Status: eureka.Up, Action: eureka.Added, Updated: f.now,
			})
		},
		"cancel": func() error { return f.Registry.Cancel(t.Context(), key, f.now) },
		"evict":  func() error { return f.Eviction.Evict(t.Context(), key, f.now, f.now) },
		"evict of no renewal": func() error {
			return f.Eviction.Evict(t.Context(), key, time.Time{}, f.now)
		},
	} {
		requireFailedCondition(t, write(), nil)
		_, err := f.Registry.Get(t.Context(), key)
		require.ErrorIs(t, err, eureka.ErrLeaseNotFound, name)
	}
}

// oddKeys keeps every odd id apart from every other, through all roles that
// know keys.
func oddKeys(t *testing.T, f *fixture) {
	var keys []eureka.Key
	for i, id := range oddIDs() {
		key := f.key(id)
		keys = append(keys, key)
		f.register(t, key, func(l *eureka.Lease) { l.Instance.CountryID = i })
	}
	for i, key := range keys {
		l := f.get(t, key)
		assert.Equal(t, key, l.Key)
		assert.Equal(t, i, l.Instance.CountryID, "%q is another's lease", key.ID)
	}
	assertKeys(t, keys, f.scanned(t))
	for i, key := range keys {
		if i%2 == 0 {
			require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(1)))
		}
	}
	for i, key := range keys {
		l := f.get(t, key)
		assert.Equal(t, i%2 == 0, l.Tombstone(), "%q was mixed up", key.ID)
	}
}

func timesToTheMillisecond(t *testing.T, f *fixture) {
	key, rest := f.key("id"), 987*time.Microsecond
	l := f.register(t, key, func(l *eureka.Lease) {
		l.Dirty = l.Dirty.Add(rest)
		l.Renewed = l.Renewed.Add(rest)
		l.Instance.LastDirty = l.Instance.LastDirty.Add(rest)
	})
	for name, got := range map[string]time.Time{"dirty": l.Dirty, "renewed": l.Renewed, "instance": l.Instance.LastDirty} {
		assert.True(t, f.now.Equal(got), "%s: %v", name, got)
	}
	require.NoError(t, errorOf(f.Registry.Renew(t.Context(), registry.Renewal{
		Key: key, Now: f.after(1).Add(rest), Dirty: f.now.Add(rest / 2), Exact: true,
	})))
	require.NoError(t, f.Eviction.Evict(t.Context(), key, f.after(1).Add(rest/2), f.after(2)))
}

// endedContext demands a sentinel that becomes a 503, from every method of
// every role.
func endedContext(t *testing.T, f *fixture) {
	key := f.key("id")
	l := f.register(t, key)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for name, call := range f.everyCall(l) {
		for _, ctx := range []context.Context{cancelled, late} {
			err := call(ctx)
			assert.ErrorIs(t, err, eureka.ErrUnavailable, name)
			assert.ErrorIs(t, err, ctx.Err(), name)
		}
	}
}
