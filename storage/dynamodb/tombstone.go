package dynamodb

import (
	"context"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// tombstoneKept is how long a tombstone stays, so that its version outlives
// the rows and snapshots of the lease that it ended.
const tombstoneKept = time.Hour

// Cancel implements [registry.Store]: a write unit for each KB of the lease.
func (s *Store) Cancel(ctx context.Context, key eureka.Key, now time.Time) error {
	u := tombstone(now, tombstoneKept)
	u.drop(AttrOverridden)
	return s.end(ctx, key, u)
}

// Evict implements [eviction.Store]: a write unit for each KB of the lease.
func (s *Store) Evict(ctx context.Context, key eureka.Key, renewed, now time.Time) error {
	u := tombstone(now, max(tombstoneKept, s.cfg.OverrideKept))
	u.require(u.is(AttrRenewed, "ifRenewed", millis(renewed)))
	return s.end(ctx, key, u)
}

// tombstone makes one of a lease: nothing stays but key, version and override.
func tombstone(now time.Time, kept time.Duration) *update {
	u := newUpdate()
	u.bump(AttrVersion, millis(now))
	u.put(AttrChange, text(changeMarker))
	u.put(AttrGone, millis(now))
	u.put(AttrTTL, number(epochSeconds(now.Add(kept))))
	u.drop(AttrInfo, AttrStatus, AttrAction, AttrDirty, AttrUpdated, AttrRegistered, AttrRenewed, AttrUp, AttrInterval, AttrDuration)
	return u
}

func (s *Store) end(ctx context.Context, key eureka.Key, u *update) error {
	if checkKey(key) != nil {
		return &registry.ConditionFailedError{}
	}
	u.require(u.exists(AttrInfo))
	return s.update(ctx, key, u)
}
