package eviction_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
)

// fill registers instances from one number to another, which renew for ever.
func (t *tables) fill(from, to int) {
	for n := from; n < to; n++ {
		t.register(eureka.NewKey("shop", fmt.Sprintf("shop-%d", n)), func(l *eureka.Lease) { l.Duration = 24 * time.Hour })
	}
}

// TestSnapshotWhenDue: a snapshot is published when there is none, when more
// rows than a tenth of the registry and than 100 were written since the last
// one, or when that is ten minutes old. Otherwise a pass leaves it alone.
func TestSnapshotWhenDue(t *testing.T) {
	for _, test := range []struct {
		name             string
		leases, rows     int
		age              time.Duration
		lost, clockAhead bool
		due              bool
	}{
		{name: "nothing written, nine minutes", leases: 20, age: 9 * time.Minute},
		{name: "nothing written, ten minutes", leases: 20, age: 10 * time.Minute, due: true},
		{name: "100 rows", leases: 20, rows: 100, age: time.Minute},
		{name: "101 rows", leases: 20, rows: 101, age: time.Minute, due: true},
		{name: "a tenth of many", leases: 3000, rows: 300, age: time.Minute},
		{name: "more than a tenth of many", leases: 3000, rows: 340, age: time.Minute, due: true},
		{name: "the snapshot is lost", leases: 20, age: time.Minute, lost: true, due: true},
		{name: "the snapshot lies ahead of the clock", leases: 20, age: -11 * time.Second, due: true},
		{name: "clocks differ a little", leases: 20, age: -9 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			tables := newTables()
			tables.fill(0, test.leases)
			runner := tables.runner(t, nil)
			tables.advance(time.Minute)
			report, err := runner.Run(background())
			require.NoError(t, err)
			require.Equal(t, test.leases, report.SnapshotEntries)
			before := tables.snapshot
			if test.lost {
				tables.snapshot = nil
			}
			tables.claim = delta.Claim{}
			tables.advance(test.age / 2)
			tables.fill(test.leases, test.leases+test.rows)
			tables.advance(test.age - test.age/2)
			report, err = runner.Run(background())
			require.NoError(t, err)
			assert.Zero(t, report.Healed)
			assert.Equal(t, test.due, report.SnapshotEntries != 0)
			assert.Equal(t, test.due, tables.snapshot != before)
		})
	}
}

// TestPassesFarApartHealNothingInVain: however far apart passes are, a change
// that its record has told of is not written again.
func TestPassesFarApartHealNothingInVain(t *testing.T) {
	for _, interval := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 20 * time.Minute} {
		for _, late := range []time.Duration{0, 2 * time.Minute, 5 * time.Minute, 30 * time.Minute} {
			t.Run(fmt.Sprintf("every %s, one %s late", interval, late), func(t *testing.T) {
				tables := newTables()
				runner := tables.runner(t, func(c *eviction.Config) { c.Interval = interval })
				for pass := range 20 {
					wait := interval
					if pass == 11 {
						wait += late
					}
					for n := range 4 {
						tables.advance(wait / 4)
						tables.fill(4*pass+n, 4*pass+n+1)
						if pass > 0 {
							tables.setStatus(eureka.NewKey("shop", fmt.Sprintf("shop-%d", 4*pass-n-1)), eureka.Down)
						}
					}
					report, err := runner.Run(background())
					require.NoError(t, err)
					require.Zero(t, report.Healed, "pass %d", pass)
				}
			})
		}
	}
}

