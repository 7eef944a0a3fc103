package registry

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// SetStatus sets the status override, and with it the status at once,
// whatever the instance says of itself. An instance that has this status
// already is left alone and gets no override, as on the stock server
// (TestSetStatus). A dirty timestamp that is newer than the stored one is
// taken over.
func (r *Registry) SetStatus(ctx context.Context, key eureka.Key, status eureka.Status, dirty time.Time) error {
	return r.update(ctx, "set status of", key, func(l *eureka.Lease) (Update, bool, error) {
		if l.Status == status {
			return Update{}, false, nil
		}
		u := r.statusUpdate(l, status, dirty)
		if eureka.HasOverride(status) {
			u.Overridden = status
		}
		return u, true, nil
	})
}

// RemoveOverride ends the status override and leaves the status that the
// request names. UNKNOWN makes the instance's next heartbeat a 404, so that it
// registers anew with its own word. Without an override nothing changes, but a
// status that was set to UNKNOWN counts as one.
func (r *Registry) RemoveOverride(ctx context.Context, key eureka.Key, status eureka.Status, dirty time.Time) error {
	return r.update(ctx, "remove override of", key, func(l *eureka.Lease) (Update, bool, error) {
		if !eureka.HasOverride(l.Overridden) && (!setToUnknown(l) || status == eureka.Unknown) {
			return Update{}, false, nil
		}
		return r.statusUpdate(l, status, dirty), true, nil
	})
}

// setToUnknown reports whether the status is UNKNOWN though the instance said
// another one: somebody set it, or removed an override without naming a status.
func setToUnknown(l *eureka.Lease) bool {
	return l.Status == eureka.Unknown && l.Instance.Status != eureka.Unknown
}

// statusUpdate returns the change to a status without override.
func (r *Registry) statusUpdate(l *eureka.Lease, status eureka.Status, dirty time.Time) Update {
	now := r.clock()
	u := Update{
		Key: l.Key, IfVersion: l.Version,
		Status: status, Action: eureka.Modified,
		Dirty: l.Dirty, Updated: now, ServiceUp: l.ServiceUp,
	}
	if dirty.After(u.Dirty) {
		u.Dirty = dirty
	}
	if status == eureka.Up && u.ServiceUp.IsZero() {
		u.ServiceUp = now
	}
	return u
}

// AddMetadata adds entries to an instance's metadata and replaces those of
// the same key. Parallel changes all survive.
func (r *Registry) AddMetadata(ctx context.Context, key eureka.Key, entries map[string]string) error {
	return r.update(ctx, "change metadata of", key, func(l *eureka.Lease) (Update, bool, error) {
		changed := *l.Instance
		changed.Metadata = make(map[string]string, len(l.Instance.Metadata)+len(entries))
		maps.Copy(changed.Metadata, l.Instance.Metadata)
		maps.Copy(changed.Metadata, entries)
		if maps.Equal(changed.Metadata, l.Instance.Metadata) {
			return Update{}, false, nil
		}
		if r.maxMetadata > 0 && len(changed.Metadata) > r.maxMetadata {
			return Update{}, false, eureka.TooLargef("metadata", "more than %d entries", r.maxMetadata)
		}
		if err := r.checkSize(&changed); err != nil {
			return Update{}, false, err
		}
		return Update{
			Key: l.Key, IfVersion: l.Version, Instance: &changed,
			Status: l.Status, Overridden: l.Overridden, Action: eureka.Added,
			Dirty: l.Dirty, Updated: r.clock(), ServiceUp: l.ServiceUp,
		}, true, nil
	})
}

// update reads a lease and writes what change makes of it, again when a rival
// was faster. change reports false when nothing is to be done.
func (r *Registry) update(ctx context.Context, what string, key eureka.Key, change func(*eureka.Lease) (Update, bool, error)) error {
	if err := r.tryUpdate(ctx, key, change); err != nil {
		return fmt.Errorf("%s %s: %w", what, key, err)
	}
	return nil
}

func (r *Registry) tryUpdate(ctx context.Context, key eureka.Key, change func(*eureka.Lease) (Update, bool, error)) error {
	l, err := r.get(ctx, key)
	if err != nil {
		return err
	}
	for range maxTries {
		u, needed, err := change(l)
		if err != nil || !needed {
			return err
		}
		found, err := failedCondition(r.store.Update(ctx, u))
		if err != nil || found == nil || applied(u, found.Stored) {
			return err
		}
		if found.Stored == nil || found.Stored.Tombstone() {
			return eureka.ErrLeaseNotFound
		}
		l = found.Stored
	}
	return eureka.ErrConflict
}

// applied reports whether the stored lease is what the update wrote, by a try
// whose answer was lost.
func applied(u Update, stored *eureka.Lease) bool {
	return stored != nil && !stored.Tombstone() &&
		stored.Version == u.IfVersion+1 &&
		stored.Updated.Equal(u.Updated) && stored.Dirty.Equal(u.Dirty) &&
		stored.Status == u.Status && stored.Overridden == u.Overridden &&
		(u.Instance == nil || maps.Equal(u.Instance.Metadata, stored.Instance.Metadata))
}
