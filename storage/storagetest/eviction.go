package storagetest

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// evictionTests are the promises of eviction.Store.
func evictionTests() []test {
	return []test{
		{"Get is the registry's", evictionGet},
		{"Scan finds every lease and tombstone", scanFindsAll},
		{"Scan is consistent", scanIsConsistent},
		{"Evict makes a tombstone that keeps the override", evictLease},
		{"Evict demands the renewal that was read", evictRenewed},
		{"Evict is refused to a tombstone", evictTombstone},
		{"Leases and tombstones expire for the database", expiry},
	}
}

// sizeTests come last and alone: every scan of the same tables is long after
// them.
func sizeTests() []test {
	return []test{{"Scan reads every page", scanManyPages}}
}

// scanned returns what a scan finds of the test's application, and fails when
// it finds something twice.
func (f *fixture) scanned(t *testing.T) map[eureka.Key]eureka.Lease {
	t.Helper()
	leases, err := f.Eviction.Scan(t.Context())
	require.NoError(t, err)
	return f.byKey(t, leases)
}

func (f *fixture) byKey(t *testing.T, leases []eureka.Lease) map[eureka.Key]eureka.Lease {
	t.Helper()
	found := map[eureka.Key]eureka.Lease{}
	for _, l := range leases {
		if l.Key.App != f.app {
			continue
		}
		_, again := found[l.Key]
		require.False(t, again, "%s was found twice", l.Key)
		found[l.Key] = l
	}
	return found
}

func evictionGet(t *testing.T, f *fixture) {
	for _, want := range []eureka.Lease{f.register(t, f.key("lease")), f.evicted(t, f.key("tombstone"), eureka.Down)} {
		got, err := f.Eviction.Get(t.Context(), want.Key)
		require.NoError(t, err)
		requireLease(t, want, *got)
	}
	got, err := f.Eviction.Get(t.Context(), f.key("none"))
	require.ErrorIs(t, err, eureka.ErrLeaseNotFound)
	require.Nil(t, got)
}

func scanFindsAll(t *testing.T, f *fixture) {
	want := map[eureka.Key]eureka.Lease{}
	for i, l := range []eureka.Lease{
		f.register(t, f.key("lease")),
		f.register(t, f.key("overridden"), overridden(eureka.Down)),
		f.cancelled(t, f.key("cancelled")),
		f.evicted(t, f.key("evicted"), ""),
		f.evicted(t, f.key("evicted with override"), eureka.OutOfService),
	} {
		want[l.Key] = canonicalLease(l)
		require.Len(t, want, i+1)
	}
	got := f.scanned(t)
	for key, l := range got {
		got[key] = canonicalLease(l)
	}
	assert.Equal(t, want, got)
}

// scanIsConsistent: a write that was acknowledged is in the next scan.
func scanIsConsistent(t *testing.T, f *fixture) {
	key := f.key("id")
	requireLease(t, f.register(t, key), f.scanned(t)[key])
	require.NoError(t, errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(1)})))
	got := f.scanned(t)[key]
	assert.True(t, got.Renewed.Equal(f.after(1)))
	require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(2)))
	got = f.scanned(t)[key]
	assert.True(t, got.Tombstone())
}

