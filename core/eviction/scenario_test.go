package eviction_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
)

// member is an instance that renews as clients do.
type member struct {
	key                eureka.Key
	interval, duration time.Duration
	status             eureka.Status
	// skew is how far the clock of those who take its renewals is off.
	skew time.Duration
	// dead: it does not renew any more.
	dead bool
	// pause gives the time to its next renewal; default its interval.
	pause func() time.Duration
	next  time.Time
	// lost counts heartbeats that were answered 404.
	lost int
}

// fleet is members and a schedule of passes on one clock, which moves by
// seconds.
type fleet struct {
	t       require.TestingT
	tables  *tables
	runner  *eviction.Runner
	every   time.Duration
	members []*member
	// missed: no pass is called.
	missed   bool
	nextPass time.Time
	last     eviction.Report
}

// newFleet returns a fleet of n members whose first pass has been.
func newFleet(tb testing.TB, n int, change func(*eviction.Config)) *fleet {
	f := &fleet{t: tb, tables: newTables(), every: time.Minute}
	f.runner = f.tables.runner(tb, change)
	for range n {
		f.join(&member{})
	}
	f.pass()
	f.nextPass = f.tables.clock().Add(f.every)
	return f
}

// join registers a member.
func (f *fleet) join(m *member) *member {
	n := len(f.members)
	if m.key == (eureka.Key{}) {
		m.key = eureka.NewKey(fmt.Sprintf("app-%d", n%3), fmt.Sprintf("i-%03d", n))
	}
	if m.interval == 0 {
		m.interval, m.duration = eureka.DefaultRenewalInterval, eureka.DefaultLeaseDuration
	}
	if m.pause == nil {
		m.pause = func() time.Duration { return m.interval }
	}
	f.register(m)
	// The members do not renew all at once.
	m.next = f.tables.clock().Add(m.pause() * time.Duration(n%7+1) / 7)
	f.members = append(f.members, m)
	return m
}

func (f *fleet) register(m *member) {
	f.tables.register(m.key, func(l *eureka.Lease) {
		l.Interval, l.Duration = m.interval, m.duration
		l.Renewed = l.Renewed.Add(m.skew)
		if m.status != "" {
			l.Status = m.status
		}
	})
}

// run lets time pass.
func (f *fleet) run(d time.Duration) {
	for range d / time.Second {
		f.tables.advance(time.Second)
		now := f.tables.clock()
		for _, m := range f.members {
			if m.dead || now.Before(m.next) {
				continue
			}
			m.next = now.Add(m.pause())
			if !f.tables.renew(m.key, now.Add(m.skew)) {
				m.lost++
				f.register(m)
			}
		}
		if !now.Before(f.nextPass) {
			f.nextPass = now.Add(f.every)
			if !f.missed {
				f.pass()
			}
		}
	}
}

func (f *fleet) pass() {
	var err error
	f.last, err = f.runner.Run(background())
	require.NoError(f.t, err)
}

// kill stops the first n members that live.
func (f *fleet) kill(n int) {
	for _, m := range f.members {
		if n > 0 && !m.dead {
			m.dead = true
			n--
		}
	}
	require.Zero(f.t, n, "members left to kill")
}

// revive lets all members renew again.
func (f *fleet) revive() {
	for _, m := range f.members {
		if m.dead {
			m.dead, m.next = false, f.tables.clock().Add(time.Second)
		}
	}
}

// requireNoneLost holds that no living member lost its lease.
func (f *fleet) requireNoneLost() {
	for _, m := range f.members {
		require.Zero(f.t, m.lost, "%s renewed in time and lost its lease", m.key)
	}
}

// dead counts the dead members and those of them that still have a lease.
func (f *fleet) dead() (all, registered int) {
	for _, m := range f.members {
		if m.dead {
			all++
			if _, ok := f.tables.lease(m.key); ok {
				registered++
			}
		}
	}
	return all, registered
}

