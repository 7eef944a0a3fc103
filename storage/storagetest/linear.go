package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage"
)

// linearizable lets several clients loose on one key and then looks for an
// order of all their operations in which each answer is right.
func linearizable(t *testing.T, f *fixture) {
	const rounds, clients, each = 3, 5, 12
	for round := range rounds {
		h := &history{fixture: f, key: f.key(fmt.Sprint("round ", round))}
		errs := atOnce(clients, func(i int) error { return h.client(t.Context(), i, each) })
		require.NoError(t, errors.Join(errs...))
		require.Len(t, h.operations, clients*each)
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(linearModel(), h.operations, 10*time.Second), "%+v", h.operations)
	}
}

// input is one operation as it was asked for. Times are milliseconds after the
// fixture's.
type input struct {
	op storage.Operation
	// version is an update's condition, renewed an eviction's.
	version int64
	renewed int
	// dirty is a registration's or a renewal's.
	dirty int
	// at is when; no two operations have the same.
	at int
}

// presence says what there is of an item.
type presence int

const (
	absent presence = iota
	live
	buried
)

// output is its answer: whether it was applied, or for a Get what was found.
type output struct {
	applied bool
	found   presence
	version int64
	renewed int
	dirty   int
}

// history records what clients of one key do.
type history struct {
	*fixture
	key eureka.Key
	// clock counts calls and returns, each of which has a moment of its own.
	clock atomic.Int64

	// mu guards operations.
	mu         sync.Mutex
	operations []porcupine.Operation
}

// client makes random operations, with conditions from what it read last.
func (h *history) client(ctx context.Context, id, operations int) error {
	kinds := []storage.Operation{
		storage.Get, storage.Get, storage.Get, storage.Register, storage.Register, storage.Renew, storage.Renew,
		storage.Update, storage.Update, storage.Cancel, storage.Evict,
	}
	var read output
	for range operations {
		called := h.clock.Add(1)
		in := input{
			op: kinds[rand.IntN(len(kinds))], version: read.version, renewed: read.renewed, dirty: 1 + rand.IntN(3), at: int(called),
		}
		out, err := h.call(ctx, in)
		if err != nil {
			return err
		}
		if in.op == storage.Get {
			read = out
		}
		returned := h.clock.Add(1)
		h.mu.Lock()
		h.operations = append(h.operations, porcupine.Operation{ClientId: id, Input: in, Call: called, Output: out, Return: returned})
		h.mu.Unlock()
	}
	return nil
}

// call makes one operation.
func (h *history) call(ctx context.Context, in input) (output, error) {
	var err error
	switch in.op {
	case storage.Get:
		return h.read(ctx)
	case storage.Register:
		l := h.lease(h.key)
		l.Dirty, l.Renewed = h.after(in.dirty), h.after(in.at)
		err = h.Registry.Register(ctx, registry.Registration{Lease: l})
	case storage.Renew:
		err = errorOf(h.Registry.Renew(ctx, registry.Renewal{Key: h.key, Now: h.after(in.at), Dirty: h.after(in.dirty)}))
	case storage.Update:
		err = h.Registry.Update(ctx, registry.Update{
			Key: h.key, IfVersion: in.version, Status: eureka.Up, Action: eureka.Modified, Dirty: h.after(in.dirty), Updated: h.after(in.at),
		})
	case storage.Cancel:
		err = h.Registry.Cancel(ctx, h.key, h.after(in.at))
	case storage.Evict:
		err = h.Eviction.Evict(ctx, h.key, h.after(in.renewed), h.after(in.at))
	}
	if conditionFailed(err) {
		return output{}, nil
	}
	return output{applied: err == nil}, err
}

func (h *history) read(ctx context.Context) (output, error) {
	l, err := h.Registry.Get(ctx, h.key)
	switch {
	case errors.Is(err, eureka.ErrLeaseNotFound):
		return output{}, nil
	case err != nil:
		return output{}, err
	case l.Tombstone():
		return output{found: buried, version: l.Version}, nil
	}
	millis := func(at time.Time) int { return int(at.Sub(h.now) / time.Millisecond) }
	return output{found: live, version: l.Version, renewed: millis(l.Renewed), dirty: millis(l.Dirty)}, nil
}

// state is an item as the model knows it.
type state struct {
	presence presence
	// version is the item's, or the least that it may be until a read or an
	// update tells it exactly.
	version int64
	exact   bool
	renewed int
	dirty   int
}

// mayBe reports whether the item may have a version.
func (s state) mayBe(version int64) bool {
	return version == s.version || !s.exact && version > s.version
}

// linearModel is the contract of the operations on one key.
func linearModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(before, asked, answered any) (bool, any) {
			ok, after := before.(state).step(asked.(input), answered.(output))
			return ok, after
		},
	}
}

// step says whether the answer is right in this state, and what follows.
func (s state) step(in input, out output) (bool, state) {
	if in.op == storage.Get {
		return s.read(out)
	}
	if in.op == storage.Update && s.presence == live && !s.exact && !out.applied {
		return true, s // it may have had another version
	}
	if s.allows(in) != out.applied {
		return false, s
	}
	if out.applied {
		s = s.after(in)
	}
	return true, s
}

func (s state) read(out output) (bool, state) {
	if out.found != s.presence || out.found != absent && !s.mayBe(out.version) {
		return false, s
	}
	if out.found == live && (out.renewed != s.renewed || out.dirty != s.dirty) {
		return false, s
	}
	if out.found != absent {
		s.version, s.exact = out.version, true
	}
	return true, s
}

// allows is the condition of a write.
func (s state) allows(in input) bool {
	switch in.op {
	case storage.Register:
		return s.presence != live || s.dirty <= in.dirty
	case storage.Renew:
		return s.presence == live && s.dirty >= in.dirty
	case storage.Update:
		return s.presence == live && s.mayBe(in.version)
	case storage.Evict:
		return s.presence == live && s.renewed == in.renewed
	}
	return s.presence == live
}

// after is the effect of a write.
func (s state) after(in input) state {
	switch in.op {
	case storage.Register:
		return state{presence: live, version: s.version + 1, renewed: in.at, dirty: in.dirty}
	case storage.Renew:
		s.renewed = in.at
		return s
	case storage.Update:
		s.version, s.exact, s.dirty = in.version+1, true, in.dirty
		return s
	}
	return state{presence: buried, version: s.version + 1}
}
