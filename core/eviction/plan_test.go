package eviction_test

import (
	"fmt"
	"math"
	"math/rand/v2"
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

// group is a number of alike leases.
type group struct {
	n      int
	silent time.Duration
	// interval and duration default to 30 s and 90 s.
	interval, duration time.Duration
	status             eureka.Status
}

// leasesOf returns the groups' leases as a scan at epoch finds them.
func leasesOf(groups ...group) []eureka.Lease {
	var leases []eureka.Lease
	for g, group := range groups {
		for range group.n {
			key := eureka.NewKey(fmt.Sprintf("app-%d", g), fmt.Sprintf("i-%d", len(leases)))
			leases = append(leases, newLease(key, group))
		}
	}
	return leases
}

func newLease(key eureka.Key, g group) eureka.Lease {
	l := eureka.Lease{
		Key: key, Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App},
		Status: g.status, Renewed: epoch.Add(-g.silent), Interval: g.interval, Duration: g.duration,
	}
	if l.Status == "" {
		l.Status = eureka.Up
	}
	if l.Interval == 0 {
		l.Interval = eureka.DefaultRenewalInterval
	}
	if l.Duration == 0 {
		l.Duration = eureka.DefaultLeaseDuration
	}
	return l
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// TestPlan holds which leases a pass may evict, and how many.
func TestPlan(t *testing.T) {
	const ms = time.Millisecond
	off := func(p *eviction.Policy) { p.SelfPreservation = false }
	allowance := func(p *eviction.Policy) { p.ClockAllowance = 5 * time.Second }
	for _, test := range []struct {
		name   string
		leases []eureka.Lease
		policy func(*eviction.Policy)
		late   time.Duration

		evict, expired, limit     int
		expected, seen, threshold int
		preserved                 bool
	}{
		{name: "nothing registered"},
		{name: "the end of the lease is not past it", leases: leasesOf(group{n: 1, silent: 90 * time.Second}),
			limit: 1, expected: 1},
		{name: "a millisecond past it is", leases: leasesOf(group{n: 1, silent: 90*time.Second + ms}),
			evict: 1, expired: 1, limit: 1, expected: 1},
		{name: "the clock allowance extends a lease", leases: leasesOf(group{n: 1, silent: 95 * time.Second}), policy: allowance,
			limit: 1, expected: 1},
		{name: "up to its end", leases: leasesOf(group{n: 1, silent: 95*time.Second + ms}), policy: allowance,
			evict: 1, expired: 1, limit: 1, expected: 1},
		{name: "lateness extends a lease", leases: leasesOf(group{n: 1, silent: 690 * time.Second}), late: 10 * time.Minute,
			limit: 1, expected: 1},
		{name: "up to its end too", leases: leasesOf(group{n: 1, silent: 690*time.Second + ms}), late: 10 * time.Minute,
			evict: 1, expired: 1, limit: 1, expected: 1},
		{name: "a lease of its own duration", leases: leasesOf(group{n: 1, silent: 4 * time.Second, duration: 3 * time.Second, interval: time.Second}),
			evict: 1, expired: 1, limit: 1, expected: 1},
		{name: "tombstones are not leases", leases: []eureka.Lease{{Key: eureka.NewKey("a", "b"), Gone: epoch}}},

		{name: "one dead of twenty", leases: leasesOf(group{n: 19}, group{n: 1, silent: 2 * time.Minute}),
			evict: 1, expired: 1, limit: 3, expected: 20, seen: 19, threshold: 17},
		{name: "two dead of twenty", leases: leasesOf(group{n: 18}, group{n: 2, silent: 2 * time.Minute}),
			evict: 2, expired: 2, limit: 3, expected: 20, seen: 18, threshold: 17},
		{name: "at 85 per cent they are kept", leases: leasesOf(group{n: 17}, group{n: 3, silent: 2 * time.Minute}),
			expired: 3, limit: 3, expected: 20, seen: 17, threshold: 17, preserved: true},
		{name: "eight of twenty are kept", leases: leasesOf(group{n: 12}, group{n: 8, silent: 59 * time.Minute}),
			expired: 8, limit: 3, expected: 20, seen: 12, threshold: 17, preserved: true},
		{name: "for an hour exactly", leases: leasesOf(group{n: 12}, group{n: 8, silent: time.Hour}),
			expired: 8, limit: 3, expected: 20, seen: 12, threshold: 17, preserved: true},
		{name: "and then are no longer expected", leases: leasesOf(group{n: 12}, group{n: 8, silent: time.Hour + ms}),
			evict: 3, expired: 8, limit: 3, expected: 12, seen: 12, threshold: 10},
		{name: "in the mode only the long silent go", leases: leasesOf(group{n: 12}, group{n: 6, silent: time.Minute * 5}, group{n: 2, silent: 2 * time.Hour}),
			evict: 2, expired: 8, limit: 3, expected: 18, seen: 12, threshold: 15, preserved: true},
		{name: "and no more than the limit", leases: leasesOf(group{n: 100, silent: 2 * time.Hour}),
			evict: 15, expired: 100, limit: 15, preserved: true},
		{name: "lateness is not silence", leases: leasesOf(group{n: 100, silent: time.Hour + 10*time.Minute}), late: 10 * time.Minute,
			expired: 100, limit: 15, expected: 100, threshold: 85, preserved: true},
		{name: "renewed but expired, out of the mode", leases: leasesOf(group{n: 90}, group{n: 10, silent: 20 * time.Second, duration: 10 * time.Second}),
			evict: 10, expired: 10, limit: 15, expected: 100, seen: 100, threshold: 85},

		{name: "every status counts", leases: leasesOf(
			group{n: 6}, group{n: 3, status: eureka.Down}, group{n: 3, status: eureka.OutOfService}, group{n: 3, status: eureka.Starting}, group{n: 3, status: eureka.Unknown},
			group{n: 2, status: eureka.Down, silent: 2 * time.Minute}),
			evict: 2, expired: 2, limit: 3, expected: 20, seen: 18, threshold: 17},
		{name: "seen goes by the own interval", leases: leasesOf(
			group{n: 10, silent: 60 * time.Second}, group{n: 5, silent: 10 * time.Minute, interval: 5 * time.Minute, duration: 15 * time.Minute},
			group{n: 3, silent: 2 * time.Second, interval: time.Second, duration: 3 * time.Second},
			group{n: 2, silent: 2*time.Second + ms, interval: time.Second, duration: 3 * time.Second}),
			limit: 3, expected: 20, seen: 18, threshold: 17},
		{name: "and the clock allowance", leases: leasesOf(group{n: 20, silent: 65 * time.Second}), policy: allowance,
			limit: 3, expected: 20, seen: 20, threshold: 17},
		{name: "a lease of hours is expected for all of it", leases: leasesOf(group{n: 20, silent: 5 * time.Hour, interval: 2 * time.Hour, duration: 6 * time.Hour}),
			limit: 3, expected: 20, threshold: 17, preserved: true},

		{name: "below the fleet limit all go", leases: leasesOf(group{n: 9, silent: 2 * time.Minute}),
			evict: 9, expired: 9, limit: 9, expected: 9, threshold: 7},
		{name: "at the fleet limit none", leases: leasesOf(group{n: 10, silent: 2 * time.Minute}),
			expired: 10, limit: 2, expected: 10, threshold: 8, preserved: true},
		{name: "switched off all go", leases: leasesOf(group{n: 1000, silent: 2 * time.Minute}), policy: off,
			evict: 1000, expired: 1000, limit: 1000, expected: 1000, threshold: 850},
		{name: "another threshold", leases: leasesOf(group{n: 12}, group{n: 8, silent: 2 * time.Minute}),
			policy: func(p *eviction.Policy) { p.RenewalThreshold = 0.5 },
			evict:  8, expired: 8, limit: 10, expected: 20, seen: 12, threshold: 10},
		{name: "at least one a pass", leases: leasesOf(group{n: 13}, group{n: 2, silent: 2 * time.Hour}),
			policy: func(p *eviction.Policy) { p.RenewalThreshold = 0.9999 },
			evict:  1, expired: 2, limit: 1, expected: 13, seen: 13, threshold: 12},
	} {
		t.Run(test.name, func(t *testing.T) {
			policy := eviction.DefaultPolicy()
			if test.policy != nil {
				test.policy(&policy)
			}
			require.NoError(t, policy.Validate())
			plan := eviction.NewPlan(test.leases, epoch, policy, test.late, random(1))
			stats := plan.Statistics
			assert.Len(t, plan.Evict, test.evict, "evictions")
			assert.Equal(t, test.expired, plan.Expired, "expired")
			assert.Equal(t, test.limit, plan.Limit, "limit")
			assert.Equal(t, test.expected, stats.Expected, "expected")
			assert.Equal(t, test.seen, stats.Seen, "seen")
			assert.Equal(t, test.threshold, stats.Threshold, "threshold")
			assert.Equal(t, test.preserved, stats.SelfPreservation, "self-preservation")
			assert.Equal(t, policy.SelfPreservation, stats.Enabled)
			assert.Equal(t, epoch, stats.Pass)
			requireHeld(t, test.leases, plan)
		})
	}
}

// requireHeld fails unless what is expired and not to be evicted is counted,
// and named as far as the bound lets it.
func requireHeld(t *testing.T, leases []eureka.Lease, plan eviction.Plan) {
	t.Helper()
	require.Equal(t, plan.Expired-len(plan.Evict), plan.Statistics.HeldBack, "held back")
	require.Len(t, plan.Statistics.Held, min(plan.Statistics.HeldBack, delta.HeldLimit))
	open := map[eureka.Key]bool{}
	for _, l := range leases {
		open[l.Key] = l.Expired(plan.Statistics.Pass, 0)
	}
	for _, c := range plan.Evict {
		delete(open, c.Key)
	}
	for _, key := range plan.Statistics.Held {
		require.True(t, open[key], "%s is expired, not to be evicted, and named once", key)
		delete(open, key)
	}
}

// TestPlanNamesWhatItHoldsBack: at most a thousand are named, all are counted;
// by self-preservation, and by the limit without it.
func TestPlanNamesWhatItHoldsBack(t *testing.T) {
	for _, test := range []struct {
		name           string
		leases         []eureka.Lease
		policy         func(*eviction.Policy)
		evicted, held  int
		selfPreserving bool
	}{
		{"nobody is silent", leasesOf(group{n: 20}), nil, 0, 0, false},
		{"self-preservation", leasesOf(group{n: 12}, group{n: 8, silent: 2 * time.Minute}), nil, 0, 8, true},
		{"self-preservation, some for too long", leasesOf(group{n: 10}, group{n: 8, silent: 2 * time.Minute}, group{n: 2, silent: 2 * time.Hour}), nil, 2, 8, true},
		{"switched off", leasesOf(group{n: 12}, group{n: 8, silent: 2 * time.Minute}), func(p *eviction.Policy) { p.SelfPreservation = false }, 8, 0, false},
		{"the limit", leasesOf(group{n: 90}, group{n: 2, silent: 2 * time.Hour}, group{n: 18, silent: 3 * time.Hour}), nil, 17, 3, false},
		{"a thousand and more", leasesOf(group{n: 1100, silent: 2 * time.Minute}), nil, 0, 1100, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			policy := eviction.DefaultPolicy()
			if test.policy != nil {
				test.policy(&policy)
			}
			plan := eviction.NewPlan(test.leases, epoch, policy, 0, random(1))
			assert.Len(t, plan.Evict, test.evicted)
			assert.Equal(t, test.held, plan.Statistics.HeldBack)
			assert.Equal(t, test.selfPreserving, plan.Statistics.SelfPreservation)
			requireHeld(t, test.leases, plan)
		})
	}
}