// TestH29MassLoss: 8 of 20 die without a cancel and nobody replaces them.
// Self-preservation keeps them for an hour, shown in the statistics, whatever
// their status, and then lets them go.
func TestH29MassLoss(t *testing.T) {
	for _, status := range []eureka.Status{eureka.Up, eureka.Down, eureka.OutOfService} {
		t.Run(string(status), func(t *testing.T) {
			f := newFleet(t, 0, nil)
			for range 20 {
				f.join(&member{status: status})
			}
			f.run(5 * time.Minute)
			f.kill(8)
			for minute := 1; minute <= 59; minute++ {
				f.run(time.Minute)
				require.Equal(t, 20, f.tables.live(), "at %d minutes", minute)
				if minute >= 3 {
					stats := f.tables.statistics
					require.True(t, stats.SelfPreservation, "at %d minutes", minute)
					require.Equal(t, []int{20, 20, 12, 17}, []int{stats.Leases, stats.Expected, stats.Seen, stats.Threshold})
				}
			}
			f.run(6 * time.Minute)
			require.Equal(t, 12, f.tables.live(), "gone by 65 minutes")
			_, left := f.dead()
			require.Zero(t, left)
			f.run(2 * time.Minute)
			require.False(t, f.tables.statistics.SelfPreservation, "the mode has ended")
			require.Equal(t, 12, f.tables.statistics.Expected, "it follows the number registered now")
			f.requireNoneLost()
		})
	}
}

// TestH29Off: without self-preservation the dead are gone one pass after their
// leases end.
func TestH29Off(t *testing.T) {
	f := newFleet(t, 20, func(c *eviction.Config) { c.Policy.SelfPreservation = false })
	f.run(5 * time.Minute)
	f.kill(8)
	f.run(eureka.DefaultLeaseDuration + time.Minute + time.Second)
	assert.Equal(t, 12, f.tables.live())
	assert.False(t, f.tables.statistics.Enabled)
	f.requireNoneLost()
}

// TestH29SmallFleet: below the fleet limit one pass takes all that expired.
func TestH29SmallFleet(t *testing.T) {
	for _, test := range []struct {
		leases, dead, left int
	}{
		{9, 8, 1},
		{9, 9, 0},
		{2, 1, 1},
		{1, 1, 0},
		{10, 1, 9},
		{10, 2, 10},
	} {
		t.Run(fmt.Sprintf("%d of %d", test.dead, test.leases), func(t *testing.T) {
			f := newFleet(t, test.leases, nil)
			f.run(5 * time.Minute)
			f.kill(test.dead)
			f.run(eureka.DefaultLeaseDuration + time.Minute + time.Second)
			assert.Equal(t, test.left, f.tables.live())
			f.requireNoneLost()
		})
	}
}

// TestSlowLoss: one of 100 dies every two minutes and is gone one pass after
// its lease ended; self-preservation never begins.
func TestSlowLoss(t *testing.T) {
	f := newFleet(t, 100, nil)
	for killed := 1; killed <= 60; killed++ {
		f.kill(1)
		for range 2 {
			f.run(time.Minute)
			require.False(t, f.last.Statistics.SelfPreservation, "after %d deaths", killed)
		}
		_, left := f.dead()
		require.LessOrEqual(t, left, 2, "after %d deaths", killed)
	}
	f.run(3 * time.Minute)
	assert.Equal(t, 40, f.tables.live())
	f.requireNoneLost()
}

// TestRecovery: a network that breaks for most of the fleet and comes back
// costs no lease, and self-preservation ends with it.
func TestRecovery(t *testing.T) {
	for _, away := range []time.Duration{2 * time.Minute, 20 * time.Minute, 58 * time.Minute} {
		t.Run(away.String(), func(t *testing.T) {
			f := newFleet(t, 40, nil)
			f.run(5 * time.Minute)
			f.kill(30)
			f.run(away)
			require.Equal(t, 40, f.tables.live())
			require.True(t, f.last.Statistics.SelfPreservation)
			f.revive()
			f.run(2 * time.Minute)
			require.False(t, f.last.Statistics.SelfPreservation)
			require.Equal(t, 40, f.last.Statistics.Seen)
			f.run(10 * time.Minute)
			require.Equal(t, 40, f.tables.live())
			f.requireNoneLost()
		})
	}
}

// TestMixedIntervals: fast and slow members each count by their own interval.
func TestMixedIntervals(t *testing.T) {
	f := newFleet(t, 0, nil)
	for range 10 {
		f.join(&member{interval: 2 * time.Second, duration: 6 * time.Second})
	}
	for range 10 {
		f.join(&member{})
	}
	for range 10 {
		f.join(&member{interval: 10 * time.Minute, duration: 30 * time.Minute})
	}
	f.run(time.Hour)
	require.Equal(t, []int{30, 30, 30}, []int{f.last.Statistics.Leases, f.last.Statistics.Expected, f.last.Statistics.Seen})

	for _, m := range []*member{f.members[0], f.members[10], f.members[20], f.members[21]} {
		m.dead = true
	}
	gone := func(m *member) bool { _, ok := f.tables.lease(m.key); return !ok }
	f.run(time.Minute + 6*time.Second)
	assert.True(t, gone(f.members[0]), "the fast one goes after 6 s and a pass")
	f.run(time.Minute + 24*time.Second)
	assert.True(t, gone(f.members[10]), "the usual one after 90 s and a pass")
	f.run(17 * time.Minute)
	assert.False(t, gone(f.members[20]), "the slow one is still in its half hour")
	f.run(12 * time.Minute)
	assert.True(t, gone(f.members[20]), "and goes after it")
	assert.True(t, gone(f.members[21]))
	assert.Equal(t, 26, f.tables.live())
	f.requireNoneLost()
}

