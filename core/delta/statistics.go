package delta

import (
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Statistics describes the registry at the last eviction pass.
type Statistics struct {
	// Pass is when the pass began.
	Pass time.Time
	// Settled is when the last pass began after which readers had been told of
	// every change; zero before the first. It is Pass unless this pass could
	// not do so.
	Settled time.Time
	// Leases counts live leases.
	Leases int
	// Expected and Seen count leases that should have renewed, and did.
	Expected int
	Seen     int
	// Threshold is the number at or below which Seen means self-preservation.
	Threshold int
	// SelfPreservation says that evictions are held back; Enabled, that the
	// setting allows it.
	SelfPreservation bool
	Enabled          bool
	// Evicted counts this pass's evictions.
	Evicted int
	// HashCode is the apps hash code of what the pass found.
	HashCode string
	// HeldBack counts the leases that had expired and that the pass did not
	// try to evict, because of self-preservation or of its limit. Held are
	// their keys, at most [HeldLimit] and in no order. Statistics of before
	// there were these fields have none.
	HeldBack int
	Held     []eureka.Key
}

// Claim is what a pass writes before it evicts, so that of two passes that run
// at the same time only one does.
type Claim struct {
	// Pass is when the pass began.
	Pass time.Time
	// Apart is how far apart two passes must be.
	Apart time.Duration
	// Token is the pass's own, so that it recognizes a claim that it made by a
	// try whose answer was lost.
	Token string
}

// Conflicts reports whether a claim that is stored keeps c from being made. A
// stored claim conflicts from both sides: one that lies far ahead was made
// before a clock was set back and must not stop all passes until then.
func (c Claim) Conflicts(stored Claim) bool {
	apart := c.Pass.Sub(stored.Pass)
	return stored.Token != "" && stored.Token != c.Token && -c.Apart < apart && apart < c.Apart
}

// HeldLimit bounds how many of the leases held back are named, so that
// statistics stay small while a whole large registry is silent.
const HeldLimit = 1000
