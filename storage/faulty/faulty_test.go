package faulty_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/faulty"
	"github.com/eurekaless/registry/storage/memory"
	"github.com/eurekaless/registry/storage/storagetest"
)

var (
	now = time.UnixMilli(1_700_000_000_000)
	key = eureka.NewKey("shop", "shop-1")
)

func inMemory() storage.Tables {
	s := memory.New(memory.Config{})
	return storage.Tables{LeaseTable: s, DeltaTable: s}
}

// registered returns tables that hold one lease, of key.
func registered(t *testing.T) storage.Tables {
	t.Helper()
	tables := inMemory()
	require.NoError(t, tables.Register(t.Context(), registration(key)))
	return tables
}

func registration(key eureka.Key) registry.Registration {
	return registry.Registration{Lease: eureka.Lease{
		Key: key, Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App}, Status: eureka.Up, Updated: now, Renewed: now,
	}}
}

// TestWithoutFaults runs the conformance suite through the wrapper.
func TestWithoutFaults(t *testing.T) {
	storagetest.Run(t, func(*testing.T) storagetest.Driver {
		return storagetest.Of(faulty.Wrap(inMemory(), faulty.Every(faulty.None)))
	})
}

func TestFaultsOfAWrite(t *testing.T) {
	for _, c := range []struct {
		kind    faulty.Kind
		applied bool
		check   func(t *testing.T, err error)
	}{
		{kind: faulty.None, applied: true, check: func(t *testing.T, err error) { require.NoError(t, err) }},
		{kind: faulty.NotApplied, check: func(t *testing.T, err error) { require.ErrorIs(t, err, eureka.ErrUnavailable) }},
		{kind: faulty.Lost, applied: true, check: func(t *testing.T, err error) { require.ErrorIs(t, err, eureka.ErrUnavailable) }},
		{kind: faulty.Throttled, check: func(t *testing.T, err error) { require.ErrorIs(t, err, eureka.ErrThrottled) }},
		{kind: faulty.Repeated, applied: true, check: func(t *testing.T, err error) {
			var failed *registry.ConditionFailedError
			require.ErrorAs(t, err, &failed)
			require.True(t, failed.Stored.Tombstone(), "what the first try wrote")
		}},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			tables := registered(t)
			choose := faulty.On(storage.Cancel, faulty.Fault{Kind: c.kind})
			c.check(t, faulty.Wrap(tables, choose).Cancel(t.Context(), key, now))
			l, err := tables.Get(t.Context(), key)
			require.NoError(t, err)
			assert.Equal(t, c.applied, l.Tombstone())
		})
	}
}

func TestAFailedReadReturnsNothing(t *testing.T) {
	for _, kind := range []faulty.Kind{faulty.NotApplied, faulty.Lost, faulty.Throttled} {
		tables := faulty.Wrap(registered(t), faulty.Every(kind))
		l, err := tables.Get(t.Context(), key)
		require.Error(t, err, kind)
		require.Nil(t, l, kind)
		leases, err := tables.Scan(t.Context())
		require.Error(t, err, kind)
		require.Nil(t, leases, kind)
	}
}

// TestEveryOperationIsAsked: with its key where it has one.
func TestEveryOperationIsAsked(t *testing.T) {
	type asked struct {
		op  storage.Operation
		key eureka.Key
	}
	var got []asked
	tables := faulty.Wrap(inMemory(), func(op storage.Operation, key eureka.Key) faulty.Fault {
		got = append(got, asked{op, key})
		return faulty.Fault{Kind: faulty.Throttled}
	})
	ctx, none := t.Context(), eureka.Key{}
	calls := []struct {
		want asked
		call func() error
	}{
		{asked{storage.Get, key}, func() error { _, err := tables.Get(ctx, key); return err }},
		{asked{storage.Register, key}, func() error { return tables.Register(ctx, registration(key)) }},
		{asked{storage.Renew, key}, func() error { return errorOf(tables.Renew(ctx, registry.Renewal{Key: key})) }},
		{asked{storage.Update, key}, func() error { return tables.Update(ctx, registry.Update{Key: key}) }},
		{asked{storage.Cancel, key}, func() error { return tables.Cancel(ctx, key, now) }},
		{asked{storage.Evict, key}, func() error { return tables.Evict(ctx, key, now, now) }},
		{asked{storage.Count, eureka.Key{App: key.App}}, func() error { _, err := tables.Count(ctx, key.App, 1); return err }},
		{asked{storage.Scan, none}, func() error { _, err := tables.Scan(ctx); return err }},
		{asked{storage.Put, key}, func() error { return tables.Put(ctx, []delta.Row{{Key: key}}) }},
		{asked{storage.Deltas, none}, func() error { _, err := tables.Deltas(ctx, now, now); return err }},
		{asked{storage.Snapshot, none}, func() error { _, err := tables.Snapshot(ctx); return err }},
		{asked{storage.PutSnapshot, none}, func() error { return tables.PutSnapshot(ctx, &delta.Snapshot{}) }},
		{asked{storage.Statistics, none}, func() error { _, err := tables.Statistics(ctx); return err }},
		{asked{storage.PutStatistics, none}, func() error { return tables.PutStatistics(ctx, delta.Statistics{}) }},
		{asked{storage.Claim, none}, func() error { return tables.Claim(ctx, delta.Claim{}) }},
		{asked{storage.Recent, none}, func() error { _, err := tables.Recent(ctx); return err }},
		{asked{storage.PutRecent, none}, func() error { return tables.PutRecent(ctx, delta.Recent{}) }},
	}
	for _, c := range calls {
		got = nil
		require.ErrorIs(t, c.call(), eureka.ErrThrottled, c.want.op)
		assert.Equal(t, []asked{c.want}, got)
	}
}

