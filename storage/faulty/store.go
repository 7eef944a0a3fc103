package faulty

import (
	"context"
	"errors"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage"
)

// Wrap returns tables whose calls meet the faults that choose returns.
func Wrap(tables storage.Tables, choose Choose) storage.Tables {
	return storage.Tables{
		LeaseTable: leaseTable{tables.LeaseTable, choose},
		DeltaTable: deltaTable{tables.DeltaTable, choose},
	}
}

type leaseTable struct {
	next   storage.LeaseTable
	choose Choose
}

func (t leaseTable) Get(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
	return value(ctx, t.choose, storage.Get, key, func() (*eureka.Lease, error) { return t.next.Get(ctx, key) })
}

func (t leaseTable) Register(ctx context.Context, r registry.Registration) error {
	return t.choose.call(ctx, storage.Register, r.Lease.Key, func() error { return t.next.Register(ctx, r) })
}

func (t leaseTable) Renew(ctx context.Context, r registry.Renewal) (time.Duration, error) {
	return value(ctx, t.choose, storage.Renew, r.Key, func() (time.Duration, error) { return t.next.Renew(ctx, r) })
}

func (t leaseTable) Update(ctx context.Context, u registry.Update) error {
	return t.choose.call(ctx, storage.Update, u.Key, func() error { return t.next.Update(ctx, u) })
}

func (t leaseTable) Cancel(ctx context.Context, key eureka.Key, now time.Time) error {
	return t.choose.call(ctx, storage.Cancel, key, func() error { return t.next.Cancel(ctx, key, now) })
}

func (t leaseTable) Count(ctx context.Context, app string, limit int) (int, error) {
	return value(ctx, t.choose, storage.Count, eureka.Key{App: app}, func() (int, error) { return t.next.Count(ctx, app, limit) })
}

func (t leaseTable) Scan(ctx context.Context) ([]eureka.Lease, error) {
	return value(ctx, t.choose, storage.Scan, eureka.Key{}, func() ([]eureka.Lease, error) { return t.next.Scan(ctx) })
}

func (t leaseTable) Evict(ctx context.Context, key eureka.Key, renewed, now time.Time) error {
	return t.choose.call(ctx, storage.Evict, key, func() error { return t.next.Evict(ctx, key, renewed, now) })
}

type deltaTable struct {
	next   storage.DeltaTable
	choose Choose
}

// Put puts each row by itself, under the fault that is chosen for it.
func (t deltaTable) Put(ctx context.Context, rows []delta.Row) error {
	unwritten := &delta.UnwrittenError{}
	for i, row := range rows {
		err := t.choose.call(ctx, storage.Put, row.Key, func() error { return t.next.Put(ctx, rows[i:i+1]) })
		if err == nil {
			continue
		}
		var inner *delta.UnwrittenError
		if errors.As(err, &inner) {
			err = inner.Err
		}
		unwritten.Indexes = append(unwritten.Indexes, i)
		unwritten.Err = err
	}
	if len(unwritten.Indexes) == 0 {
		return nil
	}
	return unwritten
}

func (t deltaTable) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	return value(ctx, t.choose, storage.Deltas, eureka.Key{}, func() ([]delta.Row, error) { return t.next.Deltas(ctx, since, until) })
}

func (t deltaTable) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	return value(ctx, t.choose, storage.Snapshot, eureka.Key{}, func() (*delta.Snapshot, error) { return t.next.Snapshot(ctx) })
}

func (t deltaTable) PutSnapshot(ctx context.Context, s *delta.Snapshot) error {
	return t.choose.call(ctx, storage.PutSnapshot, eureka.Key{}, func() error { return t.next.PutSnapshot(ctx, s) })
}

func (t deltaTable) Statistics(ctx context.Context) (delta.Statistics, error) {
	return value(ctx, t.choose, storage.Statistics, eureka.Key{}, func() (delta.Statistics, error) { return t.next.Statistics(ctx) })
}

func (t deltaTable) PutStatistics(ctx context.Context, s delta.Statistics) error {
	return t.choose.call(ctx, storage.PutStatistics, eureka.Key{}, func() error { return t.next.PutStatistics(ctx, s) })
}

func (t deltaTable) Claim(ctx context.Context, c delta.Claim) error {
	return t.choose.call(ctx, storage.Claim, eureka.Key{}, func() error { return t.next.Claim(ctx, c) })
}

func (t deltaTable) Recent(ctx context.Context) (delta.Recent, error) {
	return value(ctx, t.choose, storage.Recent, eureka.Key{}, func() (delta.Recent, error) { return t.next.Recent(ctx) })
}

func (t deltaTable) PutRecent(ctx context.Context, r delta.Recent) error {
	return t.choose.call(ctx, storage.PutRecent, eureka.Key{}, func() error { return t.next.PutRecent(ctx, r) })
}
