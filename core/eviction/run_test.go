package eviction_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
)

func background() context.Context { return context.Background() }

// withDead returns tables with n leases, 5 of them expired, whose first pass
// has been, so that the next pass evicts the five.
func withDead(t *testing.T, n int) (*tables, []eureka.Key) {
	t.Helper()
	tables := newTables()
	_, err := tables.runner(t, nil).Run(background())
	require.NoError(t, err)
	tables.advance(time.Minute)
	now := tables.clock()
	var dead []eureka.Key
	for i := range n {
		key := eureka.NewKey("shop", fmt.Sprintf("shop-%02d", i))
		tables.register(key, func(l *eureka.Lease) {
			if i < 5 {
				l.Renewed = now.Add(-2 * time.Minute)
				dead = append(dead, key)
			}
		})
	}
	return tables, dead
}

// TestRun holds that one pass evicts what is planned and publishes what it
// found.
func TestRun(t *testing.T) {
	tables, dead := withDead(t, 40)
	tables.cancel(eureka.NewKey("shop", "shop-39"))
	report, err := tables.runner(t, everyPass).Run(background())
	require.NoError(t, err)
	assert.Equal(t, eviction.Report{
		Scanned: true,
		Statistics: delta.Statistics{
			Pass: tables.clock(), Settled: tables.clock(), Leases: 39, Expected: 39, Seen: 34, Threshold: 33,
			Enabled: true, Evicted: 5, HashCode: "UP_39_",
		},
		Tombstones: 1, Expired: 5, Evicted: 5, SnapshotEntries: 40,
	}, report)
	assert.Equal(t, report.Statistics, tables.statistics)
	for _, key := range dead {
		l, live := tables.lease(key)
		assert.False(t, live)
		assert.Equal(t, tables.clock(), l.Gone)
	}
	require.NotNil(t, tables.snapshot)
	assert.Equal(t, tables.clock(), tables.snapshot.Began)
	entries := map[eureka.Key]delta.Entry{}
	for _, e := range tables.snapshot.Entries {
		entries[e.Key] = e
	}
	assert.Nil(t, entries[eureka.NewKey("shop", "shop-39")].Instance, "absence has a version too")
	assert.NotZero(t, entries[eureka.NewKey("shop", "shop-39")].Version)
	assert.NotNil(t, entries[dead[0]].Instance, "what the pass evicts is in the snapshot as it was found")
	row := tables.readAll()[dead[0]]
	assert.True(t, row.Deleted(), "and its row completes it")
}

// TestSpared holds that a lease that renewed after the scan read it is not
// evicted, and that this is no error; nor is one that has gone.
func TestSpared(t *testing.T) {
	tables, dead := withDead(t, 40)
	tables.before = func(_ context.Context, operation string, key eureka.Key) error {
		if operation == "Evict" && key == dead[0] {
			tables.renew(key, tables.clock())
		}
		if operation == "Evict" && key == dead[1] {
			tables.cancel(key)
		}
		if operation == "Evict" && key == dead[2] {
			tables.remove(key)
		}
		return nil
	}
	tables.advance(time.Second)
	report, err := tables.runner(t, func(c *eviction.Config) {
		early := tables.clock().Add(-time.Second)
		c.Now = func() time.Time { return early }
	}).Run(background())
	require.NoError(t, err)
	assert.Equal(t, 2, report.Evicted)
	assert.Equal(t, 3, report.Spared)
	_, live := tables.lease(dead[0])
	assert.True(t, live)
}

// TestLostAnswer holds that an eviction that was applied and whose answer was
// lost counts when the driver's retry meets its own tombstone.
func TestLostAnswer(t *testing.T) {
	tables, dead := withDead(t, 40)
	first := true
	tables.before = func(ctx context.Context, operation string, key eureka.Key) error {
		if operation == "Evict" && key == dead[0] && first {
			first = false
			l, _ := tables.lease(key)
			return tables.Evict(ctx, key, l.Renewed, tables.clock())
		}
		return nil
	}
	report, err := tables.runner(t, nil).Run(background())
	require.NoError(t, err)
	assert.Equal(t, 5, report.Evicted)
	assert.Zero(t, report.Spared)
}

