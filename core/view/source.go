package view

import (
	"context"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// Source is where a view comes from. Methods retry what is temporary within
// the context's deadline and fail with eureka.ErrThrottled or
// eureka.ErrUnavailable; they return all or nothing.
type Source interface {
	// Snapshot returns the published snapshot, or eureka.ErrNoSnapshot. A
	// snapshot of another format or with a chunk missing counts as none.
	Snapshot(ctx context.Context) (*delta.Snapshot, error)
	// Scan reads the whole lease table, tombstones included, consistently.
	// Items that cannot be understood are reported and left out.
	Scan(ctx context.Context) ([]eureka.Lease, error)
	// Deltas returns the rows with since < Written <= until, in no order;
	// both to the millisecond. A window longer than rows live is a
	// delta.ErrWindowTooLong.
	Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error)
}
