// Package faulty wraps a driver for tests, so that chosen calls fail as calls
// to a database over a network do.
package faulty

import (
	"context"
	"fmt"
	"sync"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage"
)

// Kind is a way in which a call goes wrong.
type Kind int

// The ways.
const (
	// None: nothing goes wrong.
	None Kind = iota
	// NotApplied: the call does not reach the store; eureka.ErrUnavailable.
	NotApplied
	// Lost: the call is applied and its answer is lost; eureka.ErrUnavailable.
	Lost
	// Throttled: the store refuses the call; eureka.ErrThrottled.
	Throttled
	// Repeated: the call is applied, its answer is lost, and the driver tries
	// once more: the caller gets the second answer, such as a failed
	// condition.
	Repeated
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case None:
		return "none"
	case NotApplied:
		return "not applied"
	case Lost:
		return "answer lost"
	case Throttled:
		return "throttled"
	case Repeated:
		return "repeated"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Fault is what happens to one call.
type Fault struct {
	Kind Kind
	// Before and After, when not nil, are called before the call is applied
	// and before it returns. They may block: that is how a call is delayed,
	// and how a rival comes between.
	Before, After func(ctx context.Context)
}

// Choose returns what happens to a call. The key is zero for operations that
// have none; for a Put it is asked for each row. It is called concurrently
// when the store is.
type Choose func(op storage.Operation, key eureka.Key) Fault

// On returns a Choose by which the first calls of an operation meet the faults
// in order, and all other calls none.
func On(op storage.Operation, faults ...Fault) Choose {
	var mu sync.Mutex
	next := 0
	return func(called storage.Operation, _ eureka.Key) Fault {
		mu.Lock()
		defer mu.Unlock()
		if called != op || next == len(faults) {
			return Fault{}
		}
		next++
		return faults[next-1]
	}
}

// Every returns a Choose by which all calls meet a fault of this kind.
func Every(kind Kind) Choose {
	return func(storage.Operation, eureka.Key) Fault { return Fault{Kind: kind} }
}

// call makes one call under the fault that is chosen for it.
func (choose Choose) call(ctx context.Context, op storage.Operation, key eureka.Key, apply func() error) error {
	fault := choose(op, key)
	if fault.Before != nil {
		fault.Before(ctx)
	}
	err := fault.Kind.call(op, apply)
	if fault.After != nil {
		fault.After(ctx)
	}
	return err
}

func (k Kind) call(op storage.Operation, apply func() error) error {
	switch k {
	case Lost:
		_ = apply() // nobody hears the answer
	case Repeated:
		_ = apply()
		return apply()
	case None:
		return apply()
	}
	return k.failure(op)
}

// failure returns the error of the kinds that have one of their own.
func (k Kind) failure(op storage.Operation) error {
	if k == Throttled {
		return fmt.Errorf("%s: %w", op, eureka.ErrThrottled)
	}
	return fmt.Errorf("%s: %w: %s", op, eureka.ErrUnavailable, k)
}

// value makes a call that returns something; after a failure that is nothing.
func value[V any](ctx context.Context, choose Choose, op storage.Operation, key eureka.Key, apply func() (V, error)) (V, error) {
	var got V
	err := choose.call(ctx, op, key, func() (err error) {
		got, err = apply()
		return err
	})
	if err != nil {
		var none V
		return none, err
	}
	return got, nil
}
