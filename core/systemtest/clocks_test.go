package systemtest

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/storage"
)

// clocks are by how much clocks are off, beyond the skews that they always
// have.
type clocks struct {
	// all is for every function at once: the clock of a machine that runs the
	// whole registry. It stays.
	all time.Duration
	// The others are put right some time, at the latest when a world settles.
	writers    [4]time.Duration
	evictors   [2]time.Duration
	containers [4]time.Duration
	stream     time.Duration
}

// wrong says whether a single function's clock is off.
func (c *clocks) wrong() bool {
	right := clocks{all: c.all}
	return *c != right
}

// off returns a function's clock that is off by more than its skew.
func (w *world) off(skew time.Duration, by *time.Duration) func() time.Time {
	clock := w.clock(skew)
	return func() time.Time {
		now := clock().Add(*by)
		if now.After(w.latest) {
			w.latest = now
		}
		return now
	}
}

// farthest is by how much a single function's clock may be off.
const farthest = 3 * time.Minute

// much returns by how much a clock is set.
func (w *world) much() time.Duration { return time.Duration(1+w.pick(180)) * time.Second }

// setBack sets a clock back: all of them, as when a machine's clock is put
// right at its start, a reader's, or that of eviction passes. A writer's alone is
// not among them, whose heartbeats would count for less than they should, nor the
// stream function's, whose rows would lie in windows that readers have read:
// against these, clocks follow the database's ([dynamodb.Clock]).
func (w *world) setBack() {
	if w.now.Sub(w.stream.haunted) < 15*farthest {
		return // the row of a ghost would seem to be younger than the snapshot
	}
	switch w.pick(3) {
	case 0:
		if w.lossy || w.now.Sub(w.expired) < 15*farthest || w.now.Sub(w.stream.haunted) < 15*farthest {
			return // a registration anew would seem to be older than the removal
		}
		w.count("all clocks set back")
		w.clocks.all -= w.much()
		w.stale()
		// A pass follows within a minute. Until it has replaced the snapshot, whose
		// time is of before, a cold container may take it for one of the present.
		defer func(calm bool) { w.calm = calm }(w.calm)
		w.calm = true
		w.rightClocks()
		for _, c := range w.containers {
			c.view() // before anything else happens to its clock
		}
		w.mustPass()
	case 1:
		w.count("clock set back")
		w.setContainer(w.pick(len(w.containers)), -w.much())
	default:
		if w.count("clock set back"); !w.lossy { // the rows that it heals would lie in such windows, too
			w.clocks.evictors[w.pick(len(w.evictors))] = -w.much()
		}
	}
}

// setAhead sets a clock ahead: all of them, as when a machine wakes up, a
// reader's, a writer's or the stream function's.
func (w *world) setAhead() {
	w.count("clock ahead")
	switch w.pick(4) {
	case 0:
		w.wakeUp()
	case 1:
		w.setContainer(w.pick(len(w.containers)), w.much())
	case 2:
		w.clocks.writers[w.pick(len(w.writers))] = w.much()
	default:
		w.clocks.stream = w.much()
	}
}

// wakeUp sets all clocks ahead between two passes that are an interval apart.
// The first pass afterwards takes the jump for its own lateness. By the next one
// all that live have renewed.
func (w *world) wakeUp() {
	defer func(calm bool) { w.calm = calm }(w.calm)
	w.calm = true
	w.rightClocks()
	w.mustPass()
	w.advance(time.Minute + maxSkew)
	w.clocks.all += w.much()
	w.stale()
	w.mustPass()
	for _, i := range w.instances {
		if !w.heartbeat(i) {
			i.renewed = time.Time{} // it is told to register anew
		}
	}
}

// mustPass runs a pass, after waiting for a time that it can claim.
func (w *world) mustPass() {
	for !w.evict() {
		w.advance(10 * time.Second)
	}
}

// setContainer sets a reader's clock.
func (w *world) setContainer(i int, by time.Duration) {
	if w.clocks.containers[i] != 0 {
		return
	}
	w.clocks.containers[i] = by
	w.containers[i].client.loaded = true // a client that asks by such a clock may miss a window
}

