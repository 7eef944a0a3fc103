package eureka

import (
	"time"
)

// Lease is one instance's entry in the lease table, as Eureka's
// Lease<InstanceInfo>, or the tombstone of one. A Lease read from a store
// belongs to the caller; its Instance is shared and must not be changed.
type Lease struct {
	Key Key
	// Instance is what was registered, with the instance's own word on its
	// status; nil in a tombstone. [Lease.Effective] is what readers see.
	Instance *InstanceInfo
	// Version is the only order between the states of one instance. Each
	// write that changes what readers see makes it greater; renewals leave it
	// alone. Tombstones have one too.
	Version int64
	// Status is the effective status.
	Status Status
	// Overridden is the administrator's override; empty when there is none. A
	// tombstone left by an eviction may keep one.
	Overridden Status
	Action     ActionType
	// Dirty is on the client's clock, the other times are on the servers'.
	Dirty      time.Time
	Updated    time.Time
	Registered time.Time
	Renewed    time.Time
	// ServiceUp is when the instance was first UP; zero before.
	ServiceUp time.Time
	Interval  time.Duration
	Duration  time.Duration
	// Quiet is for how long after Renewed its writer may answer heartbeats
	// without writing them; it counts up to the duration. Zero: every heartbeat
	// is written.
	Quiet time.Duration
	// Gone is when a tombstone was cancelled or evicted; zero in a lease.
	Gone time.Time
}

// Tombstone reports whether the lease was cancelled or evicted.
func (l *Lease) Tombstone() bool { return l.Instance == nil }

// Effective returns the instance as readers see it, or nil for a tombstone.
// Maps are shared with Instance.
func (l *Lease) Effective() *InstanceInfo {
	if l.Instance == nil {
		return nil
	}
	out := *l.Instance
	out.Status = l.Status
	out.OverriddenStatus = l.Overridden
	if out.OverriddenStatus == "" {
		out.OverriddenStatus = Unknown
	}
	out.Action = l.Action
	out.LastDirty, out.LastUpdated = l.Dirty, l.Updated
	out.Lease = LeaseInfo{
		RenewalInterval: l.Interval,
		Duration:        l.Duration,
		Registered:      l.Registered,
		LastRenewed:     l.Renewed,
		ServiceUp:       l.ServiceUp,
	}
	return &out
}

// quiet returns the part of Quiet that counts.
func (l *Lease) quiet() time.Duration { return min(l.Quiet, l.Duration) }

// End returns when the lease expires unless it is renewed: one duration after
// the last heartbeat. (Netflix's code makes it two by accident and documents
// one.) The last heartbeat may be later than Renewed by what Quiet allows.
// Eviction, pages and TTL all use this one function.
func (l *Lease) End() time.Time { return l.Renewed.Add(l.Duration + l.quiet()) }

// Expired reports whether the lease ended more than allowance before now. The
// allowance covers clocks that differ and an eviction pass that is late. A
// tombstone is not expired.
func (l *Lease) Expired(now time.Time, allowance time.Duration) bool {
	return !l.Tombstone() && now.After(l.End().Add(allowance))
}

// Seen reports whether the lease was renewed as recently as a living instance's
// is: within twice its interval, or, where heartbeats may go unwritten, within
// the quiet time and one interval. allowance covers clocks that differ.
func (l *Lease) Seen(now time.Time, allowance time.Duration) bool {
	return l.Silent(now) <= l.seenFor()+allowance
}

func (l *Lease) seenFor() time.Duration { return max(2*l.Interval, l.quiet()+l.Interval) }

// maxSilencedWith bounds [Lease.SilencedWith], for intervals that are nearly as
// long as the duration.
const maxSilencedWith = 2

// SilencedWith estimates how many leases fell silent at once for each one that
// is not seen any more and has not expired: itself and those that still look
// alive because their last renewal was written later. The renewals of living
// instances are spread over the time between two writes. With a quiet time that
// may be longer than the time from not being seen to the end, so that the first
// leases of a broken network would expire before the last ones were missed.
// Without a quiet time it is 1.
func (l *Lease) SilencedWith() float64 {
	noticed := l.Duration + l.quiet() - l.seenFor()
	if l.quiet() <= 0 || l.Interval <= 0 || noticed <= 0 {
		return 1
	}
	heartbeats := (l.quiet() + l.Interval - 1) / l.Interval // from one write to the next
	return min(max(1, float64(heartbeats*l.Interval)/float64(noticed)), maxSilencedWith)
}

// Silent returns for how long no renewal has been written.
func (l *Lease) Silent(now time.Time) time.Duration { return now.Sub(l.Renewed) }

// EffectiveStatus returns the status that readers see: an instance that does
// not offer itself (neither UP nor OUT_OF_SERVICE) is believed; otherwise an
// override counts; otherwise the instance's own word. The stock server also
// keeps the status of an existing lease, since a peer may know better; with
// one store there is no such peer (TestH28).
func EffectiveStatus(own, overridden Status) Status {
	if own != Up && own != OutOfService {
		return own
	}
	if HasOverride(overridden) {
		return overridden
	}
	return own
}

// HasOverride reports whether the status is an override: UNKNOWN and the
// empty one mean none.
func HasOverride(overridden Status) bool {
	return overridden != "" && overridden != Unknown
}
