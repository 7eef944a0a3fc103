package systemtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/storage/memory"
)

// fleet is a registry whose processes need not write every heartbeat: how many
// there are, how they freeze, crash and are deployed with another setting, and
// what instances that live, die and are cancelled get of it. Only
// [fleet.advance] moves the time.
type fleet struct {
	t    require.TestingT
	pick func(n int) int
	logf func(format string, args ...any)

	now       time.Time
	store     *memory.Store
	records   int // of the store, that became rows
	processes []*process
	members   []*member
	evictor   *eviction.Runner
	evictSkew time.Duration
	lastPass  time.Time
	// setting is what is being deployed; inUse is when each was last used.
	setting  time.Duration
	inUse    map[time.Duration]time.Time
	happened map[string]int
}

// process is one that writes: a container of the write function, or one that
// has a view too.
type process struct {
	f       *fleet
	setting time.Duration
	skew    time.Duration
	// frozen is for how long its monotonic clock stood still, frozenAt when it
	// last did, and setAt when its wall clock was last set.
	frozen          time.Duration
	frozenAt, setAt time.Time
	registry        *registry.Registry
	cache           *view.Cache // nil: it has no view
	// boundary is that of its view, refreshed when it was read.
	boundary, refreshed time.Time
}

// member is an instance.
type member struct {
	key      eureka.Key
	duration time.Duration
	dirty    time.Time
	// answered is when it was last answered 200 or 204, on the right clock.
	answered time.Time
	// ended is when its lease was cancelled or evicted; zero while it has one.
	ended time.Time
	// row is when the row of that was written.
	row time.Time
}

var fleetEpoch = time.UnixMilli(1_700_000_000_000).UTC()

// maxSetting is the greatest setting that is ever deployed.
const maxSetting = 120 * time.Second

var fleetSettings = []time.Duration{0, 0, 30 * time.Second, 75 * time.Second, maxSetting}

func newFleet(t require.TestingT, pick func(n int) int) *fleet {
	f := &fleet{
		t: t, pick: pick, logf: func(string, ...any) {}, now: fleetEpoch,
		store: memory.New(memory.Config{}), inUse: map[time.Duration]time.Time{}, happened: map[string]int{},
	}
	f.setting = fleetSettings[pick(len(fleetSettings))]
	for i := range 3 {
		f.processes = append(f.processes, f.newProcess(i%2 == 0))
	}
	cfg := eviction.DefaultConfig()
	cfg.Store, cfg.Deltas, cfg.Publications = f.store, f.store, f.store
	cfg.Policy.SelfPreservation, cfg.Policy.ClockAllowance = false, maxSkew
	cfg.Now = func() time.Time { return f.now.Add(f.evictSkew) }
	var err error
	f.evictor, err = eviction.New(cfg)
	require.NoError(t, err)
	f.pass()
	for n := range 3 {
		f.members = append(f.members, &member{
			key:      eureka.NewKey("shop", fmt.Sprint(n)),
			duration: []time.Duration{20 * time.Second, 90 * time.Second, 200 * time.Second}[n%3],
		})
	}
	return f
}

func (f *fleet) newProcess(withView bool) *process {
	p := &process{f: f, setting: f.setting, skew: f.skew()}
	p.registry = registry.New(registry.Config{
		Store: f.store, RenewalWriteInterval: p.setting,
		Now:       func() time.Time { return f.now.Add(p.skew) },
		Monotonic: func() time.Duration { return f.now.Sub(fleetEpoch) - p.frozen },
	})
	if !withView {
		return p
	}
	p.cache = view.New(view.Config{
		Source: f.store, Interval: 30 * time.Second, Offset: 0.1, Now: func() time.Time { return f.now.Add(p.skew) }, Logger: discard(),
		OnRefresh: func(_ context.Context, t view.Refresh) {
			require.NoError(f.t, t.Err)
			p.boundary, p.refreshed = t.Boundary, f.now
			if t.Origin == view.FromDeltas {
				p.registry.Forget(t.Keys...)
				return
			}
			p.registry.ForgetAll()
		},
	})
	return p
}

// skew is by how much a clock may be off.
func (f *fleet) skew() time.Duration {
	return time.Duration(f.pick(int(maxSkew/time.Millisecond))-int(maxSkew/2/time.Millisecond)) * time.Millisecond
}

func (f *fleet) process() *process { return f.processes[f.pick(len(f.processes))] }
func (f *fleet) member() *member   { return f.members[f.pick(len(f.members))] }

func (f *fleet) advance() {
	f.now = f.now.Add(time.Duration(f.pick(10_000)) * time.Millisecond)
}

// spread is by how much a lease may end early: while processes with two
// positive settings are there, the one that waits longer may have its renewal
// overwritten by one that promises less.
func (f *fleet) spread() time.Duration {
	least, most := maxSetting, time.Duration(0)
	for _, p := range f.processes {
		f.inUse[p.setting] = f.now
	}
	for setting, at := range f.inUse {
		if setting > 0 && f.now.Sub(at) <= maxSetting+maxSkew {
			least, most = min(least, setting), max(most, setting)
		}
	}
	return max(0, most-least)
}

