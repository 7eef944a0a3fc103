package dynamodb

import (
	"cmp"
	"context"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// DefaultTolerance is by how much a clock may differ from the database's before
// it is corrected: half of what readers and passes allow between any two clocks.
const DefaultTolerance = 5 * time.Second

// A response that took longer than slowResponse tells too little about the time,
// and two measurements count as one when they differ by less than agreement: the
// database tells its time in whole seconds.
const (
	slowResponse = 2 * time.Second
	agreement    = 3 * time.Second
)

// Clock is a process's clock, compared with the database's by the Date header of
// each response. When the two differ by more than the tolerance, Now follows the
// database's, so that all processes on the same tables agree, whatever their own
// clocks say. It is safe for concurrent use.
type Clock struct {
	cfg ClockConfig

	mu sync.Mutex
	// last is the last measurement, and offset the correction in force.
	last, offset time.Duration
}

// ClockConfig is what a [Clock] works with. Zero values mean the defaults.
type ClockConfig struct {
	// Now is the process's own clock; default time.Now.
	Now func() time.Time
	// Tolerance is by how much the clocks may differ; default
	// [DefaultTolerance].
	Tolerance time.Duration
	// Differs is called with each measurement that confirms a difference beyond
	// the tolerance, and Changed when such a difference begins, changes or, with
	// 0, ends. Positive: the database is ahead. Default: nothing.
	Differs func(offset time.Duration)
	Changed func(ctx context.Context, offset time.Duration)
}

// NewClock returns a clock that has measured nothing yet.
func NewClock(cfg ClockConfig) *Clock {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Tolerance = cmp.Or(cfg.Tolerance, DefaultTolerance)
	if cfg.Differs == nil {
		cfg.Differs = func(time.Duration) {}
	}
	if cfg.Changed == nil {
		cfg.Changed = func(context.Context, time.Duration) {}
	}
	return &Clock{cfg: cfg}
}

// Now returns the process's time, or the database's when they differ.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg.Now().Add(c.offset)
}

// Observe is an option of the database's client: its calls are measurements.
func (c *Clock) Observe(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("CompareClock", c.compare), middleware.Before)
	})
}

// compare measures a call by when it began and ended on the process's clock.
func (c *Clock) compare(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	began := c.cfg.Now()
	out, metadata, err := next.HandleInitialize(ctx, in)
	if told, ok := awsmiddleware.GetServerTime(metadata); ok {
		c.measure(ctx, began, c.cfg.Now(), told)
	}
	return out, metadata, err
}

// measure takes what the database said its time was between two moments.
func (c *Clock) measure(ctx context.Context, began, ended, told time.Time) {
	took := ended.Sub(began)
	if took < 0 || took > slowResponse {
		return // tried several times, or a container that was frozen meanwhile
	}
	// Whole seconds are half a second behind on average.
	measured := told.Add(time.Second / 2).Sub(ended.Round(0).Add(-took / 2))
	changed, differs := c.take(measured)
	if differs != 0 {
		c.cfg.Differs(differs)
	}
	if changed {
		c.cfg.Changed(ctx, differs)
	}
}

// take takes a measurement, which counts when it confirms the one before. It
// returns whether the correction changed, and the correction if this measurement
// confirms one.
func (c *Clock) take(measured time.Duration) (changed bool, offset time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	confirmed := (measured - c.last).Abs() < agreement
	c.last = measured
	if !confirmed {
		return false, 0
	}
	if measured.Abs() <= c.cfg.Tolerance {
		measured = 0
	}
	if (measured-c.offset).Abs() < agreement && (measured == 0) == (c.offset == 0) {
		return false, c.offset
	}
	c.offset = measured
	return true, measured
}
