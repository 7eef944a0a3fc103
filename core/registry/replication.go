package registry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// Actions that peers replicate, as the protocol spells them.
const (
	ActionRegister             = "Register"
	ActionHeartbeat            = "Heartbeat"
	ActionCancel               = "Cancel"
	ActionStatusUpdate         = "StatusUpdate"
	ActionDeleteStatusOverride = "DeleteStatusOverride"
)

// maxNewer is how many bytes of newer instances the outcomes of one batch hold.
// Heartbeats beyond are an eureka.ErrConflict: a peer that is behind in so much
// catches up with its next ones.
const maxNewer = 1 << 20

// replicationWorkers is how many instances of a batch are worked at once.
const replicationWorkers = 16

// Replicated is one operation that a peer passes on.
type Replicated struct {
	Key    eureka.Key
	Action string
	Status eureka.Status
	Dirty  time.Time
	// Instance is the registration of a Register.
	Instance *eureka.InstanceInfo
}

// Outcome is what became of a [Replicated].
type Outcome struct {
	// Newer is the stored instance, when a heartbeat came from a peer with an
	// older one; not shown for more than [maxNewer] bytes of a batch.
	Newer *eureka.InstanceInfo
	Err   error
}

// Replicate does a batch. Operations on one instance keep their order,
// different instances run side by side. The outcomes are in the batch's order.
func (r *Registry) Replicate(ctx context.Context, batch []Replicated) []Outcome {
	outcomes := make([]Outcome, len(batch))
	byKey := map[eureka.Key][]int{}
	var keys []eureka.Key
	for i, op := range batch {
		if byKey[op.Key] == nil {
			keys = append(keys, op.Key)
		}
		byKey[op.Key] = append(byKey[op.Key], i)
	}
	queue := make(chan eureka.Key, len(keys))
	for _, k := range keys {
		queue <- k
	}
	close(queue)
	var room newerRoom
	var workers sync.WaitGroup
	for range min(replicationWorkers, len(keys)) {
		workers.Go(func() {
			for key := range queue {
				r.replicateInOrder(ctx, batch, byKey[key], outcomes, &room)
			}
		})
	}
	workers.Wait()
	return outcomes
}

// replicateInOrder does the operations of one instance. A peer that is behind
// is shown the instance as it is after all of them, as the stock server does
// (TestReplicateShowsTheLastState).
func (r *Registry) replicateInOrder(ctx context.Context, batch []Replicated, indexes []int, outcomes []Outcome, room *newerRoom) {
	var behind []int
	for n, i := range indexes {
		outcomes[i].Newer, outcomes[i].Err = r.replicate(ctx, batch[i])
		if newer := outcomes[i].Newer; newer != nil && !room.take(newer) {
			outcomes[i] = Outcome{Err: eureka.ErrConflict}
		}
		if outcomes[i].Newer != nil && n < len(indexes)-1 {
			behind = append(behind, i)
		}
	}
	if len(behind) == 0 {
		return
	}
	last, err := r.Instance(ctx, batch[behind[0]].Key)
	if err != nil {
		return // cancelled meanwhile or not readable: what was found then stands
	}
	for _, i := range behind {
		if room.take(last) {
			outcomes[i].Newer = last
		}
	}
}

// newerRoom is the room that is left for newer instances in a batch's outcomes.
type newerRoom struct{ taken atomic.Int64 }

// take reports whether there is room for an instance, and takes it.
func (n *newerRoom) take(i *eureka.InstanceInfo) bool {
	return n.taken.Add(int64(wire.Size(i))) <= maxNewer
}

// replicate does one operation.
func (r *Registry) replicate(ctx context.Context, op Replicated) (*eureka.InstanceInfo, error) {
	switch op.Action {
	case ActionRegister:
		if op.Instance == nil {
			return nil, eureka.Invalidf("instanceInfo", "missing in a %s", op.Action)
		}
		return nil, r.Register(ctx, op.Instance)
	case ActionHeartbeat:
		return r.RenewReplicated(ctx, op.Key, op.Dirty)
	case ActionCancel:
		return nil, r.Cancel(ctx, op.Key)
	case ActionStatusUpdate:
		if op.Status == "" {
			return nil, eureka.Invalidf("status", "missing in a %s", op.Action)
		}
		return nil, r.SetStatus(ctx, op.Key, op.Status, op.Dirty)
	case ActionDeleteStatusOverride:
		status := op.Status
		if status == "" {
			status = eureka.Unknown
		}
		return nil, r.RemoveOverride(ctx, op.Key, status, op.Dirty)
	}
	return nil, eureka.Invalidf("action", "%q is none of the protocol's", op.Action)
}