// stale has clients load anew, since the windows of the deltas have moved.
func (w *world) stale() {
	for _, c := range w.containers {
		c.client.loaded = true
	}
}

// rightClocks puts single functions' clocks right: those that were ahead are set
// back thereby. A reader whose clock was off is asked before anything else
// happens to its clock: the sum of two jumps may look like none.
func (w *world) rightClocks() {
	if !w.clocks.wrong() {
		return
	}
	w.count("clocks put right")
	off := w.clocks.containers
	w.clocks = clocks{all: w.clocks.all}
	w.stale()
	defer func(calm bool) { w.calm = calm }(w.calm)
	w.calm = true
	for i, by := range off {
		if by != 0 {
			w.containers[i].view()
		}
	}
}

// shelf loses snapshots.
type shelf struct {
	storage.DeltaTable
	lost bool
}

func (s *shelf) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	if s.lost {
		return nil, eureka.ErrNoSnapshot
	}
	return s.DeltaTable.Snapshot(ctx)
}

func (s *shelf) PutSnapshot(ctx context.Context, snapshot *delta.Snapshot) error {
	s.lost = false
	return s.DeltaTable.PutSnapshot(ctx, snapshot)
}

// unpublishing fails an eviction function's publications while the world says
// so.
type unpublishing struct {
	storage.DeltaTable
	w *world
}

func (u unpublishing) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	if u.w.failing {
		return nil, fmt.Errorf("snapshot: %w", eureka.ErrThrottled)
	}
	return u.DeltaTable.Snapshot(ctx)
}

// mustPublish runs a pass that publishes a snapshot.
func (w *world) mustPublish() {
	for !w.pass(w.publisher) {
		w.advance(10 * time.Second)
	}
}

// loseSnapshot takes the snapshot away, after a pass: without it a pass cannot
// tell that a lease has left the table, if the record of that was lost too.
func (w *world) loseSnapshot() {
	defer func(calm bool) { w.calm = calm }(w.calm)
	w.calm = true
	w.rightClocks()
	w.mustPass()
	w.count("snapshot lost")
	w.shelf.lost = true
}

// ages are how old the snapshot is that a container starts from.
var ages = []time.Duration{0, 20 * time.Second, 10 * time.Minute, 50 * time.Minute, time.Hour}

// agedStart publishes a snapshot, lets it grow old while passes fail, and starts
// a container.
func (w *world) agedStart() {
	defer func(calm bool) { w.calm = calm }(w.calm)
	w.calm = true
	w.rightClocks()
	w.mustPublish()
	age := ages[w.pick(len(ages))]
	w.failing = age > 0
	for end := w.now.Add(age); w.now.Before(end); {
		w.advance(min(end.Sub(w.now), time.Duration(20+w.pick(40))*time.Second))
		w.renewAll()
		w.stream.deliver()
		w.change()
		if w.chance(2) {
			w.evict()
		}
		w.container().ask()
	}
	w.failing = false
	w.count(fmt.Sprintf("start from a snapshot of %s", age))
	cold := w.container()
	cold.start()
	cold.ask()
}

// change makes a change.
func (w *world) change() {
	changes := []func(*world){(*world).register, (*world).cancel, (*world).override, (*world).removeOverride, (*world).metadata}
	changes[w.pick(len(changes))](w)
}

// requireAgreement holds containers whose views are of the same boundary to the
// same delta.
func (w *world) requireAgreement() {
	shown := map[time.Time]map[eureka.Key]*eureka.InstanceInfo{}
	for _, c := range w.containers {
		v := c.view()
		changed := map[eureka.Key]*eureka.InstanceInfo{}
		for _, i := range instances(decode(w.t, v.Delta(wire.Encoding{})).Applications) {
			changed[i.Key()] = i
		}
		if other, ok := shown[v.Boundary()]; ok {
			require.Equal(w.t, other, changed, "the deltas of two containers at %s", v.Boundary())
		}
		shown[v.Boundary()] = changed
	}
}