// TestLossesHealWhateverBecameOfTheSnapshot: a snapshot that was lost, or that
// no pass could replace for an hour, keeps no lost change from being healed, and
// makes no change be written again that a record has told of.
func TestLossesHealWhateverBecameOfTheSnapshot(t *testing.T) {
	for _, test := range []struct {
		name    string
		trouble func(t *testing.T, tables *tables, runner *eviction.Runner)
	}{
		{"the snapshot is lost", func(_ *testing.T, tables *tables, _ *eviction.Runner) { tables.snapshot = nil }},
		{"passes fail for an hour", func(t *testing.T, tables *tables, runner *eviction.Runner) {
			tables.before = func(_ context.Context, operation string, _ eureka.Key) error {
				if operation == "Deltas" {
					return eureka.ErrThrottled
				}
				return nil
			}
			for range 60 {
				tables.advance(time.Minute)
				_, err := runner.Run(background())
				require.ErrorIs(t, err, eureka.ErrThrottled)
			}
			tables.before = nil
		}},
		{"no pass runs for an hour", func(_ *testing.T, tables *tables, _ *eviction.Runner) { tables.advance(time.Hour) }},
		{"passes run and no snapshot can be written", func(t *testing.T, tables *tables, runner *eviction.Runner) {
			tables.before = func(_ context.Context, operation string, _ eureka.Key) error {
				if operation == "PutSnapshot" {
					return eureka.ErrThrottled
				}
				return nil
			}
			healed := 0
			for range 60 {
				tables.advance(time.Minute)
				report, _ := runner.Run(background())
				healed += report.Healed
			}
			require.Equal(t, 3, healed, "each once, though the snapshot never shows them")
			tables.before = nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tables := newTables()
			runner := tables.runner(t, nil)
			tables.fill(0, 50)
			for range 15 {
				tables.advance(time.Minute)
				report, err := runner.Run(background())
				require.NoError(t, err)
				require.Zero(t, report.Healed)
			}
			tables.fill(50, 60) // told
			tables.losing(
				func() { tables.setStatus(eureka.NewKey("shop", "shop-1"), eureka.Down) },
				func() { tables.cancel(eureka.NewKey("shop", "shop-2")) },
				func() { tables.fill(60, 61) },
			)
			rows := len(tables.rows)
			test.trouble(t, tables, runner)
			for range 3 {
				tables.advance(time.Minute)
				_, err := runner.Run(background())
				require.NoError(t, err)
			}
			assert.Len(t, tables.rows, rows+3, "the three lost ones, once")
			assert.Equal(t, tables.scanned(), tables.readAll().instances())
			assert.NotNil(t, tables.snapshot)
		})
	}
}

// TestRowsOfWrongClocksCountAsUntold: a row that lies in no window that readers
// look at does not keep a change from being healed.
func TestRowsOfWrongClocksCountAsUntold(t *testing.T) {
	for _, test := range []struct {
		name string
		// row is by how much the clock of the row's writer is off, lease that of
		// the lease's.
		row, lease time.Duration
		healed     bool
	}{
		{"right", 0, 0, false},
		{"within the skew", -5 * time.Second, 5 * time.Second, false},
		{"the row's writer was set back", -90 * time.Second, 0, true},
		{"a whole process was set back behind the snapshot", -4 * time.Minute, -4 * time.Minute, true},
		{"the row's writer is far ahead", 3 * time.Minute, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			tables := newTables()
			runner := tables.runner(t, nil)
			tables.register(shop1, func(l *eureka.Lease) { l.Duration = time.Hour })
			tables.minutes(t, runner, 2)
			tables.advance(10 * time.Second)
			tables.register(shop1, func(l *eureka.Lease) {
				l.Duration = time.Hour
				l.Updated = l.Updated.Add(test.lease)
			})
			tables.rows[len(tables.rows)-1].Written = tables.clock().Add(test.row)
			total := 0
			for _, n := range tables.minutes(t, runner, 2) {
				total += n
			}
			assert.Equal(t, test.healed, total == 1, "%d healed", total)
		})
	}
}

// TestClockSetBackHealsNothingOld: when all clocks are set back, what readers
// were told of before is not written again, and what is lost afterwards heals.
func TestClockSetBackHealsNothingOld(t *testing.T) {
	for _, back := range []time.Duration{5 * time.Second, 90 * time.Second, 5 * time.Minute, time.Hour, 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			tables := newTables()
			tables.fill(0, 50)
			runner := tables.runner(t, nil)
			tables.minutes(t, runner, 15)
			tables.advance(-back)
			require.Equal(t, []int{0, 0, 0, 0}, tables.minutes(t, runner, 4))
			require.False(t, tables.snapshot.Began.After(tables.clock()), "a snapshot of the present was published")
			tables.losing(func() { tables.fill(50, 51) })
			total := 0
			for _, n := range tables.minutes(t, runner, 3) {
				total += n
			}
			assert.Equal(t, 1, total)
		})
	}
}