// TestFaults holds, for every operation of a pass that fails, what still
// happens, and that the next pass makes up for it.
func TestFaults(t *testing.T) {
	type outcome struct{ evicted, failed, entries int }
	for _, test := range []struct {
		operation string
		want      outcome
		// without are the publications that the failing pass leaves out.
		without []string
	}{
		{"Claim", outcome{entries: 40}, nil},
		{"Statistics", outcome{entries: 40}, nil},
		{"Scan", outcome{}, []string{"statistics", "snapshot", "recent"}},
		{"Evict", outcome{failed: 5, entries: 40}, nil},
		{"PutStatistics", outcome{evicted: 5, entries: 40}, []string{"statistics"}},
		{"Deltas", outcome{evicted: 5}, []string{"snapshot", "recent"}},
		{"Recent", outcome{evicted: 5, entries: 40}, []string{"recent"}},
		{"PutRecent", outcome{evicted: 5, entries: 40}, []string{"recent"}},
		{"Snapshot", outcome{evicted: 5}, []string{"snapshot", "recent"}},
		{"PutSnapshot", outcome{evicted: 5}, []string{"snapshot"}},
	} {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s applied %v", test.operation, applied), func(t *testing.T) {
				tables, dead := withDead(t, 40)
				runner := tables.runner(t, everyPass)
				fail := func(operation string) error {
					if operation == test.operation {
						return fmt.Errorf("by the test: %w", eureka.ErrUnavailable)
					}
					return nil
				}
				if applied {
					tables.after = func(operation string, _ eureka.Key) error { return fail(operation) }
				} else {
					tables.before = func(_ context.Context, operation string, _ eureka.Key) error { return fail(operation) }
				}
				report, err := runner.Run(background())
				require.ErrorIs(t, err, eureka.ErrUnavailable)
				assert.Equal(t, test.want, outcome{report.Evicted, report.Failed, report.SnapshotEntries})
				if !applied {
					assert.Equal(t, test.without, tables.unpublished(), "what is missing")
				}

				tables.before, tables.after = nil, nil
				tables.advance(30 * time.Second)
				_, err = runner.Run(background())
				require.NoError(t, err)
				assert.Empty(t, tables.unpublished())
				for _, key := range dead {
					_, live := tables.lease(key)
					assert.False(t, live)
				}
				assert.Equal(t, 35, tables.live())
				assert.Equal(t, tables.scanned(), tables.readAll().instances())
			})
		}
	}
}

// unpublished returns what was not published since the first pass at epoch.
func (t *tables) unpublished() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var missing []string
	if !t.statistics.Pass.After(epoch) {
		missing = append(missing, "statistics")
	}
	if t.snapshot == nil || !t.snapshot.Began.After(epoch) {
		missing = append(missing, "snapshot")
	}
	if t.recentPuts == 0 {
		missing = append(missing, "recent")
	}
	return missing
}

// TestOneEvictionFails holds that the others go on, and that the error names
// it.
func TestOneEvictionFails(t *testing.T) {
	tables, dead := withDead(t, 40)
	tables.before = func(_ context.Context, operation string, key eureka.Key) error {
		if operation == "Evict" && key == dead[3] {
			return eureka.ErrThrottled
		}
		return nil
	}
	report, err := tables.runner(t, nil).Run(background())
	require.ErrorIs(t, err, eureka.ErrThrottled)
	require.ErrorContains(t, err, dead[3].String())
	assert.Equal(t, 4, report.Evicted)
	assert.Equal(t, 1, report.Failed)
	assert.Equal(t, 4, tables.statistics.Evicted)
}

