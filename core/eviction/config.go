package eviction

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Config is what a [Runner] works with. Start from [DefaultConfig] and set the
// three stores; all other fields have their defaults then.
type Config struct {
	// Store, Deltas and Publications are required. One value may serve for all.
	Store        Store
	Deltas       Deltas
	Publications Publications

	// Policy says what may be evicted; default [DefaultPolicy].
	Policy Policy
	// Interval is the pace at which passes are called for, by which a pass
	// knows that it is late; positive; default 60 s.
	Interval time.Duration
	// Retention is the window of the deltas, which says for how long rows live;
	// see [delta.RowLifetime]; positive; default 180 s.
	Retention time.Duration
	// SnapshotInterval is the age from which on the published snapshot is
	// replaced, however little has changed; positive, well below
	// [delta.SnapshotMaxAge]; default 10 min.
	SnapshotInterval time.Duration
	// HealingGrace is how old a change must be before a row is written in the
	// place of its stream record, which may just be on its way. Not negative;
	// default 0: one Interval.
	HealingGrace time.Duration
	// EvictionTime is how long the evictions of one pass may take, so that
	// time is left for publishing; positive; default 30 s. What it does not
	// reach is left to the next pass.
	EvictionTime time.Duration
	// Concurrency is how many operations on single leases are under way at
	// once; positive; default 32.
	Concurrency int

	// Now is the servers' clock; default time.Now.
	Now func() time.Time
	// Seed starts each pass's random source; safe for concurrent use; default
	// rand.Uint64.
	Seed func() uint64
	// Logger gets a line for each pass that did something; default none.
	Logger *slog.Logger
}

// DefaultConfig returns the documented defaults, without stores.
func DefaultConfig() Config {
	return Config{
		Policy:           DefaultPolicy(),
		Interval:         time.Minute,
		Retention:        3 * time.Minute,
		SnapshotInterval: 10 * time.Minute,
		EvictionTime:     30 * time.Second,
		Concurrency:      32,
		Now:              time.Now,
		Seed:             rand.Uint64,
		Logger:           slog.New(slog.DiscardHandler),
	}
}

// Validate reports every fault of the configuration at once.
func (c *Config) Validate() error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(c.Store == nil, "no store")
	fault(c.Deltas == nil, "no deltas")
	fault(c.Publications == nil, "no publications")
	fault(c.Interval <= 0, "interval %s is not positive", c.Interval)
	fault(c.Retention <= 0, "retention %s is not positive", c.Retention)
	fault(c.SnapshotInterval <= 0, "snapshot interval %s is not positive", c.SnapshotInterval)
	fault(c.HealingGrace < 0, "healing grace %s is negative", c.HealingGrace)
	fault(c.EvictionTime <= 0, "eviction time %s is not positive", c.EvictionTime)
	fault(c.Concurrency <= 0, "concurrency %d is not positive", c.Concurrency)
	fault(c.Now == nil, "no clock")
	fault(c.Seed == nil, "no seed")
	fault(c.Logger == nil, "no logger")
	return errors.Join(append(faults, c.Policy.Validate())...)
}