func TestPlanStatistics(t *testing.T) {
	leases := leasesOf(group{n: 3}, group{n: 2, status: eureka.Down}, group{n: 1, status: eureka.OutOfService, silent: time.Hour})
	leases = append(leases, eureka.Lease{Key: eureka.NewKey("app", "gone"), Status: eureka.Up, Gone: epoch})
	stats := eviction.NewPlan(leases, epoch, eviction.DefaultPolicy(), 0, random(1)).Statistics
	assert.Equal(t, 6, stats.Leases)
	assert.Equal(t, "DOWN_2_OUT_OF_SERVICE_1_UP_3_", stats.HashCode)
	assert.Zero(t, stats.Evicted)
}

func TestLateness(t *testing.T) {
	for _, test := range []struct {
		since, want time.Duration
	}{
		{-time.Hour, 0}, // a clock that was set back
		{0, 0},
		{time.Minute, 0},
		{61 * time.Second, time.Second},
		{11 * time.Minute, 10 * time.Minute},
		{11*time.Minute + 1, 10 * time.Minute},
		{48 * time.Hour, 10 * time.Minute},
	} {
		assert.Equal(t, test.want, eviction.Lateness(epoch.Add(test.since), epoch, time.Minute), "%s after the last pass", test.since)
	}
	assert.Equal(t, 10*time.Minute, eviction.Lateness(epoch, time.Time{}, time.Minute), "no overflow")
}