// done notes how an operation ended.
func (f *fleet) done(what string, m *member, err error) bool {
	f.logf("%s %s %s: %v", f.now.Format("15:04:05.000"), what, m.key.ID, err)
	if err != nil {
		require.ErrorIs(f.t, err, eureka.ErrLeaseNotFound, what)
		what += " of nobody"
	}
	f.happened[what]++
	return err == nil
}

// register registers a member, with a newer timestamp, the same, or an older
// one, and with another duration only as something that changed.
func (f *fleet) register() {
	m := f.member()
	dirty := m.dirty
	switch f.pick(4) {
	case 0:
		dirty = dirty.Add(-time.Second)
	case 1, 2:
		dirty = f.now
	}
	if dirty.Before(f.now.Add(-24 * time.Hour)) {
		dirty = f.now
	}
	info := registration(eureka.Up)
	info.InstanceID, info.LastDirty = m.key.ID, dirty
	info.Lease.Duration, info.Lease.RenewalInterval = m.duration, m.duration/3
	if f.done("register", m, f.process().registry.Register(context.Background(), info)) {
		m.answered, m.ended = f.now, time.Time{}
		if dirty.After(m.dirty) {
			m.dirty = dirty
		}
	}
}

// heartbeat is one of a member, by any process.
func (f *fleet) heartbeat() {
	m, p := f.member(), f.process()
	if !f.done("heartbeat", m, p.registry.Renew(context.Background(), m.key, m.dirty)) {
		return
	}
	m.answered = f.now
	if m.ended.IsZero() {
		return
	}
	f.happened["heartbeat after the end"]++
	require.Less(f.t, f.now.Sub(m.ended), min(p.setting, m.duration)+maxSkew, "a lease that ended is answered 200 for too long")
	require.True(f.t, p.cache == nil || m.row.IsZero() || m.row.After(p.boundary) || !m.row.Before(p.refreshed), "the view shows that the lease ended")
}

func (f *fleet) peerHeartbeat() {
	m, p := f.member(), f.process()
	_, err := p.registry.RenewReplicated(context.Background(), m.key, m.dirty)
	if f.done("peer's heartbeat", m, err) {
		require.Zero(f.t, m.ended, "a peer's heartbeat is always written")
		m.answered = f.now
	}
}

func (f *fleet) cancel() {
	m := f.member()
	if f.done("cancel", m, f.process().registry.Cancel(context.Background(), m.key)) {
		m.ended, m.row = f.now, time.Time{}
	}
}

func (f *fleet) change() {
	m, r := f.member(), f.process().registry
	switch f.pick(3) {
	case 0:
		f.done("override", m, r.SetStatus(context.Background(), m.key, eureka.OutOfService, time.Time{}))
	case 1:
		f.done("remove override", m, r.RemoveOverride(context.Background(), m.key, eureka.Up, time.Time{}))
	default:
		f.done("metadata", m, r.AddMetadata(context.Background(), m.key, map[string]string{"n": fmt.Sprint(f.pick(1000))}))
	}
}

// deliver is the stream function: all records become rows.
func (f *fleet) deliver() {
	var rows []delta.Row
	records := f.store.Records(f.records)
	f.records += len(records)
	for _, r := range records {
		if !r.Passes() {
			continue
		}
		row, ok := delta.Project(r.Image)
		require.True(f.t, ok)
		row.Written = f.now
		rows = append(rows, row)
		for _, m := range f.members {
			if m.key == row.Key && row.Deleted() && !m.ended.IsZero() {
				m.row = f.now
			}
		}
	}
	require.NoError(f.t, f.store.Put(context.Background(), rows))
}

// read is a request for a list to a process with a view.
func (f *fleet) read() {
	if p := f.process(); p.cache != nil {
		_, err := p.cache.View(context.Background())
		require.NoError(f.t, err)
		f.happened["read"]++
	}
}

// freeze stops a process for a while, and its monotonic clock with it, unless
// its wall clock was just set.
func (f *fleet) freeze() {
	p := f.process()
	if f.now.Sub(p.setAt) <= maxSetting+maxSkew {
		return
	}
	d := time.Duration(f.pick(150_000)) * time.Millisecond
	f.now = f.now.Add(d)
	p.frozen, p.frozenAt = p.frozen+d, f.now
	f.happened["freeze"]++
}

