package eviction

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Policy says which expired leases a pass may evict. Start from
// [DefaultPolicy]; the zero value is not valid.
type Policy struct {
	// ClockAllowance is added to a lease's duration, since the clock of the
	// function that wrote the last renewal may be behind the one that judges
	// it. Not negative; default 0, 5 s on AWS.
	ClockAllowance time.Duration
	// SelfPreservation holds evictions back while too many leases are silent
	// at once, which looks more like a broken network than like as many
	// deaths. Default true. False: no limit of any kind.
	SelfPreservation bool
	// RenewalThreshold is the part of the expected leases at or below which
	// those that were seen mean self-preservation; between 0 and 1, both
	// excluded, to four decimal places; default 0.85.
	RenewalThreshold float64
	// MinLeases is the fleet limit: with fewer leases there is no
	// self-preservation and no limit a pass, since 85% of a handful means
	// nothing. Not negative; default 10.
	MinLeases int
	// MaxSilence is the longest time for which self-preservation keeps a
	// silent lease; positive; default 1 h.
	MaxSilence time.Duration
}

// DefaultPolicy returns the documented defaults.
func DefaultPolicy() Policy {
	return Policy{
		SelfPreservation: true,
		RenewalThreshold: 0.85,
		MinLeases:        10,
		MaxSilence:       time.Hour,
	}
}

// Validate reports every fault of the policy at once.
func (p Policy) Validate() error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(p.ClockAllowance < 0, "clock allowance %s is negative", p.ClockAllowance)
	parts := p.thresholdParts()
	fault(math.IsNaN(p.RenewalThreshold) || parts <= 0 || parts >= thresholdScale,
		"renewal threshold %v is not between 0 and 1", p.RenewalThreshold)
	fault(p.MinLeases < 0, "fleet limit %d is negative", p.MinLeases)
	fault(p.MaxSilence <= 0, "longest self-preservation %s is not positive", p.MaxSilence)
	return errors.Join(faults...)
}

// thresholdScale is the number of parts that the threshold is counted in.
const thresholdScale = 10_000

// thresholdParts returns the threshold in parts of thresholdScale.
func (p Policy) thresholdParts() int { return int(math.Round(p.RenewalThreshold * thresholdScale)) }

// threshold returns floor(RenewalThreshold * n). It is counted in integers: a
// product of floating-point numbers may fall just short of a whole number,
// which would be one lease too few.
func (p Policy) threshold(n int) int { return n * p.thresholdParts() / thresholdScale }
