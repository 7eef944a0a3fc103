package memory

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/lease"
	"github.com/eurekaless/registry/core/registry"
)

// item is one item of the lease table.
type item struct {
	lease lease.Lease
	// marked: the image carries the change marker.
	marked bool
	// expires is the TTL attribute, in epoch seconds.
	expires int64
}

// live reports whether there is an item, and a lease in it.
func (i *item) live() bool { return i != nil && !i.lease.Tombstone() }

// override returns the override that the item holds; none without an item.
func (i *item) override() eureka.Status {
	if i == nil {
		return ""
	}
	return i.lease.Overridden
}

// find returns a copy of an item, or nil. The lock is held.
func (s *Store) find(key eureka.Key) *item {
	i, ok := s.items[key]
	if !ok {
		return nil
	}
	return &i
}

// stored returns a copy of the item's lease for a caller, or nil. The lock is
// held.
func (s *Store) stored(key eureka.Key) *lease.Lease {
	if i := s.find(key); i != nil {
		return &i.lease
	}
	return nil
}

// conditional makes one conditional write: apply gets the item, nil when there
// is none, and returns what becomes of it, or false when the condition fails.
func (s *Store) conditional(ctx context.Context, key eureka.Key, apply func(old *item) (item, bool)) error {
	if err := ended(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next, ok := apply(s.find(key))
	if !ok {
		return &registry.ConditionFailedError{Stored: s.stored(key)}
	}
	s.write(next)
	return nil
}

// write stores an item and emits its record. A write that changes nothing
// emits none, as in DynamoDB Streams. The lock is held.
func (s *Store) write(next item) {
	key := next.lease.Key
	old := s.find(key)
	if old != nil && reflect.DeepEqual(*old, next) {
		return
	}
	mustFollow(old, next)
	s.items[key] = next
	s.emit(old, &next)
}

// mustFollow panics when a state cannot follow another.
func mustFollow(old *item, next item) {
	l := next.lease
	switch {
	case !l.Tombstone() && l.Instance.Key() != l.Key:
		panic(fmt.Sprintf("memory: the lease %s of an instance %s", l.Key, l.Instance.Key()))
	case l.Tombstone() == l.Gone.IsZero():
		panic(fmt.Sprintf("memory: %s is gone or is not", l.Key))
	case old == nil:
		return
	case next.marked && l.Version <= old.lease.Version:
		panic(fmt.Sprintf("memory: version of %s from %d to %d", l.Key, old.lease.Version, l.Version))
	case !next.marked:
		l.Renewed, l.Quiet = old.lease.Renewed, old.lease.Quiet
		if !reflect.DeepEqual(l, old.lease) {
			panic(fmt.Sprintf("memory: a renewal of %s changed more", l.Key))
		}
	}
}

// nextVersion returns the version after the item's, or a new item's.
func nextVersion(old *item, now time.Time) int64 {
	if old == nil {
		return now.UnixMilli() + 1
	}
	return old.lease.Version + 1
}

// keptOverride returns the one form of no override.
func keptOverride(s eureka.Status) eureka.Status {
	if lease.HasOverride(s) {
		return s
	}
	return ""
}

// Register implements [registry.Store].
func (s *Store) Register(ctx context.Context, r registry.Registration) error {
	if r.Lease.Instance == nil {
		panic(fmt.Sprintf("memory: registration of %s without an instance", r.Lease.Key))
	}
	return s.conditional(ctx, r.Lease.Key, func(old *item) (item, bool) {
		if old.override() != keptOverride(r.Stored) {
			return item{}, false
		}
		if old.live() && old.lease.Dirty.After(millis(r.Lease.Dirty)) {
			return item{}, false
		}
		l := keptLease(r.Lease)
		l.Version = nextVersion(old, r.Lease.Updated)
		if l.Quiet == 0 && old != nil {
			l.Quiet = old.lease.Quiet
		}
		if old.live() && !old.lease.ServiceUp.IsZero() {
			l.ServiceUp = old.lease.ServiceUp
		}
		return item{lease: l, marked: true, expires: s.leaseExpires(l)}, true
	})
}

// keptLease returns a registration's lease as the table keeps it.
func keptLease(l lease.Lease) lease.Lease {
	l.Instance = keptInstance(l.Instance)
	l.Overridden = keptOverride(l.Overridden)
	l.Dirty, l.Updated = millis(l.Dirty), millis(l.Updated)
	l.Registered, l.Renewed = millis(l.Registered), millis(l.Renewed)
	l.ServiceUp, l.Gone = millis(l.ServiceUp), time.Time{}
	return l
}

// leaseExpires returns the TTL of a live lease.
func (s *Store) leaseExpires(l lease.Lease) int64 { return l.End().Add(s.cfg.TTLGrace).Unix() }

// Renew implements [registry.Store]. Its failed conditions carry the item only
// when r.Exact asks for it.
func (s *Store) Renew(ctx context.Context, r registry.Renewal) (time.Duration, error) {
	var lasts time.Duration
	err := s.conditional(ctx, r.Key, func(old *item) (item, bool) {
		if !old.live() || old.lease.Status == eureka.Unknown || !dirtyAllows(old.lease.Dirty, r) {
			return item{}, false
		}
		next := *old
		next.lease.Renewed = millis(r.Now)
		if r.Quiet > 0 {
			next.lease.Quiet, lasts = r.Quiet, next.lease.Duration
		}
		next.marked = false
		next.expires = s.leaseExpires(next.lease)
		return next, true
	})
	if failed, ok := err.(*registry.ConditionFailedError); ok && !r.Exact {
		failed.Stored = nil
	}
	return lasts, err
}

// dirtyAllows compares a lease's dirty timestamp with a renewal's.
func dirtyAllows(stored time.Time, r registry.Renewal) bool {
	given := millis(r.Dirty)
	switch {
	case given.IsZero():
		return true
	case r.Exact:
		return stored.Equal(given)
	}
	return !stored.Before(given)
}

// Update implements [registry.Store].
func (s *Store) Update(ctx context.Context, u registry.Update) error {
	return s.conditional(ctx, u.Key, func(old *item) (item, bool) {
		if !old.live() || old.lease.Version != u.IfVersion {
			return item{}, false
		}
		next := *old
		next.marked = true
		l := &next.lease
		l.Version++
		if u.Instance != nil {
			l.Instance = keptInstance(u.Instance)
		}
		l.Status, l.Overridden, l.Action = u.Status, keptOverride(u.Overridden), u.Action
		l.Dirty, l.Updated, l.ServiceUp = millis(u.Dirty), millis(u.Updated), millis(u.ServiceUp)
		return next, true
	})
}

// Cancel implements [registry.Store].
func (s *Store) Cancel(ctx context.Context, key eureka.Key, now time.Time) error {
	return s.conditional(ctx, key, func(old *item) (item, bool) {
		if !old.live() {
			return item{}, false
		}
		return tombstone(old, "", now, tombstoneKept), true
	})
}

// Evict implements [eviction.Store].
func (s *Store) Evict(ctx context.Context, key eureka.Key, renewed, now time.Time) error {
	return s.conditional(ctx, key, func(old *item) (item, bool) {
		if !old.live() || !old.lease.Renewed.Equal(millis(renewed)) {
			return item{}, false
		}
		kept := tombstoneKept
		if old.lease.Overridden != "" {
			kept = max(kept, s.cfg.OverrideKept)
		}
		return tombstone(old, old.lease.Overridden, now, kept), true
	})
}

// tombstone returns what becomes of a lease that ends. Nothing of the lease
// but its version, its quiet time and an override is kept.
func tombstone(old *item, override eureka.Status, now time.Time, kept time.Duration) item {
	return item{
		lease: lease.Lease{
			Key:        old.lease.Key,
			Version:    nextVersion(old, now),
			Overridden: override,
			Quiet:      old.lease.Quiet,
			Gone:       millis(now),
		},
		marked:  true,
		expires: now.Add(kept).Unix(),
	}
}
