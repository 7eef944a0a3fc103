package observed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	"github.com/eurekaless/registry/storage/observed"
	"github.com/eurekaless/registry/storage/storagetest"
)

// log keeps observations.
type log struct {
	mu   sync.Mutex
	seen []observed.Observation
}

func (l *log) Observe(_ context.Context, o observed.Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, o)
}

// clock moves on by a second whenever it is looked at.
func clock() func() time.Time {
	var mu sync.Mutex
	now := time.UnixMilli(1_700_000_000_000)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

func observe(tables storage.Tables, l *log) storage.Tables {
	now := clock()
	return storage.Tables{
		LeaseTable: observed.LeaseTable(tables.LeaseTable, l, now),
		DeltaTable: observed.DeltaTable(tables.DeltaTable, l, now),
	}
}

func inMemory() storage.Tables {
	s := memory.New(memory.Config{})
	return storage.Tables{LeaseTable: s, DeltaTable: s}
}

// TestChangesNoAnswer runs the conformance suite through the wrapper.
func TestChangesNoAnswer(t *testing.T) {
	l := &log{}
	storagetest.Run(t, func(*testing.T) storagetest.Driver {
		return storagetest.Of(observe(inMemory(), l))
	})
	assert.NotEmpty(t, l.seen)
}

// everyCall calls each operation once, all of which succeed.
func everyCall(t *testing.T, tables storage.Tables) map[storage.Operation]error {
	ctx, now, key := t.Context(), time.UnixMilli(1_700_000_000_000), eureka.NewKey("shop", "shop-1")
	other := eureka.NewKey("shop", "shop-2")
	registered := func(key eureka.Key) registry.Registration {
		return registry.Registration{Lease: eureka.Lease{
			Key: key, Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App}, Status: eureka.Up, Updated: now, Renewed: now,
		}}
	}
	errs := map[storage.Operation]error{}
	errs[storage.Register] = errors.Join(tables.Register(ctx, registered(key)), tables.Register(ctx, registered(other)))
	l, err := tables.Get(ctx, key)
	errs[storage.Get] = err
	if l == nil {
		l = &eureka.Lease{}
	}
	errs[storage.Renew] = errorOf(tables.Renew(ctx, registry.Renewal{Key: key, Now: now}))
	errs[storage.Update] = tables.Update(ctx, registry.Update{Key: key, IfVersion: l.Version, Status: eureka.Down})
	errs[storage.Cancel] = tables.Cancel(ctx, key, now)
	errs[storage.Evict] = tables.Evict(ctx, other, now, now)
	_, errs[storage.Count] = tables.Count(ctx, "SHOP", 1)
	_, errs[storage.Scan] = tables.Scan(ctx)
	errs[storage.Put] = tables.Put(ctx, []delta.Row{{Key: key, Instance: l.Instance, Written: now}})
	_, errs[storage.Deltas] = tables.Deltas(ctx, now, now)
	errs[storage.PutSnapshot] = tables.PutSnapshot(ctx, &delta.Snapshot{Began: now})
	_, errs[storage.Snapshot] = tables.Snapshot(ctx)
	errs[storage.PutStatistics] = tables.PutStatistics(ctx, delta.Statistics{})
	_, errs[storage.Statistics] = tables.Statistics(ctx)
	errs[storage.Claim] = tables.Claim(ctx, delta.Claim{Pass: now, Token: "a"})
	errs[storage.PutRecent] = tables.PutRecent(ctx, delta.Recent{})
	_, errs[storage.Recent] = tables.Recent(ctx)
	return errs
}

func TestReportsEachOperationOnce(t *testing.T) {
	l := &log{}
	for op, err := range everyCall(t, observe(inMemory(), l)) {
		require.NoError(t, err, op)
	}
	counts := map[storage.Operation]int{}
	for _, o := range l.seen {
		counts[o.Operation]++
		assert.Equal(t, observed.Observation{Operation: o.Operation, Outcome: observed.OK, Duration: time.Second}, o)
	}
	assert.Equal(t, map[storage.Operation]int{
		storage.Register: 2, storage.Get: 1, storage.Renew: 1, storage.Update: 1, storage.Cancel: 1, storage.Evict: 1, storage.Count: 1, storage.Scan: 1,
		storage.Put: 1, storage.Deltas: 1, storage.PutSnapshot: 1, storage.Snapshot: 1,
		storage.PutStatistics: 1, storage.Statistics: 1, storage.Claim: 1, storage.PutRecent: 1, storage.Recent: 1,
	}, counts)
}

func TestReportsFailuresOfEachOperation(t *testing.T) {
	l := &log{}
	throttled := observe(faulty.Wrap(inMemory(), faulty.Every(faulty.Throttled)), l)
	for op, err := range everyCall(t, throttled) {
		require.ErrorIs(t, err, eureka.ErrThrottled, op)
	}
	require.Len(t, l.seen, 18)
	for _, o := range l.seen {
		assert.Equal(t, observed.Throttled, o.Outcome, o.Operation)
	}
}

// answering is a lease table that answers to Cancel as told.
type answering struct {
	storage.LeaseTable
	err error
}

func (a answering) Cancel(ctx context.Context, _ eureka.Key, _ time.Time) error {
	observed.Consume(ctx, observed.Capacity{WriteUnits: 1})
	observed.Consume(ctx, observed.Capacity{WriteUnits: 2, ReadUnits: 0.5})
	return a.err
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		err     error
		want    observed.Outcome
		failure bool
	}{
		{err: nil, want: observed.OK},
		{err: &registry.ConditionFailedError{}, want: observed.ConditionFailed},
		{err: eureka.ErrLeaseNotFound, want: observed.NotFound},
		{err: eureka.ErrPassClaimed, want: observed.ConditionFailed},
		{err: eureka.ErrNoSnapshot, want: observed.NotFound},
		{err: eureka.TooLargef("instance", "too large"), want: observed.TooLarge},
		{err: eureka.ErrThrottled, want: observed.Throttled, failure: true},
		{err: eureka.ErrUnavailable, want: observed.Unavailable, failure: true},
		{err: &delta.UnwrittenError{Err: eureka.ErrThrottled}, want: observed.Throttled, failure: true},
		{err: eureka.ErrCorrupt, want: observed.Error, failure: true},
		{err: errors.New("of any other kind"), want: observed.Error, failure: true},
	} {
		if c.err != nil {
			c.err = fmt.Errorf("wrapped: %w", c.err)
		}
		l := &log{}
		err := observed.LeaseTable(answering{err: c.err}, l, clock()).Cancel(t.Context(), eureka.Key{}, time.Time{})
		assert.Equal(t, c.err, err, "the error is passed on as it is")
		require.Len(t, l.seen, 1)
		assert.Equal(t, c.want, l.seen[0].Outcome, "%v", c.err)
		assert.Equal(t, c.failure, l.seen[0].Outcome.Failure(), "%v", c.err)
	}
}

func TestConsumedCapacityIsAddedUp(t *testing.T) {
	l := &log{}
	table := observed.LeaseTable(answering{}, l, clock())
	for range 2 {
		require.NoError(t, table.Cancel(t.Context(), eureka.Key{}, time.Time{}))
	}
	for _, o := range l.seen {
		assert.Equal(t, observed.Capacity{WriteUnits: 3, ReadUnits: 0.5}, o.Consumed)
	}
	observed.Consume(t.Context(), observed.Capacity{WriteUnits: 1}) // outside of an operation: nobody asks
}

// errorOf returns the error of a call that returns a value too.
func errorOf[T any](_ T, err error) error { return err }
