package eviction_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
)

// shop1 is the instance that the healing tests change.
var shop1 = eureka.NewKey("shop", "shop-1")

// losing runs changes whose stream records are lost.
func (t *tables) losing(changes ...func()) {
	t.lose = true
	for _, change := range changes {
		change()
	}
	t.lose = false
}

// minutes runs a pass a minute and returns how many rows each one healed.
func (t *tables) minutes(tb require.TestingT, runner *eviction.Runner, n int) []int {
	var healed []int
	for range n {
		t.advance(time.Minute)
		for _, key := range t.keys() {
			t.renew(key, t.clock())
		}
		report, err := runner.Run(background())
		require.NoError(tb, err)
		healed = append(healed, report.Healed)
	}
	return healed
}

// keys returns the keys of the live leases but those of the application DYING.
func (t *tables) keys() []eureka.Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	var keys []eureka.Key
	for key, l := range t.leases {
		if !l.Tombstone() && key.App != "DYING" {
			keys = append(keys, key)
		}
	}
	return keys
}

// TestLostRecordHeals: whatever kind of change the lost record was of, a row
// takes its place at the first pass at which the change is an interval old, and
// only there.
func TestLostRecordHeals(t *testing.T) {
	dying := eureka.NewKey("dying", "dying-1")
	for _, test := range []struct {
		name   string
		change func(*tables)
	}{
		{"registration", func(t *tables) { t.register(eureka.NewKey("shop", "shop-2"), nil) }},
		{"registration over a lease", func(t *tables) { t.register(shop1, nil) }},
		{"registration over a tombstone", func(t *tables) { t.register(eureka.NewKey("shop", "gone"), nil) }},
		{"override", func(t *tables) { t.setStatus(shop1, eureka.OutOfService) }},
		{"cancel", func(t *tables) { t.cancel(shop1) }},
		{"cancel of what was just registered", func(t *tables) {
			t.register(eureka.NewKey("shop", "shop-2"), nil)
			t.cancel(eureka.NewKey("shop", "shop-2"))
		}},
		{"removal", func(t *tables) { t.remove(shop1) }},
		{"removal of a lease that was just changed", func(t *tables) {
			t.setStatus(shop1, eureka.Down)
			t.remove(shop1)
		}},
		{"removal of a lease whose change was told", func(t *tables) {
			t.lose = false
			t.setStatus(shop1, eureka.Down)
			t.lose = true
			t.remove(shop1)
		}},
		{"eviction", func(t *tables) {
			l, _ := t.lease(dying)
			_ = t.Evict(background(), dying, l.Renewed, t.now)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tables := newTables()
			runner := tables.runner(t, nil)
			tables.register(shop1, nil)
			tables.register(dying, nil)
			tables.register(eureka.NewKey("shop", "gone"), nil)
			tables.cancel(eureka.NewKey("shop", "gone"))
			require.Equal(t, []int{0}, tables.minutes(t, runner, 1), "nothing is lost yet")

			tables.advance(time.Second)
			tables.losing(func() { test.change(tables) })
			scanning := tables.scanReader()
			healed := tables.minutes(t, runner, 6)
			total := 0
			for _, n := range healed {
				total += n
			}
			assert.Equal(t, 1, total, "by one row: %v", healed)
			assert.Equal(t, 1, healed[0]+healed[1], "an interval after the change: %v", healed)
			assert.Equal(t, tables.scanned(), tables.readAll().instances())
			assert.Equal(t, tables.scanned(), scanning.catchUp(tables).instances(), "who scanned after the change")
			if row := tables.readAll()[shop1]; row.Deleted() {
				assert.Equal(t, "192.0.2.10", row.Instance.IPAddr, "whole, also when deleted")
			}
		})
	}
}

// scanReader returns a reader that loaded by a scan just now.
func (t *tables) scanReader() *reader {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &reader{held: readers{}, since: t.now.Add(-10 * time.Second)}
	for key, l := range t.leases {
		r.held[key] = rowOf(key, l.Version, l.Effective())
	}
	return r
}