// TestThresholdIsExact holds that 85% is counted in whole numbers: no fleet
// size loses a lease to the rounding of a floating-point product.
func TestThresholdIsExact(t *testing.T) {
	leases := leasesOf(group{n: 200})
	for _, percent := range []int{29, 57, 58, 85} {
		policy := eviction.DefaultPolicy()
		policy.RenewalThreshold = float64(percent) / 100
		for n := range len(leases) + 1 {
			stats := eviction.NewPlan(leases[:n], epoch, policy, 0, random(1)).Statistics
			require.Equal(t, n*percent/100, stats.Threshold, "%d%% of %d", percent, n)
		}
	}
}

// TestPlanPicksAtRandom holds that no lease is more likely to go than another,
// so that a limited pass does not take all of one application.
func TestPlanPicksAtRandom(t *testing.T) {
	leases := leasesOf(group{n: 10, silent: 2 * time.Hour}, group{n: 30, silent: 2 * time.Hour}, group{n: 60})
	picked := map[eureka.Key]int{}
	const passes = 4000
	for seed := range uint64(passes) {
		for _, c := range eviction.NewPlan(leases, epoch, eviction.DefaultPolicy(), 0, random(seed)).Evict {
			picked[c.Key]++
		}
	}
	require.Len(t, picked, 40, "only and all of the expired are picked at times")
	mean := float64(passes) * 15 / 40
	for key, n := range picked {
		assert.InDelta(t, mean, n, mean/8, "%s", key)
	}
}