// scanManyPages is more than a page of 1 MB holds.
func scanManyPages(t *testing.T, f *fixture) {
	const leases, workers = 2500, 8
	text := noise(800)
	errs := atOnce(workers, func(w int) error {
		for i := w; i < leases; i += workers {
			l := f.lease(f.key(strconv.Itoa(i)))
			l.Instance.Metadata = map[string]string{"text": text[i%400:], "own": rand.Text()}
			if err := f.Registry.Register(t.Context(), registry.Registration{Lease: l}); err != nil {
				return err
			}
			if i%50 != 0 {
				continue
			}
			if err := f.Registry.Cancel(t.Context(), l.Key, f.after(1)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	found := f.scanned(t)
	require.Len(t, found, leases)
	for i := range leases {
		l := found[f.key(strconv.Itoa(i))]
		require.Equal(t, i%50 == 0, l.Tombstone(), i)
		if !l.Tombstone() {
			require.Equal(t, text[i%400:], l.Instance.Metadata["text"], i)
		}
	}
}

func evictLease(t *testing.T, f *fixture) {
	for _, override := range []eureka.Status{"", eureka.OutOfService, eureka.Down, eureka.Up} {
		key := f.key("with " + string(override))
		before := f.register(t, key, overridden(override))
		require.NoError(t, f.Eviction.Evict(t.Context(), key, before.Renewed, f.after(9)))
		got := f.get(t, key)
		require.Greater(t, got.Version, before.Version)
		want := eureka.Lease{Key: key, Version: got.Version, Overridden: override, Gone: f.after(9)}
		requireLease(t, want, got)
		requireLease(t, want, f.scanned(t)[key])
	}
}

func evictRenewed(t *testing.T, f *fixture) {
	key := f.key("id")
	f.register(t, key)
	require.NoError(t, errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(10)})))
	before := f.get(t, key)
	for _, renewed := range []time.Time{f.now, f.after(9), f.after(11), {}} {
		requireFailedCondition(t, f.Eviction.Evict(t.Context(), key, renewed, f.after(20)), &before)
		f.requireStored(t, before)
	}
	require.NoError(t, f.Eviction.Evict(t.Context(), key, f.after(10), f.after(20)))
	require.True(t, f.get(t, key).Gone.Equal(f.after(20)))
}

func evictTombstone(t *testing.T, f *fixture) {
	for _, tombstone := range []eureka.Lease{
		f.cancelled(t, f.key("cancelled")),
		f.evicted(t, f.key("evicted"), eureka.OutOfService),
	} {
		// A driver may leave Renewed in a tombstone or not.
		for _, renewed := range []time.Time{f.now, tombstone.Renewed} {
			requireFailedCondition(t, f.Eviction.Evict(t.Context(), tombstone.Key, renewed, f.after(9)), &tombstone)
			f.requireStored(t, tombstone)
		}
	}
}

// tombstoneKept is how long a tombstone stays at the least: absence has a
// version too, which must outlive every row and snapshot of the lease.
const tombstoneKept = time.Hour

func expiry(t *testing.T, f *fixture) {
	if f.Inspect.Expiry == nil {
		t.Skip("the driver has no Inspect.Expiry")
	}
	key := f.key("id")
	expires := func(want time.Time, what string) {
		t.Helper()
		got, err := f.Inspect.Expiry(t.Context(), key)
		require.NoError(t, err)
		require.WithinDuration(t, want, got, time.Second, fmt.Sprintf("%s: whole seconds, not before it ends", what))
		require.False(t, got.Before(want.Truncate(time.Second)), what)
	}
	l := f.register(t, key, overridden(eureka.Down), func(l *eureka.Lease) { l.Duration = 7 * time.Minute })
	expires(l.End().Add(f.TTLGrace), "registered")
	require.NoError(t, errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(60_000)})))
	l = f.get(t, key)
	expires(f.after(60_000).Add(7*time.Minute).Add(f.TTLGrace), "renewed")
	require.NoError(t, errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(61_000), Quiet: 75 * time.Second})))
	l = f.get(t, key)
	expires(l.End().Add(f.TTLGrace), "renewed with a quiet time")
	require.NoError(t, f.Eviction.Evict(t.Context(), key, l.Renewed, f.after(70_000)))
	expires(f.after(70_000).Add(max(tombstoneKept, f.OverrideKept)), "evicted with an override")
	l = f.lease(key)
	l.Overridden, l.Renewed = eureka.Down, f.after(80_000)
	l.Quiet = 75 * time.Second
	require.NoError(t, f.Registry.Register(t.Context(), registry.Registration{Lease: l, Stored: eureka.Down}))
	expires(l.End().Add(f.TTLGrace), "registered again")
	require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(90_000)))
	expires(f.after(90_000).Add(tombstoneKept), "cancelled")
}