// snapshotReader returns a reader that loaded from the snapshot, or by a scan
// when there is none.
func (t *tables) snapshotReader() *reader {
	t.mu.Lock()
	snapshot := t.snapshot
	t.mu.Unlock()
	if snapshot == nil {
		return t.scanReader()
	}
	r := &reader{held: readers{}, since: snapshot.Began.Add(-time.Minute)}
	for _, e := range snapshot.Entries {
		r.held[e.Key] = rowOf(e.Key, e.Version, e.Instance)
	}
	return r
}

// rowOf returns what a reader holds for a loaded state; nil is a tombstone.
func rowOf(key eureka.Key, version int64, instance *eureka.InstanceInfo) delta.Row {
	if instance == nil {
		instance = &eureka.InstanceInfo{Action: eureka.Deleted}
	}
	return delta.Row{Key: key, Version: version, Instance: instance}
}

// reader is a reader that applies the rows written after a time.
type reader struct {
	held  readers
	since time.Time
}

// catchUp applies all rows written since the reader loaded.
func (r *reader) catchUp(t *tables) readers {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, row := range t.rows {
		if row.Written.After(r.since) && row.Version > r.held[row.Key].Version {
			r.held[row.Key] = row
		}
	}
	return r.held
}

// TestNothingLostNothingHealed: a pass among ordinary changes writes no rows,
// so that a healed row is a sign of trouble.
func TestNothingLostNothingHealed(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	for minute := range 30 {
		tables.register(eureka.NewKey("shop", fmt.Sprintf("shop-%d", minute)), nil)
		tables.advance(10 * time.Second)
		if minute%3 == 1 {
			tables.setStatus(eureka.NewKey("shop", fmt.Sprintf("shop-%d", minute-1)), eureka.Down)
			tables.cancel(eureka.NewKey("shop", fmt.Sprintf("shop-%d", minute-1)))
		}
		if minute%3 == 2 {
			tables.remove(eureka.NewKey("shop", fmt.Sprintf("shop-%d", minute-1)))
		}
		require.Equal(t, []int{0}, tables.minutes(t, runner, 1), "minute %d", minute)
	}
}

// TestYoungChangeIsLeftToItsRecord: a record that is on its way is not
// repeated, and one that never comes is healed by the next pass although the
// snapshot between them holds the change.
func TestYoungChangeIsLeftToItsRecord(t *testing.T) {
	for name, change := range map[string]func(*tables){
		"override": func(t *tables) { t.setStatus(shop1, eureka.Down) },
		"cancel":   func(t *tables) { t.cancel(shop1) },
	} {
		t.Run(name, func(t *testing.T) {
			tables := newTables()
			runner := tables.runner(t, everyPass)
			tables.register(shop1, nil)
			tables.minutes(t, runner, 2)
			tables.advance(50 * time.Second)
			tables.losing(func() { change(tables) })
			tables.advance(-50 * time.Second)
			require.Equal(t, []int{0}, tables.minutes(t, runner, 1), "10 s old")
			l, _ := tables.lease(shop1)
			require.Equal(t, l.Version, tables.snapshot.Entries[0].Version, "a cold reader has it")
			require.Equal(t, []int{1, 0, 0}, tables.minutes(t, runner, 3), "70 s old")
		})
	}
}

// TestHealedRow: it carries the current state, under a sequence number that no
// stream has and that is the same for the same state, written now.
func TestHealedRow(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	tables.register(shop1, nil)
	tables.minutes(t, runner, 1)
	tables.losing(func() { tables.setStatus(shop1, eureka.OutOfService) })
	tables.minutes(t, runner, 1)
	row := tables.rows[len(tables.rows)-1]
	l, _ := tables.lease(shop1)
	assert.Equal(t, l.Version, row.Version)
	assert.Equal(t, withoutRenewal(l.Effective()), withoutRenewal(row.Instance))
	assert.Equal(t, tables.clock(), row.Written)
	assert.Regexp(t, regexp.MustCompile(`^9\d{39}$`), row.Sequence)

	tables.snapshot, tables.rows, tables.statistics.Settled = nil, nil, time.Time{}
	tables.minutes(t, runner, 1)
	require.Len(t, tables.rows, 1)
	assert.Equal(t, row.Sequence, tables.rows[0].Sequence)
}