// TestPlanProperties holds for any leases what tables show for some.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leases := rapid.SliceOfN(rapid.Custom(drawLease), 0, 120).Draw(t, "leases")
		policy := rapid.Custom(drawPolicy).Draw(t, "policy")
		late := time.Duration(rapid.Int64Range(0, int64(eviction.MaxLateness)).Draw(t, "late"))
		seed := rapid.Uint64().Draw(t, "seed")
		given := slices.Clone(leases)

		plan := eviction.NewPlan(leases, epoch, policy, late, random(seed))
		require.Equal(t, given, leases, "the leases are only read")
		require.Equal(t, plan, eviction.NewPlan(leases, epoch, policy, late, random(seed)), "the same source makes the same plan")

		byKey := map[eureka.Key]eureka.Lease{}
		live := 0
		for i, l := range leases {
			byKey[l.Key] = leases[i]
			if !l.Tombstone() {
				live++
			}
		}
		stats := plan.Statistics
		require.Equal(t, live, stats.Leases)
		require.LessOrEqual(t, stats.Expected, stats.Leases)
		require.LessOrEqual(t, stats.Seen, stats.Expected)
		require.LessOrEqual(t, stats.Threshold, stats.Expected)

		limited := policy.SelfPreservation && live >= policy.MinLeases
		require.Equal(t, limited && stats.Seen <= stats.Threshold, stats.SelfPreservation)
		limit := live
		if limited {
			limit = max(1, live-int(math.Floor(math.Round(policy.RenewalThreshold*10000)*float64(live)/10000)))
		}
		require.LessOrEqual(t, len(plan.Evict), limit, "never beyond the limit")
		evictable := 0
		for _, l := range byKey {
			if mayGo(&l, policy, late, stats.SelfPreservation) {
				evictable++
			}
		}
		require.Len(t, plan.Evict, min(evictable, limit), "as many as may")

		seen := map[eureka.Key]bool{}
		for _, c := range plan.Evict {
			l := byKey[c.Key]
			require.False(t, seen[c.Key], "%s twice", c.Key)
			seen[c.Key] = true
			require.Equal(t, l.Renewed, c.Renewed)
			require.True(t, mayGo(&l, policy, late, stats.SelfPreservation), "%s was renewed in time", c.Key)
		}
	})
}

