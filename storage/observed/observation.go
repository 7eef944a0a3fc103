// Package observed wraps a driver so that each operation is reported: how long
// it took, how it went, and what it consumed. It changes no answer.
package observed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage"
)

// Outcome says how an operation went, in one of few words.
type Outcome string

// The outcomes. A failed condition, an item that is not there and one that is
// larger than the table takes are answers to be expected, no failures of the
// store.
const (
	OK              Outcome = "ok"
	ConditionFailed Outcome = "condition_failed"
	NotFound        Outcome = "not_found"
	TooLarge        Outcome = "too_large"
	Throttled       Outcome = "throttled"
	Unavailable     Outcome = "unavailable"
	Error           Outcome = "error"
)

// Failure reports whether the outcome is one that the store is to blame for.
func (o Outcome) Failure() bool {
	switch o {
	case OK, ConditionFailed, NotFound, TooLarge:
		return false
	}
	return true
}

// outcomeOf returns the word for an operation's error.
func outcomeOf(err error) Outcome {
	var failed *registry.ConditionFailedError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &failed), errors.Is(err, eureka.ErrPassClaimed):
		return ConditionFailed
	case errors.Is(err, eureka.ErrLeaseNotFound), errors.Is(err, eureka.ErrNoSnapshot):
		return NotFound
	case errors.Is(err, eureka.ErrTooLarge):
		return TooLarge
	case errors.Is(err, eureka.ErrThrottled):
		return Throttled
	case errors.Is(err, eureka.ErrUnavailable):
		return Unavailable
	}
	return Error
}

// Observation is one operation that has ended.
type Observation struct {
	Operation storage.Operation
	Outcome   Outcome
	Duration  time.Duration
	// Consumed is what the driver said that it consumed; zero when it says
	// nothing.
	Consumed Capacity
}

// Observer takes observations, concurrently.
type Observer interface {
	Observe(ctx context.Context, o Observation)
}

// Capacity is consumed capacity as DynamoDB counts it.
type Capacity struct {
	ReadUnits, WriteUnits float64
}

// meter adds up what one operation consumes.
type meter struct {
	mu    sync.Mutex
	total Capacity
}

type meterKey struct{}

// Consume tells what a request to the database consumed, for the operation
// that the context belongs to. Drivers call it, from any goroutine; outside of
// an observed operation it does nothing.
func Consume(ctx context.Context, c Capacity) {
	m, ok := ctx.Value(meterKey{}).(*meter)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total.ReadUnits += c.ReadUnits
	m.total.WriteUnits += c.WriteUnits
}

func (m *meter) read() Capacity {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

// watch reports operations to an observer.
type watch struct {
	observer Observer
	now      func() time.Time
}

// call makes and reports one call.
func (w watch) call(ctx context.Context, op storage.Operation, call func(ctx context.Context) error) error {
	m := &meter{}
	began := w.now()
	err := call(context.WithValue(ctx, meterKey{}, m))
	w.observer.Observe(ctx, Observation{
		Operation: op,
		Outcome:   outcomeOf(err),
		Duration:  w.now().Sub(began),
		Consumed:  m.read(),
	})
	return err
}

// value makes and reports a call that returns something.
func value[V any](ctx context.Context, w watch, op storage.Operation, call func(ctx context.Context) (V, error)) (V, error) {
	var got V
	err := w.call(ctx, op, func(ctx context.Context) (err error) {
		got, err = call(ctx)
		return err
	})
	return got, err
}