// TestDeletionOfTheUnknown: an instance that came and went without a record is
// deleted by its key, for readers that found it by a scan.
func TestDeletionOfTheUnknown(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	tables.minutes(t, runner, 1)
	var scanning *reader
	tables.losing(
		func() { tables.register(shop1, nil) },
		func() { scanning = tables.scanReader() },
		func() { tables.cancel(shop1) },
	)
	require.Len(t, scanning.catchUp(tables).instances(), 1)
	require.Equal(t, []int{1}, tables.minutes(t, runner, 1))
	assert.Empty(t, scanning.catchUp(tables).instances())
	row := tables.readAll()[shop1]
	assert.Equal(t, shop1, row.Instance.Key())
	assert.Equal(t, eureka.Deleted, row.Instance.Action)
}

// TestBackMeanwhile: a lease that the scan missed and that is in the table when
// asked for is not deleted.
func TestBackMeanwhile(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	tables.register(shop1, nil)
	tables.minutes(t, runner, 1)
	tables.losing(func() { tables.remove(shop1) })
	tables.advance(time.Second)
	tables.after = func(operation string, _ eureka.Key) error {
		if operation == "Scan" {
			tables.lose = true
			tables.register(shop1, nil)
			tables.lose = false
		}
		return nil
	}
	require.Equal(t, []int{0}, tables.minutes(t, runner, 1))
	tables.after = nil
	require.Equal(t, []int{1, 0}, tables.minutes(t, runner, 2), "its own change is healed then")
	assert.Equal(t, tables.scanned(), tables.readAll().instances())
}

// TestRegisteredDuringTheScan: a row of a lease that the scan was too early for
// is no sign of a lost removal.
func TestRegisteredDuringTheScan(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	tables.minutes(t, runner, 1)
	asked := 0
	tables.after = func(operation string, _ eureka.Key) error {
		switch operation {
		case "Scan":
			tables.advance(time.Second)
			tables.register(shop1, nil)
		case "Get":
			asked++
		}
		return nil
	}
	require.Equal(t, []int{0}, tables.minutes(t, runner, 1))
	assert.Zero(t, asked, "nor is it asked for")
	assert.Len(t, tables.readAll().instances(), 1)
}

// TestUnreadableIsNotGone: a lease that cannot be understood is left alone.
func TestUnreadableIsNotGone(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	tables.register(shop1, nil)
	tables.minutes(t, runner, 1)
	tables.corrupt[shop1] = true
	require.Equal(t, []int{0, 0, 0}, tables.minutes(t, runner, 3))
	row := tables.readAll()[shop1]
	assert.False(t, row.Deleted())
}

// TestHealingFails: rows that could not be written are written by the next
// pass, since the snapshot that shows the difference is kept until then.
func TestHealingFails(t *testing.T) {
	for _, test := range []struct {
		name      string
		operation string
		err       error
		lost      int
		healed    int
	}{
		{"no row written", "Put", eureka.ErrThrottled, 3, 0},
		{"one row of three not written", "Put", &delta.UnwrittenError{Indexes: []int{1}, Err: eureka.ErrThrottled}, 3, 2},
		{"the removed lease cannot be asked for", "Get", eureka.ErrThrottled, 3, 2},
		{"the window cannot be read", "Deltas", eureka.ErrThrottled, 3, 0},
		{"the snapshot cannot be read", "Snapshot", eureka.ErrThrottled, 3, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			tables := newTables()
			runner := tables.runner(t, everyPass)
			removed := eureka.NewKey("shop", "removed")
			tables.register(shop1, nil)
			tables.register(removed, nil)
			tables.minutes(t, runner, 1)
			before := tables.snapshot
			tables.losing(
				func() { tables.setStatus(shop1, eureka.Down) },
				func() { tables.register(eureka.NewKey("shop", "shop-2"), nil) },
				func() { tables.remove(removed) },
			)
			tables.advance(time.Minute)
			tables.before = func(_ context.Context, operation string, _ eureka.Key) error {
				if operation == test.operation {
					return test.err
				}
				return nil
			}
			report, err := runner.Run(background())
			require.ErrorIs(t, err, eureka.ErrThrottled)
			assert.Equal(t, test.healed, report.Healed)
			assert.Same(t, before, tables.snapshot)

			tables.before = nil
			tables.minutes(t, runner, 1)
			assert.Equal(t, tables.scanned(), tables.readAll().instances())
			assert.NotSame(t, before, tables.snapshot)
		})
	}
}