func TestOnMeetsTheFirstCallsOfItsOperation(t *testing.T) {
	tables := faulty.Wrap(registered(t), faulty.On(storage.Renew,
		faulty.Fault{Kind: faulty.Throttled}, faulty.Fault{}, faulty.Fault{Kind: faulty.NotApplied}))
	renew := func() error { return errorOf(tables.Renew(t.Context(), registry.Renewal{Key: key, Now: now})) }
	require.ErrorIs(t, renew(), eureka.ErrThrottled)
	_, err := tables.Get(t.Context(), key)
	require.NoError(t, err)
	require.NoError(t, renew())
	require.ErrorIs(t, renew(), eureka.ErrUnavailable)
	require.NoError(t, renew())
}

// TestPutLosesSomeRows: each row by its own fault, and the error names those
// whose writing is not sure.
func TestPutLosesSomeRows(t *testing.T) {
	kinds := []faulty.Kind{faulty.None, faulty.Throttled, faulty.Lost, faulty.None, faulty.NotApplied}
	var rows []delta.Row
	byKey := map[eureka.Key]faulty.Kind{}
	for i, kind := range kinds {
		k := eureka.NewKey("shop", string(rune('a'+i)))
		byKey[k] = kind
		rows = append(rows, delta.Row{Key: k, Instance: &eureka.InstanceInfo{InstanceID: k.ID, App: k.App}, Written: now})
	}
	tables := inMemory()
	err := faulty.Wrap(tables, func(_ storage.Operation, key eureka.Key) faulty.Fault {
		return faulty.Fault{Kind: byKey[key]}
	}).Put(t.Context(), rows)
	var unwritten *delta.UnwrittenError
	require.ErrorAs(t, err, &unwritten)
	assert.Equal(t, []int{1, 2, 4}, unwritten.Indexes)
	written, err := tables.Deltas(t.Context(), now.Add(-time.Second), now)
	require.NoError(t, err)
	var ids []string
	for _, r := range written {
		ids = append(ids, r.Key.ID)
	}
	assert.Equal(t, []string{"a", "c", "d"}, ids)
}

// TestDelay lets a rival come between: before the call is applied, and after.
func TestDelay(t *testing.T) {
	for name, c := range map[string]struct {
		fault     func(between func(context.Context)) faulty.Fault
		cancelled bool
	}{
		"before": {fault: func(f func(context.Context)) faulty.Fault { return faulty.Fault{Before: f} }, cancelled: true},
		"after":  {fault: func(f func(context.Context)) faulty.Fault { return faulty.Fault{After: f} }},
	} {
		t.Run(name, func(t *testing.T) {
			tables := registered(t)
			rival := func(ctx context.Context) { assert.NoError(t, tables.Cancel(ctx, key, now)) }
			_, err := faulty.Wrap(tables, faulty.On(storage.Renew, c.fault(rival))).
				Renew(t.Context(), registry.Renewal{Key: key, Now: now.Add(time.Second)})
			if c.cancelled {
				var failed *registry.ConditionFailedError
				require.ErrorAs(t, err, &failed)
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for k := faulty.None; k <= faulty.Repeated+1; k++ {
		assert.NotEmpty(t, k.String())
		assert.False(t, seen[k.String()])
		seen[k.String()] = true
	}
}

// errorOf returns the error of a call that returns a value too.
func errorOf[T any](_ T, err error) error { return err }