// mayGo reports whether a lease may be evicted at epoch at all.
func mayGo(l *eureka.Lease, p eviction.Policy, late time.Duration, preserved bool) bool {
	silent := epoch.Sub(l.Renewed)
	return !l.Tombstone() && silent > l.Duration+p.ClockAllowance+late && (!preserved || silent > p.MaxSilence+late)
}

func drawLease(t *rapid.T) eureka.Lease {
	seconds := func(lo, hi int, label string) time.Duration {
		return time.Duration(rapid.IntRange(lo, hi).Draw(t, label)) * time.Second
	}
	key := eureka.NewKey(rapid.StringMatching(`[A-C]`).Draw(t, "app"), rapid.StringMatching(`[a-z0-9]{16}`).Draw(t, "id"))
	if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
		return eureka.Lease{Key: key, Gone: epoch}
	}
	return newLease(key, group{
		silent:   rapid.SampledFrom([]time.Duration{0, seconds(0, 100, "silent"), seconds(0, 9000, "longSilent")}).Draw(t, "silence"),
		interval: seconds(1, 600, "interval"),
		duration: seconds(1, 7200, "duration"),
	})
}

func drawPolicy(t *rapid.T) eviction.Policy {
	p := eviction.DefaultPolicy()
	p.SelfPreservation = rapid.IntRange(0, 4).Draw(t, "selfPreservation") > 0
	p.ClockAllowance = time.Duration(rapid.IntRange(0, 10).Draw(t, "allowance")) * time.Second
	p.RenewalThreshold = float64(rapid.IntRange(1, 99).Draw(t, "percent")) / 100
	p.MinLeases = rapid.IntRange(0, 20).Draw(t, "minLeases")
	return p
}

func TestPolicyValidate(t *testing.T) {
	require.NoError(t, eviction.DefaultPolicy().Validate())
	err := eviction.Policy{ClockAllowance: -1, RenewalThreshold: 1, MinLeases: -1}.Validate()
	for _, fault := range []string{"clock allowance", "renewal threshold 1 ", "fleet limit", "longest self-preservation"} {
		assert.ErrorContains(t, err, fault)
	}
	for _, threshold := range []float64{0, -0.5, 1, 1.5, 0.00001, 0.99999, math.NaN(), math.Inf(1), math.Inf(-1)} {
		p := eviction.DefaultPolicy()
		p.RenewalThreshold = threshold
		assert.Error(t, p.Validate(), "%v", threshold)
	}
}
