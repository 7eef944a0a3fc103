package eviction

import (
	"context"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/lease"
	"github.com/eurekaless/registry/core/published"
)

// Store is the lease table, as an eviction pass needs it.
type Store interface {
	// Scan reads the whole lease table, tombstones included, consistently.
	Scan(ctx context.Context) ([]lease.Lease, error)
	// Get reads a lease or tombstone, strongly consistent; without an item it
	// returns eureka.ErrLeaseNotFound. Healing asks for what a scan did not
	// find: a scan also leaves out what it cannot understand.
	Get(ctx context.Context, key eureka.Key) (*lease.Lease, error)
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
	Snapshot(ctx context.Context) (*published.Snapshot, error)
	PutSnapshot(ctx context.Context, s *published.Snapshot) error
	// Statistics returns the zero value when there are none yet.
	Statistics(ctx context.Context) (published.Statistics, error)
	PutStatistics(ctx context.Context, s published.Statistics) error
	// Claim stores a claim unless the stored one conflicts with it, see
	// [published.Claim.Conflicts]; then it fails with eureka.ErrPassClaimed.
	// It is one conditional write and changes nothing that Statistics returns.
	Claim(ctx context.Context, c published.Claim) error
	// Recent returns the zero value when there is none yet.
	Recent(ctx context.Context) (published.Recent, error)
	PutRecent(ctx context.Context, r published.Recent) error
}