// TestHealingAfterMissedPasses: what was lost while no pass ran is healed by
// the first that does.
func TestHealingAfterMissedPasses(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	tables.register(shop1, nil)
	tables.register(eureka.NewKey("shop", "shop-2"), nil)
	tables.minutes(t, runner, 1)
	tables.losing(
		func() { tables.setStatus(shop1, eureka.Down) },
		func() { tables.remove(eureka.NewKey("shop", "shop-2")) },
	)
	tables.advance(10 * time.Minute)
	require.Equal(t, []int{2, 0, 0}, tables.minutes(t, runner, 3))
	assert.Equal(t, tables.scanned(), tables.readAll().instances())
}

// TestRemovedWhileNoPassRan: readers that were told of a change which no
// snapshot nor the window remembers are told of the removal all the same.
func TestRemovedWhileNoPassRan(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	tables.register(shop1, nil)
	tables.minutes(t, runner, 2)
	tables.setStatus(shop1, eureka.Down)
	tables.setStatus(shop1, eureka.Up)
	tables.advance(25 * time.Hour)
	tables.losing(func() { tables.remove(shop1) })
	require.Len(t, tables.readAll().instances(), 1)
	require.Equal(t, []int{1, 0}, tables.minutes(t, runner, 2))
	require.Empty(t, tables.readAll().instances())
	tables.register(shop1, nil)
	assert.Len(t, tables.readAll().instances(), 1, "and of a registration after it")
}

// TestHealingWithoutSnapshot: with nothing to compare with, everything that no
// row carries is told again, in batches that are stamped as they are written.
func TestHealingWithoutSnapshot(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	tables.losing(func() {
		for i := range 250 {
			tables.register(eureka.NewKey("shop", fmt.Sprintf("shop-%d", i)), nil)
		}
	})
	tables.register(eureka.NewKey("shop", "told"), nil)
	tables.after = func(operation string, _ eureka.Key) error {
		if operation == "Put" {
			tables.advance(time.Second)
		}
		return nil
	}
	require.Equal(t, []int{250}, tables.minutes(t, runner, 1))
	assert.Equal(t, tables.scanned(), tables.readAll().instances())
	stamps := map[time.Time]int{}
	for _, row := range tables.rows[1:] {
		stamps[row.Written]++
	}
	assert.Len(t, stamps, 3)
	require.Equal(t, []int{0}, tables.minutes(t, runner, 1))
}

// TestHealingStopsWithTheContext: rows that were not tried count as not
// written.
func TestHealingStopsWithTheContext(t *testing.T) {
	tables := newTables()
	tables.losing(func() {
		for i := range 250 {
			tables.register(eureka.NewKey("shop", fmt.Sprintf("shop-%d", i)), nil)
		}
	})
	tables.advance(time.Minute)
	ctx, cancel := context.WithCancel(background())
	tables.after = func(operation string, _ eureka.Key) error {
		if operation == "Put" {
			cancel()
		}
		return nil
	}
	report, err := tables.runner(t, nil).Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 100, report.Healed)
	assert.Nil(t, tables.snapshot)
}