// crash replaces a process, and with it what it remembered, by one with the
// setting that is being deployed. Now and then a deployment begins with that.
func (f *fleet) crash() {
	if f.pick(20) == 0 {
		f.setting = fleetSettings[f.pick(len(fleetSettings))]
		f.happened["deployment"]++
	}
	i := f.pick(len(f.processes))
	f.spread() // notes the setting that may be gone now
	if f.processes[i].setting != f.setting {
		f.happened["deployed"]++
	}
	f.processes[i] = f.newProcess(f.processes[i].cache != nil)
	f.logf("%s crash %d, now %s skew %s", f.now.Format("15:04:05.000"), i, f.setting, f.processes[i].skew)
	f.happened["crash"]++
}

// correctClock sets clocks, maybe backward; not one of a process that was just
// frozen, which would have no clock left that is right.
func (f *fleet) correctClock() {
	f.evictSkew = f.skew()
	if p := f.process(); f.now.Sub(p.frozenAt) > maxSetting+maxSkew {
		p.skew, p.setAt = f.skew(), f.now
	}
}

// pass is one of the eviction, which may come late.
func (f *fleet) pass() {
	before := f.live()
	report, err := f.evictor.Run(context.Background())
	f.logf("%s pass %+v skew %s", f.now.Format("15:04:05.000"), report, f.evictSkew)
	require.NoError(f.t, err)
	after := f.live()
	f.happened["evicted"] += report.Evicted
	for _, m := range f.members {
		if before[m.key] != nil && after[m.key] == nil {
			require.GreaterOrEqual(f.t, f.now.Sub(m.answered)+f.spread(), m.duration, "%s was evicted", m.key)
			m.ended, m.row = f.now, time.Time{}
		}
		if after[m.key] != nil && !report.OnlyLooked && !report.Skipped {
			longest := m.duration + min(maxSetting, m.duration) + 2*maxSkew + report.Lateness
			require.LessOrEqual(f.t, f.now.Sub(m.answered), longest, "%s is dead and was not evicted", m.key)
		}
	}
	f.lastPass = f.now
}

func (f *fleet) live() map[eureka.Key]*eureka.Lease {
	live := map[eureka.Key]*eureka.Lease{}
	for _, m := range f.members {
		l, err := f.store.Get(context.Background(), m.key)
		if err == nil && !l.Tombstone() {
			live[m.key] = l
		}
		require.True(f.t, err == nil || errors.Is(err, eureka.ErrLeaseNotFound))
	}
	return live
}

// requireEnds holds that no lease ends earlier than one duration after the
// last heartbeat that was answered 200, for whoever judges it.
func (f *fleet) requireEnds() {
	live := f.live()
	spread := f.spread()
	if spread == 0 && f.setting > 0 {
		f.happened["held to the second"]++
	}
	for _, m := range f.members {
		if l := live[m.key]; l != nil {
			early := m.answered.Add(m.duration).Sub(l.End().Add(maxSkew / 2))
			require.LessOrEqual(f.t, early, spread, "%s ends early: %+v", m.key, l)
		}
	}
}

var fleetSteps = []struct {
	weight int
	step   func(*fleet)
}{
	{60, (*fleet).heartbeat}, {10, (*fleet).register}, {5, (*fleet).peerHeartbeat}, {6, (*fleet).cancel}, {5, (*fleet).change},
	{40, (*fleet).advance}, {20, (*fleet).deliver}, {30, (*fleet).read}, {10, (*fleet).pass},
	{2, (*fleet).freeze}, {4, (*fleet).crash}, {3, (*fleet).correctClock},
}

func (f *fleet) step() {
	total := 0
	for _, s := range fleetSteps {
		total += s.weight
	}
	n := f.pick(total)
	for _, s := range fleetSteps {
		if n -= s.weight; n < 0 {
			s.step(f)
			break
		}
	}
	f.requireEnds()
}

// TestHeartbeatsThatNeedNoWriteKeepLeases is the promise of unwritten
// heartbeats: whichever processes answer, crash, freeze and are deployed with
// another setting, no lease ends earlier than one duration after its last
// heartbeat that was answered 200; the dead go, and what ended is answered 404,
// within the interval more.
func TestHeartbeatsThatNeedNoWriteKeepLeases(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := newFleet(t, rand.New(rand.NewPCG(seed, 0)).IntN)
	const steps = 30_000
	for range soakSteps(steps) {
		f.step()
	}
	for what, least := range map[string]int{
		"heartbeat": 3000, "heartbeat of nobody": 100, "heartbeat after the end": 20, "register": 500, "peer's heartbeat": 100, "cancel": 100,
		"override": 20, "remove override": 20, "metadata": 20, "read": 300, "freeze": 50, "crash": 100, "deployed": 10, "deployment": 5, "evicted": 5, "held to the second": 3000,
	} {
		t.Logf("%6d %s", f.happened[what], what)
		assert.GreaterOrEqual(t, f.happened[what], least, what)
	}
}

// TestHeartbeatsThatNeedNoWriteKeepLeasesShrinks is the same for short runs,
// whose failures shrink to the steps that matter.
func TestHeartbeatsThatNeedNoWriteKeepLeasesShrinks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") })
		f.logf = t.Logf
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			f.step()
		}
	})
}
