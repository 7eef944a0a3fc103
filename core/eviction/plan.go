// Package eviction is the scheduled pass over the lease table: it evicts what
// expired unless self-preservation holds it back, heals readers that missed a
// change, and publishes the snapshot, the statistics and the recent events.
package eviction

import (
	"math/rand/v2"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// MaxLateness bounds how far a late pass extends leases.
const MaxLateness = 10 * time.Minute

// Lateness returns by how much a pass at now comes later than one interval
// after the last: between 0 and [MaxLateness]. While nothing ran, renewals may
// not have been taken either, so that time is nobody's silence.
func Lateness(now, last time.Time, interval time.Duration) time.Duration {
	return min(max(now.Sub(last)-interval, 0), MaxLateness)
}

// Candidate is a lease to be evicted, provided that it was not renewed since.
type Candidate struct {
	Key eureka.Key
	// Renewed is the renewal that the scan read; the condition of the eviction.
	Renewed time.Time
}

// Plan is what a pass finds and wants to do.
type Plan struct {
	// Evict is in random order and not longer than Limit.
	Evict []Candidate
	// Expired counts the leases that ended, those held back included.
	Expired int
	// Limit is the greatest number of evictions in this pass; the number of
	// leases when there is none.
	Limit int
	// Statistics describes the leases as they were found; its Evicted is 0.
	Statistics delta.Statistics
}

// NewPlan decides what a pass at now evicts. It is a pure function: the same
// leases in the same order, with a random source in the same state, make the
// same plan. Tombstones may be among the leases. late is this pass's
// [Lateness].
//
// A lease is expired when the clock allowance and the lateness have passed
// since its end; nothing else is ever evicted.
//
// Self-preservation compares two counts of live leases, whatever their status.
// Expected are all but those that are both expired and silent for longer than
// MaxSilence (and the lateness); a lease with a duration of hours is expected
// for all of it. Seen are the expected ones that [eureka.Lease.Seen]
// says so of, with the clock allowance, but for those that must have fallen
// silent too (see [eureka.Lease.SilencedWith]). When seen is at or below
// floor(RenewalThreshold * expected), only expired leases that are no longer
// expected are evicted, and since they are not counted the mode ends by itself.
//
// In the mode and out of it a pass evicts at most
// max(1, n - floor(RenewalThreshold * n)), n being all live leases found, the
// expired included, as on the stock server. The limit in the mode is for a
// clock that jumps by hours: one pass can then not empty the registry, and by
// the next the living have renewed. The random order keeps a limited pass from
// taking all of one application.
func NewPlan(leases []eureka.Lease, now time.Time, policy Policy, late time.Duration, rng *rand.Rand) Plan {
	found := count(leases, now, policy, late)
	stats := delta.Statistics{
		Pass:      now,
		Leases:    found.live,
		Expected:  found.live - len(found.given),
		Seen:      found.seen,
		Enabled:   policy.SelfPreservation,
		HashCode:  found.statuses.HashCode(),
		Threshold: policy.threshold(found.live - len(found.given)),
	}
	plan := Plan{Expired: len(found.expired), Limit: found.live}
	evictable := found.expired
	if policy.SelfPreservation && found.live >= policy.MinLeases {
		plan.Limit = max(1, found.live-policy.threshold(found.live))
		stats.SelfPreservation = stats.Seen <= stats.Threshold
	}
	if stats.SelfPreservation {
		evictable = found.given
	}
	picked := pick(evictable, plan.Limit, rng)
	for _, i := range picked {
		plan.Evict = append(plan.Evict, Candidate{Key: leases[i].Key, Renewed: leases[i].Renewed})
	}
	stats.HeldBack = len(found.expired) - len(picked)
	stats.Held = held(leases, found.expired, picked, stats.HeldBack)
	plan.Statistics = stats
	return plan
}

// census is what a plan counts.
type census struct {
	live, seen int
	statuses   eureka.StatusCounts
	// expired and given are positions of leases; given are those of the
	// expired that are given up: no longer expected.
	expired, given []int
}

// count takes the census of the live leases.
func count(leases []eureka.Lease, now time.Time, policy Policy, late time.Duration) census {
	c := census{statuses: eureka.StatusCounts{}}
	silenced := 0.0 // leases that look seen, but fell silent with those that do not
	for i := range leases {
		l := &leases[i]
		if l.Tombstone() {
			continue
		}
		c.live++
		c.statuses[l.Status]++
		expired := l.Expired(now, policy.ClockAllowance+late)
		if expired {
			c.expired = append(c.expired, i)
			if l.Silent(now) > policy.MaxSilence+late {
				c.given = append(c.given, i)
				continue
			}
		}
		switch {
		case l.Seen(now, policy.ClockAllowance):
			c.seen++
		case !expired:
			silenced += l.SilencedWith() - 1
		}
	}
	c.seen = max(0, c.seen-int(silenced))
	return c
}

// held names the first of those n expired leases that were not picked.
func held(leases []eureka.Lease, expired, picked []int, n int) []eureka.Key {
	if n == 0 {
		return nil
	}
	going := make(map[int]bool, len(picked))
	for _, i := range picked {
		going[i] = true
	}
	keys := make([]eureka.Key, 0, min(n, delta.HeldLimit))
	for _, i := range expired {
		if len(keys) == cap(keys) {
			break
		}
		if !going[i] {
			keys = append(keys, leases[i].Key)
		}
	}
	return keys
}

// pick moves at most limit random elements to the front, in random order, and
// returns them.
func pick(from []int, limit int, rng *rand.Rand) []int {
	limit = min(limit, len(from))
	for i := range limit {
		j := i + rng.IntN(len(from)-i)
		from[i], from[j] = from[j], from[i]
	}
	return from[:limit]
}
