package delta

import (
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Snapshot is the registry as one scan found it.
type Snapshot struct {
	// Began is when the scan began. Every write that was acknowledged before
	// is in it; rows written since a minute before it complete it, as long as
	// it is not older than [SnapshotMaxAge].
	Began   time.Time
	Entries []Entry
}

// SnapshotMaxAge is the age from which on a snapshot is not used to start from.
// A new one is published every ten minutes or sooner, see package eviction, so
// one that is older means that passes fail. Rows live for longer than that, see
// [RowLifetime].
const SnapshotMaxAge = 45 * time.Minute

// Entry is one item of a snapshot. Absence has a version too.
type Entry struct {
	Key     eureka.Key
	Version int64
	// Instance is the effective instance; nil for a tombstone.
	Instance *eureka.InstanceInfo
}
