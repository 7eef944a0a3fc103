package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Store is the lease table, as the registry needs it. Every method is one
// conditional operation on one key and linearizable per key. A success is
// durable. Drivers retry what their engine calls temporary, within the
// context's deadline, and then return [eureka.ErrThrottled] or
// [eureka.ErrUnavailable]; after the latter a write may or may not have been
// applied. So may it have been applied before a retry inside the driver saw
// the condition fail: the caller looks at the state that the
// [ConditionFailedError] carries.
//
// No method but Register makes an item where there is none.
type Store interface {
	// Get reads a lease or tombstone, strongly consistent. Without an item it
	// returns eureka.ErrLeaseNotFound.
	Get(ctx context.Context, key eureka.Key) (*eureka.Lease, error)
	// Register writes a whole lease. Condition: the item has no live lease or
	// one whose Dirty is not newer, and holds the override r.Stored names.
	Register(ctx context.Context, r Registration) error
	// Renew sets Renewed, and Quiet unless r.Quiet is 0. Condition: a live
	// lease whose status is not UNKNOWN and whose Dirty is not older than
	// r.Dirty (with r.Exact: is equal). With r.Quiet it returns the lease's
	// duration, or 0 when the engine does not tell.
	Renew(ctx context.Context, r Renewal) (time.Duration, error)
	// Update changes fields of a live lease. Condition: its version is
	// u.IfVersion. Renewals do not change the version, so they neither fail
	// it nor are lost by it.
	Update(ctx context.Context, u Update) error
	// Cancel makes a tombstone without override. Condition: a live lease.
	Cancel(ctx context.Context, key eureka.Key, now time.Time) error
}

// Counter counts leases, for a limit of them.
type Counter interface {
	// Count returns how many live leases an application has, or limit when it
	// has that many or more. What was written a moment ago may be missing.
	Count(ctx context.Context, app string, limit int) (int, error)
}

// Registration is a lease to be written.
type Registration struct {
	// Lease is the new state. The store assigns Version (greater than the
	// item's, and at least Updated in epoch milliseconds for a new item), and
	// keeps ServiceUp of a live lease that has one. A Quiet of 0 leaves the
	// item's, a tombstone's too: another process may still rely on it.
	Lease eureka.Lease
	// Stored is the override that the item, lease or tombstone, must hold;
	// empty: none.
	Stored eureka.Status
}

// Renewal is a heartbeat.
type Renewal struct {
	Key eureka.Key
	// Now becomes Renewed.
	Now time.Time
	// Dirty is the client's last dirty timestamp; zero: not given, any passes.
	Dirty time.Time
	// Exact asks for Dirty to be equal to the stored one (peers do), and for
	// the state in the ConditionFailedError; without it the error may carry
	// none, which saves a read.
	Exact bool
	// Quiet becomes the lease's, in whole seconds; 0 leaves the stored one
	// alone.
	Quiet time.Duration
}

// Update is a change of a live lease that depends on what was read.
type Update struct {
	Key       eureka.Key
	IfVersion int64
	// Instance replaces what was registered; nil leaves it.
	Instance *eureka.InstanceInfo
	// The other fields are always written; the store adds one to the version.
	Status     eureka.Status
	Overridden eureka.Status
	Action     eureka.ActionType
	Dirty      time.Time
	Updated    time.Time
	ServiceUp  time.Time
}

// ConditionFailedError says that a conditional write was not applied by the
// try that got this answer. It is not a failure of the store.
type ConditionFailedError struct {
	// Stored is the item as it was found, a tombstone included; nil when
	// there is none (or it was not asked for, see [Renewal]).
	Stored *eureka.Lease
}

// Error describes what was found.
func (e *ConditionFailedError) Error() string {
	switch {
	case e.Stored == nil:
		return "condition failed: no item"
	case e.Stored.Tombstone():
		return fmt.Sprintf("condition failed: tombstone of version %d", e.Stored.Version)
	}
	return fmt.Sprintf("condition failed: lease of version %d", e.Stored.Version)
}
