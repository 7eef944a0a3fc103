// Package systemtest holds tests of the core as a whole, over the reference
// driver: what writers do reaches readers, whatever the stream between them
// does.
package systemtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/faulty"
	"github.com/eurekaless/registry/storage/memory"
)

// skews are by how much the clocks of the functions are off.
var skews = []time.Duration{-5 * time.Second, 0, 1700 * time.Millisecond, 5 * time.Second}

// ttlGrace is how long after the end of a lease its TTL lies.
const ttlGrace = time.Minute

// maxSkew is by how much two functions' clocks may differ.
const maxSkew = 10 * time.Second

// oneIn is how seldom a call to the tables goes wrong.
const oneIn = 25

// epoch is when a world begins.
var epoch = time.UnixMilli(1_700_000_000_000).UTC()

// world is a whole registry: instances that register and renew by functions
// whose clocks differ, the stream function, two eviction functions, and
// containers that readers ask. Only [world.advance] moves the time.
type world struct {
	t require.TestingT
	// pick returns a number below n, by chance.
	pick func(n int) int
	// logf logs what happens, for runs that are short enough to be read.
	logf func(format string, args ...any)
	// lossy: some stream records are lost for good.
	lossy bool
	// calm: no call to the tables goes wrong.
	calm bool

	now time.Time
	// clocks are by how much all functions' clocks, and those of single ones,
	// are off for now; see clocks_test.go.
	clocks clocks
	store  *memory.Store
	shelf  *shelf
	// failing: eviction passes cannot read the snapshot.
	failing  bool
	tables   storage.Tables
	writers  []*registry.Registry
	evictors []*eviction.Runner
	// publisher is one that publishes a snapshot at each pass.
	publisher  *eviction.Runner
	stream     *stream
	containers []*container
	instances  []*instance
	// rival, if not nil, is what comes between two calls of an eviction pass.
	rival func()
	// wronged are the instances that renewed in time and were evicted.
	wronged []eureka.Key
	// expired is when the TTL was last at work.
	expired time.Time
	// latest is the latest time that any clock has shown.
	latest time.Time
	// happened counts what happened, to show that a run was not idle.
	happened map[string]int
}

// instance is a client that registers itself.
type instance struct {
	key eureka.Key
	// dirty is the timestamp of its last registration that was accepted.
	dirty time.Time
	// present: a registration was acknowledged, and since then neither was it
	// cancelled nor did its lease run out. renewed is when it last renewed, on
	// the right clock.
	present bool
	renewed time.Time
}

// newWorld returns a world with nothing in it.
func newWorld(t require.TestingT, pick func(n int) int, lossy bool) *world {
	w := &world{
		t: t, pick: pick, lossy: lossy, logf: func(string, ...any) {},
		now:      epoch,
		store:    memory.New(memory.Config{TTLGrace: ttlGrace, OverrideKept: 10 * time.Minute}),
		happened: map[string]int{},
	}
	w.shelf = &shelf{DeltaTable: w.store}
	w.tables = faulty.Wrap(storage.Tables{LeaseTable: w.store, DeltaTable: w.shelf}, w.fault)
	w.stream = &stream{w: w, last: map[eureka.Key]record{}}
	for i, skew := range skews {
		w.writers = append(w.writers, registry.New(registry.Config{
			Store: w.tables, Now: w.off(skew, &w.clocks.writers[i]), OverrideKept: 10 * time.Minute,
		}))
	}
	for i, skew := range []time.Duration{-5 * time.Second, 5 * time.Second} {
		cfg := eviction.DefaultConfig()
		cfg.Store, cfg.Deltas, cfg.Publications = w.tables, w.tables, unpublishing{w.tables.DeltaTable, w}
		if !lossy {
			cfg.Deltas = unhealed{w.tables.DeltaTable}
		}
		cfg.Now, cfg.Seed = w.off(skew, &w.clocks.evictors[i]), func() uint64 { return uint64(w.pick(1 << 20)) }
		cfg.Concurrency = 1 // a run must repeat itself
		cfg.Policy.ClockAllowance = maxSkew
		cfg.Policy.SelfPreservation = i == 0
		runner, err := eviction.New(cfg)
		require.NoError(t, err)
		w.evictors = append(w.evictors, runner)
		cfg.SnapshotInterval = time.Nanosecond
		w.publisher, err = eviction.New(cfg)
		require.NoError(t, err)
	}
	for i := range 4 {
		w.containers = append(w.containers, newContainer(w, skews[i], &w.clocks.containers[i]))
	}
	for i := range 14 {
		key := eureka.NewKey(fmt.Sprintf("app-%d", i%3), fmt.Sprintf("i-%d", i))
		w.instances = append(w.instances, &instance{key: key})
	}
	return w
}

// unhealed takes healing's rows and writes none: where no record is lost, the
// stream alone must tell readers everything.
type unhealed struct{ storage.DeltaTable }

