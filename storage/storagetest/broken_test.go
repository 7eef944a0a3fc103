package storagetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage"
)

// broken is a driver some of whose methods are replaced.
type broken struct {
	storage.Tables

	get         func(ctx context.Context, key eureka.Key) (*eureka.Lease, error)
	register    func(ctx context.Context, r registry.Registration) error
	renew       func(ctx context.Context, r registry.Renewal) error
	update      func(ctx context.Context, u registry.Update) error
	cancel      func(ctx context.Context, key eureka.Key, now time.Time) error
	evict       func(ctx context.Context, key eureka.Key, renewed, now time.Time) error
	count       func(ctx context.Context, app string, limit int) (int, error)
	scan        func(ctx context.Context) ([]eureka.Lease, error)
	put         func(ctx context.Context, rows []delta.Row) error
	deltas      func(ctx context.Context, since, until time.Time) ([]delta.Row, error)
	putSnapshot func(ctx context.Context, s *delta.Snapshot) error
	snapshot    func(ctx context.Context) (*delta.Snapshot, error)
	statistics  func(ctx context.Context) (delta.Statistics, error)
	claim       func(ctx context.Context, c delta.Claim) error
	recent      func(ctx context.Context) (delta.Recent, error)
}

func (b *broken) Get(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
	if b.get != nil {
		return b.get(ctx, key)
	}
	return b.Tables.Get(ctx, key)
}

func (b *broken) Register(ctx context.Context, r registry.Registration) error {
	if b.register != nil {
		return b.register(ctx, r)
	}
	return b.Tables.Register(ctx, r)
}

func (b *broken) Renew(ctx context.Context, r registry.Renewal) (time.Duration, error) {
	if b.renew != nil {
		return 0, b.renew(ctx, r)
	}
	return b.Tables.Renew(ctx, r)
}

func (b *broken) Update(ctx context.Context, u registry.Update) error {
	if b.update != nil {
		return b.update(ctx, u)
	}
	return b.Tables.Update(ctx, u)
}

func (b *broken) Cancel(ctx context.Context, key eureka.Key, now time.Time) error {
	if b.cancel != nil {
		return b.cancel(ctx, key, now)
	}
	return b.Tables.Cancel(ctx, key, now)
}

func (b *broken) Evict(ctx context.Context, key eureka.Key, renewed, now time.Time) error {
	if b.evict != nil {
		return b.evict(ctx, key, renewed, now)
	}
	return b.Tables.Evict(ctx, key, renewed, now)
}

func (b *broken) Count(ctx context.Context, app string, limit int) (int, error) {
	if b.count != nil {
		return b.count(ctx, app, limit)
	}
	return b.Tables.Count(ctx, app, limit)
}

func (b *broken) Scan(ctx context.Context) ([]eureka.Lease, error) {
	if b.scan != nil {
		return b.scan(ctx)
	}
	return b.Tables.Scan(ctx)
}

func (b *broken) Put(ctx context.Context, rows []delta.Row) error {
	if b.put != nil {
		return b.put(ctx, rows)
	}
	return b.Tables.Put(ctx, rows)
}

func (b *broken) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	if b.deltas != nil {
		return b.deltas(ctx, since, until)
	}
	return b.Tables.Deltas(ctx, since, until)
}

func (b *broken) PutSnapshot(ctx context.Context, s *delta.Snapshot) error {
	if b.putSnapshot != nil {
		return b.putSnapshot(ctx, s)
	}
	return b.Tables.PutSnapshot(ctx, s)
}

func (b *broken) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	if b.snapshot != nil {
		return b.snapshot(ctx)
	}
	return b.Tables.Snapshot(ctx)
}

func (b *broken) Statistics(ctx context.Context) (delta.Statistics, error) {
	if b.statistics != nil {
		return b.statistics(ctx)
	}
	return b.Tables.Statistics(ctx)
}

func (b *broken) Claim(ctx context.Context, c delta.Claim) error {
	if b.claim != nil {
		return b.claim(ctx, c)
	}
	return b.Tables.Claim(ctx, c)
}

func (b *broken) Recent(ctx context.Context) (delta.Recent, error) {
	if b.recent != nil {
		return b.recent(ctx)
	}
	return b.Tables.Recent(ctx)
}

// reading replaces what Get returns.
func (b *broken) reading(change func(l *eureka.Lease)) {
	b.get = func(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
		l, err := b.Tables.Get(ctx, key)
		if err == nil {
			change(l)
		}
		return l, err
	}
}

// registering replaces what Register is given; stored is nil when there is no
// item.
func (b *broken) registering(change func(r *registry.Registration, stored *eureka.Lease)) {
	b.register = func(ctx context.Context, r registry.Registration) error {
		stored, _ := b.Tables.Get(ctx, r.Lease.Key)
		r.Lease.Instance = r.Lease.Instance.Clone()
		change(&r, stored)
		return b.Tables.Register(ctx, r)
	}
}

// putting replaces the rows that Put is given.
func (b *broken) putting(change func(r *delta.Row)) {
	b.put = func(ctx context.Context, rows []delta.Row) error {
		changed := slices.Clone(rows)
		for i := range changed {
			change(&changed[i])
		}
		return b.Tables.Put(ctx, changed)
	}
}

// errorOf returns the error of a call that returns a value too.
func errorOf[T any](_ T, err error) error { return err }
