package systemtest

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// weighted is a step and how often it is made.
type weighted struct {
	weight int
	name   string
	step   func(*world)
}

// steps is all that may happen.
var steps = []weighted{
	{20, "register", (*world).register},
	{20, "renew", (*world).renew},
	{8, "renew most", (*world).renewAll},
	{6, "cancel", (*world).cancel},
	{14, "override", (*world).override},
	{10, "remove override", (*world).removeOverride},
	{12, "metadata", (*world).metadata},
	{14, "pass", func(w *world) { w.evict() }},
	{3, "two passes", (*world).evictTwice},
	{6, "TTL", (*world).expire},
	{2, "drought", (*world).drought},
	{40, "deliver", func(w *world) { w.stream.deliver() }},
	{4, "ghost", func(w *world) { w.stream.haunt() }},
	{28, "ask", func(w *world) { w.container().ask() }},
	{2, "clock set back", (*world).setBack},
	{2, "clock ahead", (*world).setAhead},
	{2, "clocks put right", (*world).rightClocks},
	{1, "snapshot lost", (*world).loseSnapshot},
	{1, "aged snapshot", (*world).agedStart},
	{2, "cold start", func(w *world) { w.container().start() }},
	{30, "seconds pass", func(w *world) { w.advance(time.Duration(w.pick(8_000)) * time.Millisecond) }},
	{2, "minutes pass", func(w *world) { w.advance(time.Duration(w.pick(240)) * time.Second) }},
}

// step makes one step by chance.
func (w *world) step() {
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	n := w.pick(total)
	for _, s := range steps {
		if n -= s.weight; n < 0 {
			w.logf("%s %s", w.now.Format(time.TimeOnly), s.name)
			s.step(w)
			return
		}
	}
}

// settle lets everything that is under way arrive, and nothing else happen,
// and holds all readers to a scan of the lease table. What was lost is healed
// by the first pass that finds it an interval old; the one right away, which may
// fail, must not make that pass believe that all is well.
func (w *world) settle() {
	if w.lossy {
		w.evict()
	}
	w.calm = true
	defer func() { w.calm = false }()
	w.rightClocks()
	w.stream.flush()
	if w.lossy {
		settled := max(3*time.Minute, w.latest.Sub(w.clock(0)())+2*time.Minute)
		for end := w.now.Add(settled); w.now.Before(end); {
			w.advance(time.Minute)
			w.renewAll()
			w.evict()
			w.stream.flush()
			for _, c := range w.containers {
				c.ask() // a container that is left alone for long loads anew
			}
		}
	}
	for w.stream.newest.After(w.clock(0)()) { // rows of a clock that was ahead
		w.advance(time.Minute)
		for _, c := range w.containers {
			c.ask()
		}
	}
	w.advance(75 * time.Second)
	for _, c := range w.containers {
		c.requireScan()
	}
	w.requireAgreement()
}

// envSoak makes the long runs of the tests: here 100,000 steps.
const envSoak = "REGISTRY_TEST_SOAK"

// soakSteps returns how many steps a run has.
func soakSteps(usual int) int {
	if os.Getenv(envSoak) != "" {
		return 100_000
	}
	return usual
}

// TestReadersEqualScan is the promise of the whole: stream records repeated,
// in parts failed and out of order, and clocks that differ by seconds, leave
// every reader with exactly what a scan gives, field for field.
func TestReadersEqualScan(t *testing.T) {
	for _, test := range []struct {
		name  string
		seed  uint64
		steps int
		// eventful says that the seed is known to bring about everything; what
		// a random one brings about is luck.
		eventful bool
	}{
		{"fixed seed", 1, soakSteps(10_000), true},
		{"random seed", rand.Uint64(), soakSteps(10_000), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", test.seed)
			w := newWorld(t, rand.New(rand.NewPCG(test.seed, 0)).IntN, false)
			w.run(test.steps, 250)
			if test.eventful {
				w.requireEventful(t, test.steps)
			}
			assert.Zero(t, w.happened["record lost"])
		})
	}
}

// TestReadersEqualScanAfterLosses: a part of the records never arrives, and
// healing makes up for it.
func TestReadersEqualScanAfterLosses(t *testing.T) {
	steps := soakSteps(5_000)
	for name, seed := range map[string]uint64{"fixed seed": 1, "random seed": rand.Uint64()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)
			w := newWorld(t, rand.New(rand.NewPCG(seed, 0)).IntN, true)
			w.run(steps, 50)
			if name == "fixed seed" {
				w.requireEventful(t, steps)
				assert.Positive(t, w.happened["record lost"])
				assert.Positive(t, w.happened["healed"])
			}
		})
	}
}

// run makes steps, and settles every so often.
func (w *world) run(steps, every int) {
	for i := range steps {
		w.step()
		w.requirePresent()
		if (i+1)%every == 0 {
			w.settle()
		}
	}
}

// requireEventful holds that a long run has seen all that may happen, each so
// many times in 1,000 steps.
func (w *world) requireEventful(t *testing.T, steps int) {
	for _, what := range slices.Sorted(maps.Keys(w.happened)) {
		t.Logf("%6d %s", w.happened[what], what)
	}
	for what, least := range map[string]int{
		"register": 30, "renew": 100, "cancel": 5, "override": 8, "remove override": 5, "metadata": 8,
		"pass": 15, "pass skipped": 2, "two passes at once": 3, "evicted": 4, "snapshot": 8, "lease removed by TTL": 2,
		"clock set back": 0, "clock ahead": 3, "clocks put right": 2, "snapshot lost": 1,
		"removed lease told of": 1, "record repeated": 50, "record failed": 4, "record filtered": 100,
		"turn from deltas": 30, "turn from snapshot": 4, "turn from scan": 2, "turn failed": 1,
		"full fetch": 10, "delta fetch": 40,
	} {
		assert.GreaterOrEqual(t, w.happened[what], least*steps/1000, what)
	}
}

// TestReadersEqualScanShrinks is the same for short runs, whose failures
// shrink to the steps that matter.
func TestReadersEqualScanShrinks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		w := newWorld(t, pick, rapid.Bool().Draw(t, "lossy"))
		w.logf = t.Logf
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			w.step()
			w.requirePresent()
		}
		w.settle()
	})
}