// TestReadersConverge: after any changes, any of whose records may be lost, and
// passes at any time, every reader holds what a scan gives once the last change
// is old enough to be healed.
func TestReadersConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tables := newTables()
		cfgGrace := time.Duration(rapid.IntRange(1, 120).Draw(t, "grace")) * time.Second
		runner := tables.rapidRunner(t, cfgGrace)
		loaded := []*reader{tables.scanReader()}
		var keys []eureka.Key
		for i := range 4 {
			keys = append(keys, eureka.NewKey("shop", fmt.Sprintf("shop-%d", i)))
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			tables.advance(time.Duration(rapid.IntRange(1, 40).Draw(t, "pause")) * time.Second)
			tables.lose = rapid.Bool().Draw(t, "lost")
			key := rapid.SampledFrom(keys).Draw(t, "key")
			_, live := tables.lease(key)
			switch action := rapid.SampledFrom([]string{"register", "change", "cancel", "evict", "remove", "pass", "pass", "load"}).Draw(t, "action"); {
			case action == "register":
				tables.register(key, nil)
			case action == "change" && live:
				tables.setStatus(key, rapid.SampledFrom([]eureka.Status{eureka.Up, eureka.Down, eureka.OutOfService}).Draw(t, "status"))
			case action == "cancel" && live:
				tables.cancel(key)
			case action == "evict" && live:
				l, _ := tables.lease(key)
				require.NoError(t, tables.Evict(background(), key, l.Renewed, tables.clock()))
			case action == "remove" && tables.settled(key, cfgGrace):
				tables.remove(key)
			case action == "pass":
				tables.passFailing(t, runner)
			case action == "load":
				loaded = append(loaded, tables.scanReader(), tables.snapshotReader())
			}
			for _, r := range loaded {
				r.catchUp(tables)
			}
		}
		tables.lose = false
		for range 2 {
			tables.advance(max(cfgGrace, time.Minute)) // no pass claims the time of another
			for _, key := range tables.keys() {
				tables.renew(key, tables.clock())
			}
			_, err := runner.Run(background())
			require.NoError(t, err)
		}
		want := tables.scanned()
		require.Equal(t, want, tables.readAll().instances(), "who read all rows")
		for _, r := range append(loaded, tables.scanReader(), tables.snapshotReader()) {
			require.Equal(t, want, r.catchUp(tables).instances())
		}
	})
}

// settled reports whether an item is in the published snapshot as it is, and if
// it is a tombstone for longer than the grace, as is true of all that a TTL
// removes: a lease a day after its end, a tombstone after an hour.
func (t *tables) settled(key eureka.Key, grace time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.leases[key]
	if !ok || t.snapshot == nil {
		return false
	}
	if l.Tombstone() {
		return !l.Gone.After(t.snapshot.Began.Add(-grace))
	}
	return slices.ContainsFunc(t.snapshot.Entries, func(e delta.Entry) bool {
		return e.Key == key && e.Version == l.Version
	})
}

// rapidRunner returns a runner for a property.
func (t *tables) rapidRunner(rt *rapid.T, grace time.Duration) *eviction.Runner {
	cfg := eviction.DefaultConfig()
	cfg.Store, cfg.Deltas, cfg.Publications = t, t, t
	cfg.Now, cfg.HealingGrace = t.clock, grace
	cfg.Seed = func() uint64 { return 1 }
	r, err := eviction.New(cfg)
	require.NoError(rt, err)
	return r
}

// passFailing runs a pass in which one operation may fail.
func (t *tables) passFailing(rt *rapid.T, runner *eviction.Runner) {
	operations := []string{"none", "none", "Claim", "Statistics", "Scan", "Get", "Put", "Deltas", "Snapshot", "PutSnapshot", "PutStatistics"}
	failing := rapid.SampledFrom(operations).Draw(rt, "failing")
	t.before = func(_ context.Context, operation string, _ eureka.Key) error {
		if operation == failing {
			return eureka.ErrUnavailable
		}
		return nil
	}
	_, err := runner.Run(background())
	t.before = nil
	if err != nil {
		require.True(rt, slices.Contains(operations[2:], failing) && errors.Is(err, eureka.ErrUnavailable), "%v", err)
	}
}
