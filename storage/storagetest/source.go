package storagetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// sourceTests are the promises of view.Source.
func sourceTests() []test {
	return []test{
		{"Scan finds what the registry wrote", sourceScan},
		{"Scan leaves out what cannot be understood", sourceScanCorrupt},
		{"Deltas finds what was put", sourceDeltas},
		{"Snapshot finds what was published", sourceSnapshot},
		{"No snapshot", sourceNoSnapshot},
	}
}

func sourceScan(t *testing.T, f *fixture) {
	rich := f.register(t, f.key("rich"), func(l *eureka.Lease) { l.Instance = richInstance(l.Key, f.now) })
	tombstone := f.evicted(t, f.key("tombstone"), eureka.OutOfService)
	leases, err := f.Source.Scan(t.Context())
	require.NoError(t, err)
	found := f.byKey(t, leases)
	assertKeys(t, []eureka.Key{rich.Key, tombstone.Key}, found)
	requireLease(t, rich, found[rich.Key])
	requireLease(t, tombstone, found[tombstone.Key])
}

// sourceScanCorrupt: one unreadable item must not hide the registry. Whoever
// asks for that very item is told; a registration mends it.
func sourceScanCorrupt(t *testing.T, f *fixture) {
	if f.Inspect.Corrupt == nil {
		t.Skip("the driver has no Inspect.Corrupt")
	}
	good := f.register(t, f.key("good"))
	bad := f.register(t, f.key("bad"))
	require.NoError(t, f.Inspect.Corrupt(t.Context(), bad.Key))
	leases, err := f.Source.Scan(t.Context())
	require.NoError(t, err)
	assertKeys(t, []eureka.Key{good.Key}, f.byKey(t, leases))
	_, err = f.Registry.Get(t.Context(), bad.Key)
	require.ErrorIs(t, err, eureka.ErrCorrupt)
	mended := f.register(t, bad.Key)
	leases, err = f.Source.Scan(t.Context())
	require.NoError(t, err)
	requireLease(t, mended, f.byKey(t, leases)[bad.Key])
}

func sourceDeltas(t *testing.T, f *fixture) {
	rows := []delta.Row{f.row("a", 1, f.now), f.row("b", 2, f.after(15_000)), f.row("c", 3, f.after(30_000))}
	f.put(t, rows...)
	requireRows(t, rows[1:], f.deltasOf(t, f.Source.Deltas, f.now, f.after(30_000)))
}

func sourceSnapshot(t *testing.T, f *fixture) {
	want := f.snapshot(30, 100)
	require.NoError(t, f.Publications.PutSnapshot(t.Context(), want))
	got, err := f.Source.Snapshot(t.Context())
	require.NoError(t, err)
	requireSnapshot(t, want, got)
}

func sourceNoSnapshot(t *testing.T, f *fixture) {
	if f.Inspect.Unpublish == nil {
		t.Skip("the driver has no Inspect.Unpublish")
	}
	require.NoError(t, f.Inspect.Unpublish(t.Context()))
	s, err := f.Source.Snapshot(t.Context())
	require.ErrorIs(t, err, eureka.ErrNoSnapshot)
	require.Nil(t, s)
}

// everyCall returns one call of each method of each role, by its name. The
// lease is a live one.
func (f *fixture) everyCall(l eureka.Lease) map[string]func(ctx context.Context) error {
	u := registry.Update{Key: l.Key, IfVersion: l.Version, Status: l.Status, Action: l.Action, Updated: f.now}
	return map[string]func(ctx context.Context) error{
		"Get":      func(ctx context.Context) error { _, err := f.Registry.Get(ctx, l.Key); return err },
		"Register": func(ctx context.Context) error { return f.Registry.Register(ctx, registry.Registration{Lease: l}) },
		"Renew": func(ctx context.Context) error {
			return errorOf(f.Registry.Renew(ctx, registry.Renewal{Key: l.Key, Now: f.now}))
		},
		"Update":         func(ctx context.Context) error { return f.Registry.Update(ctx, u) },
		"Cancel":         func(ctx context.Context) error { return f.Registry.Cancel(ctx, l.Key, f.now) },
		"Count":          func(ctx context.Context) error { _, err := f.Counter.Count(ctx, l.Key.App, 1); return err },
		"Scan":           func(ctx context.Context) error { _, err := f.Eviction.Scan(ctx); return err },
		"Evict":          func(ctx context.Context) error { return f.Eviction.Evict(ctx, l.Key, l.Renewed, f.now) },
		"Put":            func(ctx context.Context) error { return f.Deltas.Put(ctx, []delta.Row{f.row("id", 1, f.now)}) },
		"Deltas":         func(ctx context.Context) error { _, err := f.Deltas.Deltas(ctx, f.after(-1), f.now); return err },
		"Snapshot":       func(ctx context.Context) error { _, err := f.Publications.Snapshot(ctx); return err },
		"PutSnapshot":    func(ctx context.Context) error { return f.Publications.PutSnapshot(ctx, f.snapshot(1, 1)) },
		"Statistics":     func(ctx context.Context) error { _, err := f.Publications.Statistics(ctx); return err },
		"PutStatistics":  func(ctx context.Context) error { return f.Publications.PutStatistics(ctx, delta.Statistics{}) },
		"Claim":          func(ctx context.Context) error { return f.Publications.Claim(ctx, f.claim(0, "ended")) },
		"Recent":         func(ctx context.Context) error { _, err := f.Publications.Recent(ctx); return err },
		"PutRecent":      func(ctx context.Context) error { return f.Publications.PutRecent(ctx, delta.Recent{}) },
		"eviction's Get": func(ctx context.Context) error { _, err := f.Eviction.Get(ctx, l.Key); return err },
		"source's Snapshot": func(ctx context.Context) error {
			_, err := f.Source.Snapshot(ctx)
			return err
		},
		"source's Scan":   func(ctx context.Context) error { _, err := f.Source.Scan(ctx); return err },
		"source's Deltas": func(ctx context.Context) error { _, err := f.Source.Deltas(ctx, f.after(-1), f.now); return err },
	}
}
