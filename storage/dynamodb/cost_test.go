package dynamodb_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// calls are the calls of an operation, tries included, by their names.
type calls map[string]int

// units are read and write units.
type units struct{ read, write float64 }

// bill adds up what an operation costs.
type bill struct {
	mu    sync.Mutex
	calls calls
	units units
}

func (b *bill) add(_ context.Context, u dynamodb.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[u.Operation] += u.Attempts
	b.units.read += u.ReadUnits
	b.units.write += u.WriteUnits
}

// billed is a store whose operations are billed, on the engine that counts as
// DynamoDB does.
type billed struct {
	*testing.T
	*dynamodb.Store
	bill *bill
}

func newBilled(t *testing.T) *billed {
	t.Helper()
	e := enginetest.Dynoxide(t)
	cfg := e.Tables(t)
	cfg.ScanSegments, cfg.ConsistentDeltas = 1, false
	b := &billed{T: t, bill: &bill{calls: calls{}}}
	b.Store = dynamodb.New(e.Client(t, dynamodb.ObserveUsage(b.bill.add)), cfg)
	return b
}

// costs runs an operation and demands what it costs.
func (b *billed) costs(name string, c calls, u units, run func() error) {
	b.Helper()
	b.bill.calls, b.bill.units = calls{}, units{}
	require.NoError(b, run(), name)
	assert.Equal(b, c, b.bill.calls, name)
	assert.Equal(b, u, b.bill.units, name)
}

// change updates a lease after a read, as the registry does.
func (b *billed) change(key eureka.Key, u registry.Update) error {
	l, err := b.Get(b.Context(), key)
	if err != nil {
		return err
	}
	u.Key, u.IfVersion, u.Status, u.Action = key, l.Version, eureka.Up, eureka.Added
	u.Dirty, u.Updated, u.ServiceUp = l.Dirty, began, l.ServiceUp
	return b.Update(b.Context(), u)
}

// TestCostOfLeases is the design's table of writes, on usual leases: each one
// call and one write unit. (A failed condition consumes what the write would
// have; the database does not report it.)
func TestCostOfLeases(t *testing.T) {
	b := newBilled(t)
	l, ctx := usualLease(1), t.Context()
	write, readAndWrite := calls{"UpdateItem": 1}, calls{"GetItem": 1, "UpdateItem": 1}
	b.costs("register", write, units{write: 1}, func() error { return b.Register(ctx, registry.Registration{Lease: l}) })
	b.costs("register again", write, units{write: 1}, func() error { return b.Register(ctx, registry.Registration{Lease: l}) })
	b.costs("renew", write, units{write: 1}, func() error {
		return errorOf(b.Renew(ctx, registry.Renewal{Key: l.Key, Now: began, Dirty: l.Dirty}))
	})
	b.costs("renew with a quiet time", write, units{write: 1}, func() error {
		return errorOf(b.Renew(ctx, registry.Renewal{Key: l.Key, Now: began, Dirty: l.Dirty, Quiet: 75 * time.Second}))
	})
	b.costs("get", calls{"GetItem": 1}, units{read: 1}, func() error { _, err := b.Get(ctx, l.Key); return err })
	b.costs("status", readAndWrite, units{1, 1}, func() error {
		return b.change(l.Key, registry.Update{Overridden: eureka.OutOfService})
	})
	b.costs("status's removal", readAndWrite, units{1, 1}, func() error { return b.change(l.Key, registry.Update{}) })
	b.costs("metadata", readAndWrite, units{1, 1}, func() error {
		return b.change(l.Key, registry.Update{Instance: l.Instance})
	})
	b.costs("cancel", write, units{write: 1}, func() error { return b.Cancel(ctx, l.Key, began) })
	b.costs("register over a tombstone", write, units{write: 1}, func() error { return b.Register(ctx, registry.Registration{Lease: l}) })
	b.costs("evict", write, units{write: 1}, func() error { return b.Evict(ctx, l.Key, began, began) })
}

func TestCostOfAScan(t *testing.T) {
	b := newBilled(t)
	for n := range 40 {
		require.NoError(t, b.Register(t.Context(), registry.Registration{Lease: usualLease(n)}))
	}
	b.costs("40 leases", calls{"Scan": 1}, units{read: 5}, func() error { _, err := b.Scan(t.Context()); return err })
}

func TestCostOfACount(t *testing.T) {
	b := newBilled(t)
	for n := range 40 {
		require.NoError(t, b.Register(t.Context(), registry.Registration{Lease: usualLease(1000 * n)}))
	}
	app := usualLease(0).Key.App
	b.costs("40 leases", calls{"Query": 1}, units{read: 2.5}, func() error { _, err := b.Count(t.Context(), app, 100); return err })
}

func TestCostOfDeltas(t *testing.T) {
	b := newBilled(t)
	var rows []row
	for n := range 40 {
		l := usualLease(n)
		rows = append(rows, row{Key: l.Key, Version: 1, Instance: l.Effective(), Sequence: strconv.Itoa(n), Written: began})
	}
	b.costs("put 40 rows", calls{"BatchWriteItem": 2}, units{write: 40}, func() error { return b.Put(t.Context(), rows) })
	b.costs("nothing changed for 40 s", calls{"Query": 5}, units{read: 2.5}, func() error {
		_, err := b.Deltas(t.Context(), began.Add(time.Hour), began.Add(time.Hour+40*time.Second))
		return err
	})
	b.costs("40 rows", calls{"Query": 1}, units{read: 2.5}, func() error {
		_, err := b.Deltas(t.Context(), began.Add(-time.Millisecond), began)
		return err
	})
}

func TestCostOfWhatIsPublished(t *testing.T) {
	b := newBilled(t)
	ctx := t.Context()
	read := func() error { _, err := b.Snapshot(ctx); return err }
	b.costs("put a snapshot of 10,000", calls{"PutItem": 5}, units{write: 648}, func() error { return b.PutSnapshot(ctx, usualSnapshot(10_000)) })
	b.costs("read it", calls{"GetItem": 5}, units{read: 82}, read)
	b.costs("put a snapshot of 1,000", calls{"PutItem": 1}, units{write: 65}, func() error { return b.PutSnapshot(ctx, usualSnapshot(1000)) })
	b.costs("read it", calls{"GetItem": 1}, units{read: 17}, read)
	b.costs("claim a pass", calls{"UpdateItem": 1}, units{write: 1}, func() error {
		return b.Claim(ctx, delta.Claim{Pass: began, Apart: time.Minute, Token: "a"})
	})
	b.costs("put statistics", calls{"UpdateItem": 1}, units{write: 1}, func() error {
		return b.PutStatistics(ctx, delta.Statistics{Pass: began, HashCode: "DOWN_1_UP_14_"})
	})
	b.costs("read them", calls{"GetItem": 1}, units{read: 1}, func() error { _, err := b.Statistics(ctx); return err })
	var events []delta.Event
	for n := range delta.RecentLimit {
		events = append(events, delta.Event{Time: began.Add(time.Duration(-n) * 1234 * time.Millisecond), Key: usualLease(n).Key})
	}
	b.costs("put 2,000 events", calls{"PutItem": 1}, units{write: 37}, func() error {
		return b.PutRecent(ctx, delta.Recent{Registered: events, Cancelled: events})
	})
	b.costs("read them", calls{"GetItem": 1}, units{read: 10}, func() error { _, err := b.Recent(ctx); return err })
}