// TestMissedPasses: no pass for ten minutes, and for hours. Nobody who renews
// loses a lease, and the dead go after the time that the pass was late.
func TestMissedPasses(t *testing.T) {
	f := newFleet(t, 20, nil)
	f.run(5 * time.Minute)
	f.missed = true
	f.run(7 * time.Minute)
	f.kill(2)
	f.run(3 * time.Minute)
	f.missed = false
	f.run(time.Minute)
	require.Equal(t, 10*time.Minute, f.last.Lateness)
	require.Equal(t, 20, f.tables.live(), "a late pass extends every lease by its lateness")
	f.run(time.Minute)
	require.Zero(t, f.last.Lateness)
	require.Equal(t, 18, f.tables.live(), "the next one does not")

	f.missed = true
	f.kill(1)
	f.run(5 * time.Hour)
	f.missed = false
	f.run(time.Minute)
	require.Equal(t, eviction.MaxLateness, f.last.Lateness)
	require.Equal(t, 17, f.tables.live(), "silent for longer than any lateness")
	f.requireNoneLost()
}

// TestRegistryAway: nothing was taken for a while, renewals neither, as when a
// laptop sleeps. The living keep their leases.
func TestRegistryAway(t *testing.T) {
	for _, n := range []int{5, 100} {
		for _, away := range []time.Duration{2 * time.Minute, 8 * time.Minute} {
			t.Run(fmt.Sprintf("%d for %s", n, away), func(t *testing.T) {
				f := newFleet(t, n, nil)
				f.run(5 * time.Minute)
				f.tables.advance(away)
				f.pass()
				require.Equal(t, n, f.tables.live())
				f.run(5 * time.Minute)
				require.Equal(t, n, f.tables.live())
				f.requireNoneLost()
			})
		}
	}
}

// TestAwayForHours: beyond the longest self-preservation all look dead, but a
// pass takes no more than its limit, and the next finds the living.
func TestAwayForHours(t *testing.T) {
	f := newFleet(t, 100, nil)
	f.run(5 * time.Minute)
	f.tables.advance(8 * time.Hour)
	f.pass()
	require.Equal(t, 15, f.last.Evicted)
	f.run(5 * time.Minute)
	require.Equal(t, 100, f.tables.live())
	lost := 0
	for _, m := range f.members {
		lost += m.lost
	}
	require.Equal(t, 15, lost)
}

// TestFirstPassOnlyLooks: with no pass known before, nothing is evicted.
func TestFirstPassOnlyLooks(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	key := eureka.NewKey("shop", "shop-1")
	tables.register(key, nil)
	tables.advance(24 * time.Hour)

	report, err := runner.Run(background())
	require.NoError(t, err)
	assert.True(t, report.OnlyLooked)
	assert.Equal(t, 1, report.Expired)
	assert.Equal(t, 1, tables.live())
	assert.Equal(t, 1, report.SnapshotEntries, "it publishes")

	tables.advance(time.Minute)
	report, err = runner.Run(background())
	require.NoError(t, err)
	assert.False(t, report.OnlyLooked)
	assert.Equal(t, 1, report.Evicted)
	assert.Zero(t, tables.live())
}

// TestTwoPassesAtOnce: one of them does all the work, the other nothing, and
// readers see what one pass alone leaves.
func TestTwoPassesAtOnce(t *testing.T) {
	f := newFleet(t, 200, nil)
	f.run(5 * time.Minute)
	f.kill(10)
	f.missed = true
	f.run(3 * time.Minute)
	f.tables.statistics.Pass = f.tables.clock().Add(-time.Minute)
	runners := []*eviction.Runner{f.runner, f.tables.runner(t, nil)}
	reports := make([]eviction.Report, len(runners))
	errs := make([]error, len(runners))
	var passes sync.WaitGroup
	for i, runner := range runners {
		passes.Go(func() { reports[i], errs[i] = runner.Run(background()) })
	}
	passes.Wait()
	for i := range reports {
		require.NoError(t, errs[i])
	}
	assert.NotEqual(t, reports[0].Skipped, reports[1].Skipped)
	assert.Equal(t, 10, reports[0].Evicted+reports[1].Evicted)
	assert.Equal(t, 190, f.tables.live())
	for _, m := range f.members {
		l, live := f.tables.lease(m.key)
		assert.Equal(t, !m.dead, live)
		if m.dead {
			assert.Equal(t, l.Version, f.tables.readAll()[m.key].Version, "one tombstone, told to readers")
		}
	}
	f.missed = false
	f.run(5 * time.Minute)
	f.requireNoneLost()
	assert.Equal(t, f.tables.scanned(), f.tables.readAll().instances())
}

