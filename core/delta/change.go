// Package delta turns changes of the lease table into the rows that readers
// apply, and says where rows go.
package delta

import (
	"context"
	"errors"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Row is one change of one instance as readers apply it. A reader applies a
// row only when its Version is greater than the one that it holds for the key,
// tombstones included: arrival order, repetition and clocks do not matter.
type Row struct {
	Key     eureka.Key
	Version int64
	// Instance is the whole instance, also when it is DELETED (then as it
	// last was); its Action says what happened. Shared, never changed.
	Instance *eureka.InstanceInfo
	// Sequence is the stream record's sequence number, digits of up to 40
	// places; it only makes a row's key unique, so repeats overwrite.
	Sequence string
	// Written is when the row was written, on the writer's clock. Readers cut
	// by it. The writer of the row sets it, the time of the change does not
	// count: a late record must still fall into every reader's window.
	Written time.Time
}

// Deleted reports whether the row takes the instance away.
func (r *Row) Deleted() bool { return r.Instance.Action == eureka.Deleted }

// The least time for which rows live, and how much longer than the longest
// window of a reader. A cold container reads rows from before its snapshot
// began, and healing does when passes have failed for an hour.
const (
	minRowLifetime  = 75 * time.Minute
	beyondRetention = 15 * time.Minute
)

// ErrWindowTooLong says that rows were asked for that may have left the table
// already. The answer would lack them.
var ErrWindowTooLong = errors.New("window is longer than rows live")

// RowLifetime returns for how long stores keep rows, and the chunks of a snapshot,
// when the readers' window is retention. To ask for a longer window than that
// is an [ErrWindowTooLong].
func RowLifetime(retention time.Duration) time.Duration {
	return max(minRowLifetime, retention+beyondRetention)
}

// Sink takes rows. Put is idempotent for rows of equal Written, Sequence and
// Key.
type Sink interface {
	// Put writes rows. When some were not written it returns an
	// [UnwrittenError]; the others are durable.
	Put(ctx context.Context, rows []Row) error
}

// UnwrittenError says which rows could not be written.
type UnwrittenError struct {
	// Indexes are positions in the slice that was given to Put, ascending.
	Indexes []int
	Err     error
}

// Error returns the cause.
func (e *UnwrittenError) Error() string { return "rows not written: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *UnwrittenError) Unwrap() error { return e.Err }