func (unhealed) Put(context.Context, []delta.Row) error { return nil }

// clock returns a function's clock.
func (w *world) clock(skew time.Duration) func() time.Time {
	return func() time.Time { return w.now.Add(w.clocks.all + skew) }
}

// advance lets time pass.
func (w *world) advance(d time.Duration) { w.now = w.now.Add(d) }

// fault decides what goes wrong with a call to the tables.
func (w *world) fault(op storage.Operation, key eureka.Key) faulty.Fault {
	f := w.failure(op)
	if op == storage.Evict {
		f.After = w.watchEviction(key)
	}
	if w.rival != nil && w.chance(3) {
		rival := w.rival
		w.rival = nil
		f.Before = func(context.Context) { rival() }
	}
	return f
}

// failure decides how a call ends.
func (w *world) failure(op storage.Operation) faulty.Fault {
	if w.calm || w.pick(oneIn) != 0 {
		return faulty.Fault{}
	}
	kinds := []faulty.Kind{faulty.NotApplied, faulty.Throttled, faulty.Lost, faulty.Repeated}
	kind := kinds[w.pick(len(kinds))]
	w.count(fmt.Sprintf("%s %s", op, kind))
	return faulty.Fault{Kind: kind}
}

// watchEviction returns what holds an eviction, once it was made or not, to the
// promise that nobody who renews in time is evicted.
func (w *world) watchEviction(key eureka.Key) func(context.Context) {
	before := w.live()
	return func(context.Context) {
		i, l := w.named(key), before[key]
		if l == nil || w.live()[key] != nil {
			return
		}
		if w.now.Sub(i.renewed) < l.Duration {
			w.wronged = append(w.wronged, key) // told later: the pass calls from a goroutine of its own
		}
		i.present = false
	}
}

// live returns the leases by their keys.
func (w *world) live() map[eureka.Key]*eureka.Lease {
	live := map[eureka.Key]*eureka.Lease{}
	for _, l := range w.scan() {
		if !l.Tombstone() {
			live[l.Key] = &l
		}
	}
	return live
}

// requirePresent holds that nobody who renews is evicted and nothing
// acknowledged is lost.
func (w *world) requirePresent() {
	require.Empty(w.t, w.wronged, "renewed in time and evicted")
	live := w.live()
	for _, i := range w.instances {
		if i.present {
			require.Contains(w.t, live, i.key, "its registration was acknowledged")
		}
	}
}

// named returns the instance of a key; tests may have others than the world's.
func (w *world) named(key eureka.Key) *instance {
	for _, i := range w.instances {
		if i.key == key {
			return i
		}
	}
	return &instance{key: key}
}

func (w *world) count(what string) {
	w.logf("  %s", what)
	w.happened[what]++
}

// chance is true one time in n.
func (w *world) chance(n int) bool { return w.pick(n) == 0 }

func (w *world) writer() *registry.Registry { return w.writers[w.pick(len(w.writers))] }

func (w *world) instance() *instance { return w.instances[w.pick(len(w.instances))] }

func (w *world) container() *container { return w.containers[w.pick(len(w.containers))] }

// done counts an operation by how it ended, and refuses ends that it must not
// have.
func (w *world) done(operation string, key eureka.Key, err error) bool {
	w.logf("  %s %s: %v", operation, key, err)
	switch {
	case err == nil:
		w.count(operation)
	case errors.Is(err, eureka.ErrLeaseNotFound):
		w.count(operation + " of nobody")
	case errors.Is(err, eureka.ErrThrottled), errors.Is(err, eureka.ErrUnavailable):
		require.False(w.t, w.calm, "%s: %v", operation, err)
	default:
		require.NoError(w.t, err, operation)
	}
	return err == nil
}

// statuses are what an instance may say of itself; UP is the usual word.
var statuses = []eureka.Status{eureka.Up, eureka.Up, eureka.Up, eureka.Starting, eureka.Down, eureka.OutOfService}

func (w *world) register() {
	i := w.instance()
	dirty := w.now.Add(-time.Duration(w.pick(20)) * time.Second) // its own clock, and now and then an old registration
	duration := time.Duration(30+w.pick(120)) * time.Second
	info := &eureka.InstanceInfo{
		InstanceID: i.key.ID, HostName: i.key.ID + ".example.org", App: i.key.App,
		IPAddr: fmt.Sprintf("192.0.2.%d", w.pick(250)),
		Status: statuses[w.pick(len(statuses))],
		Port:   eureka.Port{Number: 8000 + w.pick(10), Enabled: true}, SecurePort: eureka.Port{Number: 8443},
		CountryID:  eureka.DefaultCountryID,
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
		Lease:      eureka.LeaseInfo{RenewalInterval: duration / 3 / time.Second * time.Second, Duration: duration},
		VIPAddress: fmt.Sprintf("vip-%d", w.pick(4)),
		LastDirty:  dirty,
	}
	if w.chance(2) {
		info.Metadata = map[string]string{"version": fmt.Sprint(w.pick(100))}
	}
	if !w.done("register", i.key, w.writer().Register(context.Background(), info)) {
		return
	}
	i.present, i.renewed = true, w.now
	if dirty.After(i.dirty) {
		i.dirty = dirty
	}
}