// TestH25EvictionNeedsNoTTL: with no TTL at work, an instance that stopped
// renewing is gone one pass after its lease ended, and a registration starts
// anew.
func TestH25EvictionNeedsNoTTL(t *testing.T) {
	f := newFleet(t, 1, nil)
	f.run(5 * time.Minute)
	m := f.members[0]
	first, _ := f.tables.lease(m.key)
	m.dead = true
	f.run(eureka.DefaultLeaseDuration + time.Minute)
	tombstone, live := f.tables.lease(m.key)
	require.False(t, live)
	require.True(t, tombstone.Tombstone())
	require.Empty(t, f.tables.readAll().instances())

	f.revive()
	f.run(2 * time.Second)
	require.Equal(t, 1, m.lost, "its heartbeat was answered 404")
	again, live := f.tables.lease(m.key)
	require.True(t, live)
	assert.True(t, again.Registered.After(first.Registered))
	assert.Greater(t, again.Version, tombstone.Version)
}

// TestH25RemovalIsDeleted: with eviction switched off, a TTL removal reaches
// readers as DELETED.
func TestH25RemovalIsDeleted(t *testing.T) {
	tables := newTables()
	key := eureka.NewKey("shop", "shop-1")
	tables.register(key, nil)
	tables.advance(25 * time.Hour)
	tables.remove(key)
	assert.Empty(t, tables.readAll().instances())
	row := tables.readAll()[key]
	assert.True(t, row.Deleted())
}

// TestEvictionKeepsOverride: a node under repair that is evicted does not come
// back UP.
func TestEvictionKeepsOverride(t *testing.T) {
	f := newFleet(t, 3, nil)
	m := f.members[0]
	f.tables.setStatus(m.key, eureka.OutOfService)
	m.dead = true
	f.run(3 * time.Minute)
	tombstone, live := f.tables.lease(m.key)
	require.False(t, live)
	assert.Equal(t, eureka.OutOfService, tombstone.Overridden)
	row := f.tables.readAll()[m.key]
	assert.Equal(t, eureka.Deleted, row.Instance.Action)
	assert.Equal(t, eureka.OutOfService, row.Instance.Status)
}

// TestWhoRenewsInTimeIsNeverEvicted is the promise to clients, for any fleet,
// deaths, clocks within the allowance, and missed passes.
func TestWhoRenewsInTimeIsNeverEvicted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		allowance := time.Duration(rapid.IntRange(0, 5).Draw(rt, "allowance")) * time.Second
		f := newFleet(t, 0, func(c *eviction.Config) {
			c.Policy.ClockAllowance = allowance
			c.Policy.SelfPreservation = rapid.Bool().Draw(rt, "selfPreservation")
		})
		f.t = rt
		for range rapid.IntRange(1, 15).Draw(rt, "members") {
			m := &member{duration: time.Duration(rapid.IntRange(2, 200).Draw(rt, "duration")) * time.Second}
			m.interval = m.duration/3 + time.Second
			m.skew = -time.Duration(rapid.Int64Range(0, int64(allowance/time.Millisecond)).Draw(rt, "skew")) * time.Millisecond
			// It renews at any pace within its lease.
			m.pause = func() time.Duration {
				return time.Duration(rapid.IntRange(1, int(m.duration/time.Second)).Draw(rt, "pause")) * time.Second
			}
			f.join(m)
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			living := 0
			for _, m := range f.members {
				if !m.dead {
					living++
				}
			}
			f.kill(rapid.IntRange(0, living/2).Draw(rt, "deaths"))
			f.missed = rapid.IntRange(0, 2).Draw(rt, "missed") == 0
			f.run(time.Duration(rapid.IntRange(1, 200).Draw(rt, "seconds")) * time.Second)
			f.requireNoneLost()
		}
	})
}
