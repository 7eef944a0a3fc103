package storagetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// leaseDefects are those of the lease table.
var leaseDefects = map[string]defect{
	"tombstones are hidden": {
		test: "registry.Store/Get of a tombstone",
		harm: func(b *broken) {
			b.get = func(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
				l, err := b.Tables.Get(ctx, key)
				if err == nil && l.Tombstone() {
					return nil, eureka.ErrLeaseNotFound
				}
				return l, err
			}
		},
	},
	"no item is no error": {
		test: "registry.Store/Get of no item",
		harm: func(b *broken) {
			b.get = func(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
				l, err := b.Tables.Get(ctx, key)
				if err != nil {
					return &eureka.Lease{Key: key}, nil
				}
				return l, nil
			}
		},
	},
	"a read is late": {
		test: "registry.Store/Operations on one key are linearizable",
		harm: func(b *broken) {
			var last atomic.Pointer[eureka.Lease]
			b.get = func(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
				l, err := b.Tables.Get(ctx, key)
				if before := last.Swap(l); before != nil && before.Key == key {
					return before, nil
				}
				return l, err
			}
		},
	},
	"an update is without condition, among others": {
		test: "registry.Store/Operations on one key are linearizable",
		harm: harmUpdateCondition,
	},
	"what was read is kept": {
		test: "registry.Store/What was read belongs to the reader",
		harm: func(b *broken) {
			kept := map[eureka.Key]*eureka.Lease{}
			b.get = func(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
				if l := kept[key]; l != nil {
					return l, nil
				}
				l, err := b.Tables.Get(ctx, key)
				kept[key] = l
				return l, err
			}
		},
	},
	"a renewal makes an item": {
		test: "registry.Store/Nothing but Register makes an item",
		harm: func(b *broken) {
			b.renew = func(ctx context.Context, r registry.Renewal) error {
				if _, err := b.Tables.Get(ctx, r.Key); err != nil {
					return b.Tables.Register(ctx, registry.Registration{Lease: eureka.Lease{
						Key: r.Key, Instance: &eureka.InstanceInfo{InstanceID: r.Key.ID, App: r.Key.App}, Renewed: r.Now,
					}})
				}
				return errorOf(b.Tables.Renew(ctx, r))
			}
		},
	},
	"ids are folded": {
		test: "registry.Store/Keys that are easily mixed up",
		harm: func(b *broken) {
			folded := func(key eureka.Key) eureka.Key { return eureka.Key{App: key.App, ID: strings.TrimSpace(key.ID)} }
			b.get = func(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
				return b.Tables.Get(ctx, folded(key))
			}
			b.registering(func(r *registry.Registration, _ *eureka.Lease) {
				r.Lease.Key = folded(r.Lease.Key)
				r.Lease.Instance.InstanceID = r.Lease.Key.ID
			})
		},
	},
	"times are kept to the second": {
		test: "registry.Store/Times are kept to the millisecond",
		harm: func(b *broken) {
			b.reading(func(l *eureka.Lease) { l.Dirty = l.Dirty.Truncate(time.Second).Add(time.Nanosecond) })
		},
	},
	"contexts are not looked at": {
		test: "registry.Store/A context that has ended",
		harm: func(b *broken) {
			b.scan = func(ctx context.Context) ([]eureka.Lease, error) { return b.Tables.Scan(context.WithoutCancel(ctx)) }
		},
	},
	"a field is lost": {
		test: "registry.Store/Register keeps every field",
		harm: func(b *broken) {
			b.registering(func(r *registry.Registration, _ *eureka.Lease) { r.Lease.Instance.ASGName = "" })
		},
	},
	"a missing time becomes the present": {
		test: "registry.Store/Register keeps what is empty empty",
		harm: func(b *broken) {
			b.registering(func(r *registry.Registration, _ *eureka.Lease) {
				if r.Lease.ServiceUp.IsZero() {
					r.Lease.ServiceUp = r.Lease.Updated
				}
			})
		},
	},
	"large metadata is cut": {
		test: "registry.Store/Register keeps large metadata",
		harm: func(b *broken) {
			b.registering(func(r *registry.Registration, _ *eureka.Lease) { delete(r.Lease.Instance.Metadata, "key-999") })
		},
	},
	"the status is the instance's own": {
		test: "registry.Store/Register keeps every field",
		harm: func(b *broken) {
			b.registering(func(r *registry.Registration, _ *eureka.Lease) { r.Lease.Status = r.Lease.Instance.Status })
		},
	},
	"an unknown status is UP": {
		test: "registry.Store/Register keeps each status and action",
		harm: func(b *broken) {
			b.registering(func(r *registry.Registration, _ *eureka.Lease) {
				if r.Lease.Instance.Status == eureka.Unknown {
					r.Lease.Instance.Status = eureka.Up
				}
			})
		},
	},
	"metadata are merged": {
		test: "registry.Store/Register replaces the whole lease",
		harm: func(b *broken) {
			b.registering(func(r *registry.Registration, stored *eureka.Lease) {
				if stored != nil && !stored.Tombstone() {
					r.Lease.Instance.Metadata = stored.Instance.Metadata
				}
			})
		},
	},
	"an equal registration is refused": {
		test: "registry.Store/Register over a live lease looks at Dirty",
		harm: func(b *broken) {
			b.register = func(ctx context.Context, r registry.Registration) error {
				stored, err := b.Tables.Get(ctx, r.Lease.Key)
				if err == nil && !stored.Tombstone() && !stored.Dirty.Before(r.Lease.Dirty) {
					return &registry.ConditionFailedError{Stored: stored}
				}
				return b.Tables.Register(ctx, r)
			}
		},
	},
	"a tombstone has a dirty timestamp": {
		test: "registry.Store/Register over a tombstone does not look at Dirty",
		harm: func(b *broken) {
			dirty := map[eureka.Key]time.Time{}
			b.register = func(ctx context.Context, r registry.Registration) error {
				if r.Lease.Dirty.Before(dirty[r.Lease.Key]) {
					stored, _ := b.Tables.Get(ctx, r.Lease.Key)
					return &registry.ConditionFailedError{Stored: stored}
				}
				dirty[r.Lease.Key] = r.Lease.Dirty
				return b.Tables.Register(ctx, r)
			}
		},
	},
	"any override will do": {
		test: "registry.Store/Register demands the override that was named",
		harm: func(b *broken) {
			b.registering(func(r *registry.Registration, stored *eureka.Lease) {
				if stored != nil {
					r.Stored = stored.Overridden
				}
			})
		},
	},
	"the demanded override is written": {
		test: "registry.Store/Register writes its own override, not the one that was named",
		harm: func(b *broken) {
			b.registering(func(r *registry.Registration, _ *eureka.Lease) { r.Lease.Overridden = r.Stored })
		},
	},
	"versions are times": {
		test: "registry.Store/Register assigns rising versions",
		harm: func(b *broken) {
			b.reading(func(l *eureka.Lease) {
				if !l.Tombstone() {
					l.Version = l.Updated.UnixMilli()
				}
			})
		},
	},
	"a tombstone keeps ServiceUp": {
		test: "registry.Store/Register keeps ServiceUp of a live lease",
		harm: func(b *broken) {
			first := map[eureka.Key]time.Time{}
			b.registering(func(r *registry.Registration, _ *eureka.Lease) {
				if !first[r.Lease.Key].IsZero() {
					r.Lease.ServiceUp = first[r.Lease.Key]
				}
				first[r.Lease.Key] = r.Lease.ServiceUp
			})
		},
	},
	"no override is read as UNKNOWN": {
		test: "registry.Store/Register takes an override of UNKNOWN as none",
		harm: func(b *broken) {
			b.reading(func(l *eureka.Lease) {
				if l.Overridden == "" {
					l.Overridden = eureka.Unknown
				}
			})
		},
	},
	"a renewal is a change": {
		test: "registry.Store/Renew sets Renewed and nothing else",
		harm: func(b *broken) {
			b.renew = func(ctx context.Context, r registry.Renewal) error {
				err := errorOf(b.Tables.Renew(ctx, r))
				if l, _ := b.Tables.Get(ctx, r.Key); err == nil {
					return b.Tables.Update(ctx, registry.Update{
						Key: r.Key, IfVersion: l.Version, Status: l.Status, Overridden: l.Overridden, Action: l.Action,
						Dirty: l.Dirty, Updated: l.Updated, ServiceUp: l.ServiceUp,
					})
				}
				return err
			}
		},
	},
	"a renewal does not look at Dirty": {
		test: "registry.Store/Renew looks at Dirty",
		harm: func(b *broken) {
			b.renew = func(ctx context.Context, r registry.Renewal) error {
				r.Dirty = time.Time{}
				return errorOf(b.Tables.Renew(ctx, r))
			}
		},
	},
	"a peer's renewal is like any other": {
		test: "registry.Store/Renew looks at Dirty",
		harm: func(b *broken) {
			b.renew = func(ctx context.Context, r registry.Renewal) error {
				r.Exact = false
				return errorOf(b.Tables.Renew(ctx, r))
			}
		},
	},
	"UNKNOWN is renewed": {
		test: "registry.Store/Renew is refused to an UNKNOWN status",
		harm: func(b *broken) {
			b.renew = func(ctx context.Context, r registry.Renewal) error {
				if l, err := b.Tables.Get(ctx, r.Key); err == nil && l.Status == eureka.Unknown {
					return nil
				}
				return errorOf(b.Tables.Renew(ctx, r))
			}
		},
	},
	"a tombstone is renewed": {
		test: "registry.Store/Renew is refused to a tombstone",
		harm: func(b *broken) {
			b.renew = func(ctx context.Context, r registry.Renewal) error {
				r.Exact = true
				return alwaysDone(errorOf(b.Tables.Renew(ctx, r)))
			}
		},
	},
	"an update is without condition": {
		test: "registry.Store/Update demands the version",
		harm: harmUpdateCondition,
	},
	"an update is without condition, in parallel": {
		test: "registry.Store/Parallel updates of one version: one wins",
		harm: harmUpdateCondition,
	},
	"an update adds two": {
		test: "registry.Store/Update writes its fields and no other",
		harm: func(b *broken) {
			b.update = func(ctx context.Context, u registry.Update) error {
				err := b.Tables.Update(ctx, u)
				if err == nil {
					u.IfVersion++
					err = b.Tables.Update(ctx, u)
				}
				return err
			}
		},
	},
	"an update leaves what is empty": {
		test: "registry.Store/Update writes what is empty too",
		harm: func(b *broken) {
			b.update = func(ctx context.Context, u registry.Update) error {
				if l, err := b.Tables.Get(ctx, u.Key); err == nil && u.Overridden == "" {
					u.Overridden = l.Overridden
				}
				return b.Tables.Update(ctx, u)
			}
		},
	},
	"an update undoes renewals": {
		test: "registry.Store/Update is neither failed nor undone by renewals",
		harm: func(b *broken) {
			b.update = func(ctx context.Context, u registry.Update) error {
				err := b.Tables.Update(ctx, u)
				if l, _ := b.Tables.Get(ctx, u.Key); err == nil {
					return errorOf(b.Tables.Renew(ctx, registry.Renewal{Key: u.Key, Now: l.Registered}))
				}
				return err
			}
		},
	},
	"a tombstone is updated": {
		test: "registry.Store/Update is refused to a tombstone",
		harm: func(b *broken) {
			b.update = func(ctx context.Context, u registry.Update) error { return alwaysDone(b.Tables.Update(ctx, u)) }
		},
	},
	"a cancel keeps the override": {
		test: "registry.Store/Cancel makes a tombstone without override",
		harm: func(b *broken) {
			b.cancel = func(ctx context.Context, key eureka.Key, now time.Time) error {
				l, err := b.Tables.Get(ctx, key)
				if err != nil {
					return b.Tables.Cancel(ctx, key, now)
				}
				return b.Tables.Evict(ctx, key, l.Renewed, now)
			}
		},
	},
	"a second cancel succeeds":           {test: "registry.Store/Cancel is refused to a tombstone", harm: harmCancelCondition},
	"a second cancel succeeds, parallel": {test: "registry.Store/Parallel cancels: one wins", harm: harmCancelCondition},
	"a second eviction succeeds":         {test: "registry.Store/Parallel evictions: one wins", harm: harmEvictCondition},
	"an eviction of a tombstone succeeds": {
		test: "eviction.Store/Evict is refused to a tombstone",
		harm: harmEvictCondition,
	},
	"a failed condition says nothing": {
		test: "registry.Store/Cancel is refused to a tombstone",
		harm: func(b *broken) {
			b.cancel = func(ctx context.Context, key eureka.Key, now time.Time) error {
				err := b.Tables.Cancel(ctx, key, now)
				var failed *registry.ConditionFailedError
				if errors.As(err, &failed) {
					return &registry.ConditionFailedError{}
				}
				return err
			}
		},
	},
	"an eviction ends the override": {
		test: "eviction.Store/Evict makes a tombstone that keeps the override",
		harm: func(b *broken) {
			b.evict = func(ctx context.Context, key eureka.Key, _, now time.Time) error {
				return b.Tables.Cancel(ctx, key, now)
			}
		},
	},
	"an eviction does not look at the renewal": {
		test: "eviction.Store/Evict demands the renewal that was read",
		harm: func(b *broken) {
			b.evict = func(ctx context.Context, key eureka.Key, renewed, now time.Time) error {
				if l, err := b.Tables.Get(ctx, key); err == nil {
					renewed = l.Renewed
				}
				return b.Tables.Evict(ctx, key, renewed, now)
			}
		},
	},
	"a scan leaves out tombstones": {
		test: "eviction.Store/Scan finds every lease and tombstone",
		harm: func(b *broken) {
			b.scan = func(ctx context.Context) ([]eureka.Lease, error) {
				leases, err := b.Tables.Scan(ctx)
				return slices.DeleteFunc(leases, func(l eureka.Lease) bool { return l.Tombstone() }), err
			}
		},
	},
	"a scan is late": {
		test: "eviction.Store/Scan is consistent",
		harm: func(b *broken) {
			var last []eureka.Lease
			b.scan = func(ctx context.Context) ([]eureka.Lease, error) {
				now, err := b.Tables.Scan(ctx)
				before := last
				last = now
				return before, err
			}
		},
	},
	"a scan reads one page": {
		test: "eviction.Store at size/Scan reads every page",
		harm: func(b *broken) {
			b.scan = func(ctx context.Context) ([]eureka.Lease, error) {
				leases, err := b.Tables.Scan(ctx)
				return leases[:min(len(leases), 1000)], err
			}
		},
	},
	"a page is read twice": {
		test: "eviction.Store at size/Scan reads every page",
		harm: func(b *broken) {
			b.scan = func(ctx context.Context) ([]eureka.Lease, error) {
				leases, err := b.Tables.Scan(ctx)
				return append(leases, leases[:min(len(leases), 10)]...), err
			}
		},
	},
}

// alwaysDone makes a failed condition of a tombstone a success.
func alwaysDone(err error) error {
	var failed *registry.ConditionFailedError
	if errors.As(err, &failed) && failed.Stored != nil && failed.Stored.Tombstone() {
		return nil
	}
	return err
}

func harmUpdateCondition(b *broken) {
	b.update = func(ctx context.Context, u registry.Update) error {
		err := b.Tables.Update(ctx, u)
		var failed *registry.ConditionFailedError
		for errors.As(err, &failed) && failed.Stored != nil && !failed.Stored.Tombstone() {
			u.IfVersion = failed.Stored.Version
			err = b.Tables.Update(ctx, u)
		}
		return err
	}
}

func harmCancelCondition(b *broken) {
	b.cancel = func(ctx context.Context, key eureka.Key, now time.Time) error {
		return alwaysDone(b.Tables.Cancel(ctx, key, now))
	}
}

func harmEvictCondition(b *broken) {
	b.evict = func(ctx context.Context, key eureka.Key, renewed, now time.Time) error {
		return alwaysDone(b.Tables.Evict(ctx, key, renewed, now))
	}
}
