package eviction

import (
	"context"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// Store is the lease table, as an eviction pass needs it.
type Store interface {
	// Scan reads the whole lease table, tombstones included, consistently.
	Scan(ctx context.Context) ([]eureka.Lease, error)
	// Get reads a lease or tombstone, strongly consistent; without an item it
	// returns eureka.ErrLeaseNotFound. Healing asks for what a scan did not
	// find: a scan also leaves out what it cannot understand.
	Get(ctx context.Context, key eureka.Key) (*eureka.Lease, error)
	// Evict makes a tombstone that keeps the override. Condition: a live
	// lease whose Renewed is still renewed. A failed condition is a
	// *registry.ConditionFailedError.
	Evict(ctx context.Context, key eureka.Key, renewed, now time.Time) error
}

// Deltas is the delta table, as healing needs it.
type Deltas interface {
	delta.Sink
	// Deltas returns the rows with since < Written <= until, in no order. A
	// window longer than rows live is a delta.ErrWindowTooLong.
	Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error)
}

// Publications is where a pass leaves what it publishes and finds what the
// pass before it published. The snapshot appears at once or not at all: its
// chunks are written first, the pointer to them last.
type Publications interface {
	// Snapshot returns the published snapshot, or eureka.ErrNoSnapshot.
	Snapshot(ctx context.Context) (*delta.Snapshot, error)
	PutSnapshot(ctx context.Context, s *delta.Snapshot) error
	// Statistics returns the zero value when there are none yet.
	Statistics(ctx context.Context) (delta.Statistics, error)
	PutStatistics(ctx context.Context, s delta.Statistics) error
	// Claim stores a claim unless the stored one conflicts with it, see
	// [delta.Claim.Conflicts]; then it fails with eureka.ErrPassClaimed.
	// It is one conditional write and changes nothing that Statistics returns.
	Claim(ctx context.Context, c delta.Claim) error
	// Recent returns the zero value when there is none yet.
	Recent(ctx context.Context) (delta.Recent, error)
	PutRecent(ctx context.Context, r delta.Recent) error
}
