package eviction

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// clockSkew is by how much the clocks of writers may differ from this pass's.
const clockSkew = 10 * time.Second

// Runner runs eviction passes. It holds no state between them and is safe for
// concurrent use. Of several passes at once, by whichever runners, only the
// one that claimed the time does anything, so that together they cannot exceed
// the limit of a pass.
type Runner struct {
	cfg Config
}

// New returns a runner, or every fault of the configuration at once.
func New(cfg Config) (*Runner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("eviction configuration: %w", err)
	}
	if cfg.HealingGrace == 0 {
		cfg.HealingGrace = cfg.Interval
	}
	return &Runner{cfg: cfg}, nil
}

// Report is what one pass did.
type Report struct {
	// Scanned says that the table could be read. Without it nothing was found,
	// which is not an empty registry.
	Scanned bool
	// Statistics is what was found and published; its Pass is when the pass
	// began.
	Statistics delta.Statistics
	// Lateness is by how much the pass came late; see [Lateness].
	Lateness time.Duration
	// Skipped says that another pass had claimed this time. Nothing was done.
	Skipped bool
	// OnlyLooked says that no pass before this one was known, or that this one
	// could not claim its time, so that nothing was evicted.
	OnlyLooked bool
	// Tombstones counts the tombstones found.
	Tombstones int
	// Expired counts the leases that had ended; Evicted those that this pass
	// evicted; Spared those that had renewed, or gone, since the scan;
	// Postponed those planned that the eviction time did not reach. The rest
	// was held back by self-preservation or by the limit.
	Expired, Evicted, Spared, Postponed int
	// Failed counts evictions that the store failed.
	Failed int
	// Healed counts the rows written in the place of lost stream records. It
	// is 0 when nothing is wrong.
	Healed int
	// SnapshotEntries is the size of the published snapshot; 0 when none was
	// published.
	SnapshotEntries int
}

// Run runs one pass. The report is valid also with an error, which joins
// everything that went wrong: a pass goes on with what is still possible, and
// everything it did not do is left to the next. Only without a scan is there
// nothing to do.
//
// The first pass of all, and one that cannot read the statistics of the pass
// before, does not know how late it is and whether renewals were possible
// meanwhile: it evicts nothing. An interval later the living have renewed. Nor
// does a pass evict that could not claim its time, since another one might be
// evicting.
func (r *Runner) Run(ctx context.Context) (Report, error) {
	claim := delta.Claim{Pass: r.clock(), Apart: r.cfg.Interval / 2, Token: rand.Text()}
	claimErr := r.cfg.Publications.Claim(ctx, claim)
	if errors.Is(claimErr, eureka.ErrPassClaimed) {
		r.cfg.Logger.InfoContext(ctx, "eviction pass skipped")
		return Report{Skipped: true, Statistics: delta.Statistics{Pass: claim.Pass}}, nil
	}
	if claimErr != nil {
		claimErr = fmt.Errorf("claim pass: %w", claimErr)
	}
	began := claim.Pass
	last, lastErr := r.cfg.Publications.Statistics(ctx)
	if lastErr != nil {
		last, lastErr = delta.Statistics{}, fmt.Errorf("read statistics: %w", lastErr)
	}
	leases, err := r.cfg.Store.Scan(ctx)
	if err != nil {
		return Report{OnlyLooked: true, Statistics: delta.Statistics{Pass: began}},
			errors.Join(claimErr, lastErr, fmt.Errorf("scan leases: %w", err))
	}
	report := Report{Scanned: true, OnlyLooked: last.Pass.IsZero() || claimErr != nil}
	if !last.Pass.IsZero() {
		report.Lateness = Lateness(began, last.Pass, r.cfg.Interval)
	}
	plan := NewPlan(leases, began, r.cfg.Policy, report.Lateness, r.random())
	report.Expired = plan.Expired
	report.Statistics = plan.Statistics
	report.Tombstones = len(leases) - plan.Statistics.Leases

	var evictErr error
	if !report.OnlyLooked {
		evictErr = r.evict(ctx, plan, &report)
	}
	report.Statistics.Evicted = report.Evicted
	err = errors.Join(claimErr, lastErr, evictErr, r.publish(ctx, leases, last.Settled, &report))
	r.log(ctx, &report, last.SelfPreservation)
	return report, err
}

// log writes a line for a pass that did or found something.
func (r *Runner) log(ctx context.Context, report *Report, preservedBefore bool) {
	level, message := slog.LevelDebug, "eviction pass"
	switch {
	case report.Statistics.SelfPreservation && !preservedBefore:
		level, message = slog.LevelWarn, "self-preservation begins: too few leases renew"
	case !report.Statistics.SelfPreservation && preservedBefore:
		level, message = slog.LevelInfo, "self-preservation ends"
	case report.Healed > 0:
		level, message = slog.LevelWarn, "changes healed that no delta carried"
	case report.Evicted > 0 || report.OnlyLooked:
		level = slog.LevelInfo
	}
	r.cfg.Logger.LogAttrs(ctx, level, message,
		slog.Int("leases", report.Statistics.Leases),
		slog.Int("expected", report.Statistics.Expected),
		slog.Int("seen", report.Statistics.Seen),
		slog.Int("threshold", report.Statistics.Threshold),
		slog.Int("expired", report.Expired),
		slog.Int("evicted", report.Evicted),
		slog.Int("spared", report.Spared),
		slog.Int("postponed", report.Postponed),
		slog.Int("failed", report.Failed),
		slog.Int("healed", report.Healed),
		slog.Duration("lateness", report.Lateness),
		slog.Bool("onlyLooked", report.OnlyLooked),
	)
}

// clock returns the time as stores keep it, to the millisecond.
func (r *Runner) clock() time.Time { return r.cfg.Now().Truncate(time.Millisecond) }

// random returns a random source for one pass; sources are not safe for
// concurrent use.
func (r *Runner) random() *mathrand.Rand {
	return mathrand.New(mathrand.NewPCG(r.cfg.Seed(), r.cfg.Seed()))
}