func (w *world) renew() {
	w.heartbeat(w.instance())
}

func (w *world) heartbeat(i *instance) bool {
	renewed := w.done("renew", i.key, w.writer().Renew(context.Background(), i.key, i.dirty))
	if renewed {
		i.renewed = w.now
	}
	return renewed
}

// renewAll is a turn of heartbeats of most instances.
func (w *world) renewAll() {
	for _, i := range w.instances {
		if !w.chance(4) {
			w.heartbeat(i)
		}
	}
}

func (w *world) cancel() {
	i := w.instance()
	err := w.writer().Cancel(context.Background(), i.key)
	w.done("cancel", i.key, err)
	i.present = false // done, or nobody knows
}

func (w *world) override() {
	overrides := []eureka.Status{eureka.OutOfService, eureka.OutOfService, eureka.Up, eureka.Down}
	status := overrides[w.pick(len(overrides))]
	key := w.instance().key
	w.done("override", key, w.writer().SetStatus(context.Background(), key, status, time.Time{}))
}

func (w *world) removeOverride() {
	statuses := []eureka.Status{eureka.Up, eureka.Unknown, eureka.OutOfService}
	status := statuses[w.pick(len(statuses))]
	key := w.instance().key
	w.done("remove override", key, w.writer().RemoveOverride(context.Background(), key, status, time.Time{}))
}

func (w *world) metadata() {
	entries := map[string]string{fmt.Sprintf("key-%d", w.pick(3)): fmt.Sprint(w.pick(1000))}
	key := w.instance().key
	w.done("metadata", key, w.writer().AddMetadata(context.Background(), key, entries))
}

// evict runs a pass of one of the eviction functions, and reports whether the
// pass could claim its time.
func (w *world) evict() bool { return w.pass(w.evictors[w.pick(len(w.evictors))]) }

// pass runs a pass.
func (w *world) pass(runner *eviction.Runner) bool {
	report, err := runner.Run(context.Background())
	w.logf("  %+v: %v", report, err)
	if err != nil {
		require.False(w.t, w.calm && !w.failing, "pass: %v", err)
		require.True(w.t, errors.Is(err, eureka.ErrThrottled) || errors.Is(err, eureka.ErrUnavailable), "pass: %v", err)
	}
	if report.Skipped {
		w.count("pass skipped")
		return false
	}
	w.count("pass")
	w.happened["evicted"] += report.Evicted
	w.happened["healed"] += report.Healed
	if report.SnapshotEntries > 0 {
		w.count("snapshot")
	}
	return true
}

// evictTwice runs both eviction functions at once: one of them makes a whole
// pass between two calls of the other.
func (w *world) evictTwice() {
	w.rival = func() { w.evict() }
	w.evict()
	if w.rival == nil {
		w.count("two passes at once")
	}
	w.rival = nil
}

// expire does what the tables' TTL has done by now, to the leases that it would
// have done it to. A TTL lies a day after the end of a lease, so it takes what
// did not change for a long time and what many passes have seen; here it lies
// only a minute after, so the step is left out when that would not be so.
func (w *world) expire() {
	now := w.clock(0)()
	seen := map[eureka.Key]int64{}
	if snapshot, err := w.shelf.Snapshot(context.Background()); err == nil {
		for _, e := range snapshot.Entries {
			seen[e.Key] = e.Version
		}
	}
	for _, l := range w.scan() {
		lapsed := !l.Tombstone() && now.After(l.End().Add(ttlGrace))
		if lapsed && (now.Sub(l.Updated) < 3*farthest || seen[l.Key] != l.Version) {
			return
		}
	}
	before := w.live()
	w.expired = w.now
	w.store.ExpireTTL(now)
	after := w.live()
	for _, i := range w.instances {
		if l := before[i.key]; l != nil && after[i.key] == nil {
			require.True(w.t, now.After(l.End().Add(ttlGrace)), "%s was removed before its time", i.key)
			i.present = false
			w.stream.removed(i.key)
		}
	}
}

// drought is a pass and then eleven minutes without heartbeats and eviction, at
// the end of which the TTL takes most leases.
func (w *world) drought() {
	w.evict()
	for range 16 {
		w.advance(42 * time.Second)
		w.stream.deliver()
		w.container().ask()
	}
	w.expire()
}

// scan is the truth that readers are held to.
func (w *world) scan() []eureka.Lease {
	leases, err := w.store.Scan(context.Background())
	require.NoError(w.t, err)
	return leases
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
