package eviction_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
)

// cutFleet is 1,000 instances with heartbeats every 30 to 31 s, taken by
// processes that write a heartbeat when they have written none of that lease
// for the quiet time. A part of the fleet falls silent at once.
type cutFleet struct {
	rng       *rand.Rand
	leases    []eureka.Lease
	next      []time.Time
	wrote     [][]time.Time // by process and lease
	cut       map[int]bool
	cutAt     time.Time
	evicted   map[eureka.Key]bool
	preserved bool
}

const cutFleetSize = 1000

func newCutFleet(cut, processes int, quiet time.Duration, seed uint64) *cutFleet {
	f := &cutFleet{
		rng: random(seed), leases: make([]eureka.Lease, cutFleetSize), next: make([]time.Time, cutFleetSize),
		wrote: make([][]time.Time, processes), cut: map[int]bool{}, cutAt: epoch.Add(5 * time.Minute), evicted: map[eureka.Key]bool{},
	}
	for p := range f.wrote {
		f.wrote[p] = make([]time.Time, cutFleetSize)
	}
	for i := range f.leases {
		at := epoch.Add(-time.Duration(f.rng.Int64N(int64(3 * time.Minute))))
		f.leases[i] = newLease(eureka.NewKey("app", fmt.Sprint(i)), group{})
		f.leases[i].Renewed, f.leases[i].Quiet, f.next[i] = at, quiet, at.Add(f.pause())
	}
	for _, i := range f.rng.Perm(cutFleetSize)[:cut] {
		f.cut[i] = true
	}
	return f
}

func (f *cutFleet) pause() time.Duration {
	return eureka.DefaultRenewalInterval + time.Duration(f.rng.IntN(1000))*time.Millisecond
}

// heartbeats lets time pass.
func (f *cutFleet) heartbeats(until time.Time) {
	for i := range f.leases {
		l := &f.leases[i]
		for ; !f.next[i].After(until); f.next[i] = f.next[i].Add(f.pause()) {
			if f.cut[i] && f.next[i].After(f.cutAt) {
				break
			}
			wrote := &f.wrote[f.rng.IntN(len(f.wrote))][i]
			if f.next[i].Sub(*wrote) >= l.Quiet {
				l.Renewed, *wrote = f.next[i], f.next[i]
			}
		}
	}
}

// pass runs a pass so long after the cut.
func (f *cutFleet) pass(after time.Duration) {
	at := f.cutAt.Add(after)
	f.heartbeats(at)
	live := make([]eureka.Lease, 0, len(f.leases))
	for _, l := range f.leases {
		if !f.evicted[l.Key] {
			live = append(live, l)
		}
	}
	policy := eviction.DefaultPolicy()
	policy.ClockAllowance = 5 * time.Second
	plan := eviction.NewPlan(live, at, policy, 0, f.rng)
	f.preserved = plan.Statistics.SelfPreservation
	for _, c := range plan.Evict {
		f.evicted[c.Key] = true
	}
}

// requireLivingKept holds that nobody who sends heartbeats was evicted.
func (f *cutFleet) requireLivingKept(t *testing.T) {
	for i, l := range f.leases {
		require.False(t, f.evicted[l.Key] && !f.cut[i], "%s sends heartbeats and was evicted", l.Key)
	}
}

// worstCut returns the evictions before self-preservation holds, in the worst
// of some passes' phases.
func worstCut(t *testing.T, cut, processes int, quiet time.Duration) int {
	worst := 0
	for phase := time.Duration(0); phase < time.Minute; phase += 6 * time.Second {
		f := newCutFleet(cut, processes, quiet, uint64(cut)+uint64(phase))
		for after := phase - time.Minute; after < 8*time.Minute && !f.preserved; after += time.Minute {
			f.pass(after)
		}
		f.requireLivingKept(t)
		require.True(t, f.preserved, "%d of %d, quiet for %s", cut, cutFleetSize, quiet)
		worst = max(worst, len(f.evicted))
	}
	return worst
}

// TestSelfPreservationNoticesACutInTime: heartbeats that need no write let a
// broken network be noticed as early as without: before many leases expired.
func TestSelfPreservationNoticesACutInTime(t *testing.T) {
	t.Parallel()
	for _, percent := range []int{16, 17, 18, 20, 25, 35, 50} {
		cut := cutFleetSize * percent / 100
		always := worstCut(t, cut, 1, 0)
		for _, processes := range []int{1, 4} {
			quiet := worstCut(t, cut, processes, 75*time.Second)
			t.Logf("%d%% cut, %d processes: evicted before self-preservation holds: %d at 75s, %d at 0s", percent, processes, quiet, always)
			assert.LessOrEqual(t, quiet, always+always/3+cutFleetSize*2/100)
		}
	}
}

// TestSmallCutIsEvicted: below the threshold the silent ones go, with unwritten
// heartbeats too.
func TestSmallCutIsEvicted(t *testing.T) {
	t.Parallel()
	for _, cut := range []int{10, 50, 90, 140} {
		for _, quiet := range []time.Duration{0, 75 * time.Second} {
			f := newCutFleet(cut, 2, quiet, uint64(cut))
			for after := 20 * time.Second; after < 4*time.Minute; after += time.Minute {
				f.pass(after) // self-preservation may hold for a moment
			}
			f.requireLivingKept(t)
			assert.Len(t, f.evicted, cut, "quiet for %s", quiet)
			assert.False(t, f.preserved)
		}
	}
}
