package observed

import (
	"context"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage"
)

// LeaseTable returns a lease table whose operations are reported. Durations
// are measured by now.
func LeaseTable(next storage.LeaseTable, observer Observer, now func() time.Time) storage.LeaseTable {
	return leaseTable{next, watch{observer, now}}
}

// DeltaTable returns a delta table whose operations are reported. Durations
// are measured by now.
func DeltaTable(next storage.DeltaTable, observer Observer, now func() time.Time) storage.DeltaTable {
	return deltaTable{next, watch{observer, now}}
}

type leaseTable struct {
	next  storage.LeaseTable
	watch watch
}

func (t leaseTable) Get(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
	return value(ctx, t.watch, storage.Get, func(ctx context.Context) (*eureka.Lease, error) { return t.next.Get(ctx, key) })
}

func (t leaseTable) Register(ctx context.Context, r registry.Registration) error {
	return t.watch.call(ctx, storage.Register, func(ctx context.Context) error { return t.next.Register(ctx, r) })
}

func (t leaseTable) Renew(ctx context.Context, r registry.Renewal) (time.Duration, error) {
	return value(ctx, t.watch, storage.Renew, func(ctx context.Context) (time.Duration, error) { return t.next.Renew(ctx, r) })
}

func (t leaseTable) Update(ctx context.Context, u registry.Update) error {
	return t.watch.call(ctx, storage.Update, func(ctx context.Context) error { return t.next.Update(ctx, u) })
}

func (t leaseTable) Cancel(ctx context.Context, key eureka.Key, now time.Time) error {
	return t.watch.call(ctx, storage.Cancel, func(ctx context.Context) error { return t.next.Cancel(ctx, key, now) })
}

func (t leaseTable) Count(ctx context.Context, app string, limit int) (int, error) {
	return value(ctx, t.watch, storage.Count, func(ctx context.Context) (int, error) { return t.next.Count(ctx, app, limit) })
}

func (t leaseTable) Scan(ctx context.Context) ([]eureka.Lease, error) {
	return value(ctx, t.watch, storage.Scan, t.next.Scan)
}

func (t leaseTable) Evict(ctx context.Context, key eureka.Key, renewed, now time.Time) error {
	return t.watch.call(ctx, storage.Evict, func(ctx context.Context) error { return t.next.Evict(ctx, key, renewed, now) })
}

type deltaTable struct {
	next  storage.DeltaTable
	watch watch
}

func (t deltaTable) Put(ctx context.Context, rows []delta.Row) error {
	return t.watch.call(ctx, storage.Put, func(ctx context.Context) error { return t.next.Put(ctx, rows) })
}

func (t deltaTable) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	return value(ctx, t.watch, storage.Deltas, func(ctx context.Context) ([]delta.Row, error) { return t.next.Deltas(ctx, since, until) })
}

func (t deltaTable) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	return value(ctx, t.watch, storage.Snapshot, t.next.Snapshot)
}

func (t deltaTable) PutSnapshot(ctx context.Context, s *delta.Snapshot) error {
	return t.watch.call(ctx, storage.PutSnapshot, func(ctx context.Context) error { return t.next.PutSnapshot(ctx, s) })
}

func (t deltaTable) Statistics(ctx context.Context) (delta.Statistics, error) {
	return value(ctx, t.watch, storage.Statistics, t.next.Statistics)
}

func (t deltaTable) PutStatistics(ctx context.Context, s delta.Statistics) error {
	return t.watch.call(ctx, storage.PutStatistics, func(ctx context.Context) error { return t.next.PutStatistics(ctx, s) })
}

func (t deltaTable) Claim(ctx context.Context, c delta.Claim) error {
	return t.watch.call(ctx, storage.Claim, func(ctx context.Context) error { return t.next.Claim(ctx, c) })
}

func (t deltaTable) Recent(ctx context.Context) (delta.Recent, error) {
	return value(ctx, t.watch, storage.Recent, t.next.Recent)
}

func (t deltaTable) PutRecent(ctx context.Context, r delta.Recent) error {
	return t.watch.call(ctx, storage.PutRecent, func(ctx context.Context) error { return t.next.PutRecent(ctx, r) })
}