// TestEvictionTime holds that evictions leave time for publishing: what they
// do not reach is left to the next pass, and is no error.
func TestEvictionTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tables, _ := withDead(t, 40)
		slow := true
		tables.before = func(ctx context.Context, operation string, _ eureka.Key) error {
			if operation != "Evict" || !slow {
				return nil
			}
			select {
			case <-time.After(10 * time.Second):
				return nil
			case <-ctx.Done():
				return fmt.Errorf("%w: %w", eureka.ErrUnavailable, ctx.Err())
			}
		}
		runner := tables.runner(t, func(c *eviction.Config) {
			everyPass(c)
			c.EvictionTime = 25 * time.Second
			c.Concurrency = 1
		})
		report, err := runner.Run(background())
		require.NoError(t, err)
		assert.Equal(t, 2, report.Evicted, "10 s each, 25 s in all")
		assert.Equal(t, 3, report.Postponed)
		assert.Equal(t, 2, tables.statistics.Evicted)
		assert.Equal(t, 40, report.SnapshotEntries)

		slow = false
		tables.advance(time.Minute)
		report, err = runner.Run(background())
		require.NoError(t, err)
		assert.Equal(t, 3, report.Evicted)
	})
}

// TestConcurrency holds that no more evictions are under way than allowed.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tables, _ := withDead(t, 40)
		tables.before = func(_ context.Context, operation string, _ eureka.Key) error {
			if operation == "Evict" {
				<-time.After(time.Second)
			}
			return nil
		}
		started := time.Now()
		report, err := tables.runner(t, func(c *eviction.Config) { c.Concurrency = 2 }).Run(background())
		require.NoError(t, err)
		assert.Equal(t, 5, report.Evicted)
		assert.Equal(t, 3*time.Second, time.Since(started), "five, two at a time")
	})
}

// TestContextEnds holds that a pass whose context ends stops and says so.
func TestContextEnds(t *testing.T) {
	tables, _ := withDead(t, 40)
	ctx, cancel := context.WithCancel(background())
	tables.before = func(ctx context.Context, operation string, _ eureka.Key) error {
		if operation == "Scan" {
			cancel()
			return nil
		}
		return ctx.Err()
	}
	report, err := tables.runner(t, nil).Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 5, report.Postponed)
	assert.Equal(t, 40, tables.live())
}

func TestConfigValidate(t *testing.T) {
	_, err := eviction.New(eviction.Config{HealingGrace: -1})
	for _, fault := range []string{
		"no store", "no deltas", "no publications", "interval", "retention", "healing grace", "eviction time",
		"concurrency", "no clock", "no seed", "no logger", "renewal threshold", "longest self-preservation",
	} {
		assert.ErrorContains(t, err, fault)
	}
	_, err = eviction.New(eviction.DefaultConfig())
	require.Error(t, err)
	assert.False(t, errors.Is(err, eureka.ErrInvalid), "a configuration is not a request")

	cfg := eviction.DefaultConfig()
	cfg.Store, cfg.Deltas, cfg.Publications = newTables(), newTables(), newTables()
	_, err = eviction.New(cfg)
	assert.NoError(t, err)
}

// TestPassesAtOnceShareOneLimit: a pass within another one, and one that
// follows at once, evict nothing, so that the limit of a pass holds. Half an
// interval later the next pass goes on.
func TestPassesAtOnceShareOneLimit(t *testing.T) {
	tables, dead := withDead(t, 25)
	require.Len(t, dead, 5)
	limit := func(c *eviction.Config) { c.Policy.RenewalThreshold = 0.9; c.Policy.MaxSilence = time.Minute }
	runner := tables.runner(t, limit)
	var reports []eviction.Report
	run := func() {
		report, err := runner.Run(background())
		require.NoError(t, err)
		reports = append(reports, report)
	}
	within := true
	tables.before = func(_ context.Context, operation string, _ eureka.Key) error {
		if operation == "Scan" && within {
			within = false
			run()
		}
		return nil
	}
	run()
	run()
	evicted := func() (n int) {
		for _, r := range reports {
			n += r.Evicted
		}
		return n
	}
	require.Len(t, reports, 3)
	assert.Equal(t, []bool{true, false, true}, []bool{reports[0].Skipped, reports[1].Skipped, reports[2].Skipped})
	assert.Equal(t, 3, evicted(), "25 - floor(0.9 * 25)")
	tables.advance(30 * time.Second)
	run()
	assert.Equal(t, 5, evicted())
}
