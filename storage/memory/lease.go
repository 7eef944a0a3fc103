package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// item is one item of the lease table.
type item struct {
	lease eureka.Lease
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

// find returns an item, or nil. The lock is held, and the caller keeps no
// pointer beyond it.
func (s *Store) find(key eureka.Key) *item {
	if app := s.apps[key.App]; app != nil {
		return app.items[key.ID]
	}
	return nil
}

// stored returns a copy of the item's lease for a caller, or nil. The lock is
// held.
func (s *Store) stored(key eureka.Key) *eureka.Lease {
	if i := s.find(key); i != nil {
		l := i.lease
		return &l
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
	old := s.find(key)
	next, ok := apply(old)
	if !ok {
		return &registry.ConditionFailedError{Stored: s.stored(key)}
	}
	if err := follows(old, &next); err != nil {
		return err
	}
	s.put(&next)
	s.emit(old, &next)
	return nil
}

// put stores an item. The lock is held.
func (s *Store) put(next *item) {
	key := next.lease.Key
	app := s.apps[key.App]
	if app == nil {
		app = &application{items: map[string]*item{}}
		s.apps[key.App] = app
	}
	app.count(app.items[key.ID], next)
	app.items[key.ID] = next
	app.most = max(app.most, len(app.items))
}

// errRule is a write that no caller may ask for. Nothing is stored.
var errRule = errors.New("memory: write breaks a rule of the lease table")

// follows returns an error when a changed state cannot follow the one before
// it.
func follows(old, next *item) error {
	l := &next.lease
	switch {
	case !l.Tombstone() && l.Instance.Key() != l.Key:
		return fmt.Errorf("%w: lease %s with instance %s", errRule, l.Key, l.Instance.Key())
	case l.Tombstone() == l.Gone.IsZero():
		return fmt.Errorf("%w: %s needs either an instance or the time of its end", errRule, l.Key)
	case old != nil && l.Version <= old.lease.Version:
		return fmt.Errorf("%w: version of %s from %d to %d", errRule, l.Key, old.lease.Version, l.Version)
	}
	return nil
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
	if eureka.HasOverride(s) {
		return s
	}
	return ""
}

// Register implements [registry.Store].
func (s *Store) Register(ctx context.Context, r registry.Registration) error {
	if r.Lease.Instance == nil {
		return fmt.Errorf("%w: registration of %s without an instance", errRule, r.Lease.Key)
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
		return item{lease: l, marked: true, expires: s.leaseExpires(&l)}, true
	})
}

// keptLease returns a registration's lease as the table keeps it.
func keptLease(l eureka.Lease) eureka.Lease {
	l.Instance = keptInstance(l.Instance)
	l.Overridden = keptOverride(l.Overridden)
	l.Dirty, l.Updated = millis(l.Dirty), millis(l.Updated)
	l.Registered, l.Renewed = millis(l.Registered), millis(l.Renewed)
	l.ServiceUp, l.Gone = millis(l.ServiceUp), time.Time{}
	return l
}

// leaseExpires returns the TTL of a live lease.
func (s *Store) leaseExpires(l *eureka.Lease) int64 { return l.End().Add(s.cfg.TTLGrace).Unix() }

// Renew implements [registry.Store]. Its failed conditions carry the item only
// when r.Exact asks for it. A renewal that changes nothing leaves no record, as
// in DynamoDB Streams.
func (s *Store) Renew(ctx context.Context, r registry.Renewal) (time.Duration, error) {
	if err := ended(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.find(r.Key)
	if !old.live() || old.lease.Status == eureka.Unknown || !dirtyAllows(old.lease.Dirty, r) {
		failed := &registry.ConditionFailedError{}
		if r.Exact {
			failed.Stored = s.stored(r.Key)
		}
		return 0, failed
	}
	before := *old
	old.lease.Renewed, old.marked = millis(r.Now), false
	var lasts time.Duration
	if r.Quiet > 0 {
		old.lease.Quiet, lasts = r.Quiet, old.lease.Duration
	}
	old.expires = s.leaseExpires(&old.lease)
	if before.marked || !before.lease.Renewed.Equal(old.lease.Renewed) || before.lease.Quiet != old.lease.Quiet {
		s.emit(&before, old)
	}
	return lasts, nil
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
		lease: eureka.Lease{
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
