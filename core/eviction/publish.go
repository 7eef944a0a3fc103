package eviction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// A snapshot costs write units by the size of the registry, so it is published
// when it is due and not at every pass: when enough rows have been written since
// the last one, a tenth of the registry and at least snapshotRows, or after
// [Config.SnapshotInterval].
const (
	snapshotRows  = 100
	snapshotShare = 10
)

// statisticsTime is what is left of a pass's time for the statistics.
const statisticsTime = 5 * time.Second

// publish brings readers what they miss and leaves statistics, recent events
// and, when it is due, the snapshot for them. settled is that of the pass
// before.
func (r *Runner) publish(ctx context.Context, leases []eureka.Lease, settled time.Time, report *Report) error {
	limited, cancel := reserving(ctx, statisticsTime)
	defer cancel()
	history, err := r.history(limited, report.Statistics.Pass, settled)
	var errs []error
	if err == nil {
		report.Healed, err = r.heal(limited, history, leases)
		if recentErr := r.publishRecent(limited, history.unseen()); recentErr != nil {
			errs = append(errs, fmt.Errorf("publish recent events: %w", recentErr))
		}
	}
	report.Statistics.Settled = settled
	if err == nil {
		report.Statistics.Settled = history.began
	}
	if putErr := r.cfg.Publications.PutStatistics(ctx, report.Statistics); putErr != nil {
		errs = append(errs, fmt.Errorf("publish statistics: %w", putErr))
	}
	// A snapshot is also what later passes compare with, so it is only replaced
	// when all that differs from it is known to have reached the readers.
	if err == nil && r.due(history, len(leases), report.Healed) {
		err = r.publishSnapshot(ctx, leases, report)
	}
	return errors.Join(append(errs, err)...)
}

// reserving returns a context that ends so much before ctx does.
func reserving(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-d))
}

// due reports whether a snapshot is to be published: also when there is none,
// or one that begins ahead of the clock, as after a clock was set back.
func (r *Runner) due(h *history, entries, healed int) bool {
	if h.snapshot == nil || h.snapshot.Began.After(h.began.Add(clockSkew)) {
		return true
	}
	written := healed
	for i := range h.rows {
		if h.rows[i].Written.After(h.snapshot.Began) {
			written++
		}
	}
	return h.began.Sub(h.snapshot.Began) >= r.cfg.SnapshotInterval || written > max(snapshotRows, entries/snapshotShare)
}

// publishSnapshot publishes the registry as the scan found it. What this pass
// evicted is in it as it was: the tombstones' versions are not known here, and
// their rows complete it like those of every other write after the scan began.
func (r *Runner) publishSnapshot(ctx context.Context, leases []eureka.Lease, report *Report) error {
	s := &delta.Snapshot{Began: report.Statistics.Pass, Entries: make([]delta.Entry, len(leases))}
	for i := range leases {
		l := &leases[i]
		s.Entries[i] = delta.Entry{Key: l.Key, Version: l.Version, Instance: l.Effective()}
	}
	if err := r.cfg.Publications.PutSnapshot(ctx, s); err != nil {
		return fmt.Errorf("publish snapshot: %w", err)
	}
	report.SnapshotEntries = len(s.Entries)
	return nil
}

// history is what readers were told before this pass, as far as it is known.
type history struct {
	// began is when this pass began, and grace how old a change is before it
	// may count as lost.
	began time.Time
	grace time.Duration
	// snapshot was published by an earlier pass; nil: there is none.
	snapshot *delta.Snapshot
	// settled is when the last pass began that left nothing unhealed; zero when
	// there was none, or when it lies ahead of the clock.
	settled time.Time
	// rows are those that may carry what changed since the snapshot; without
	// one, since settled.
	rows []delta.Row
}

// history reads what readers were told.
func (r *Runner) history(ctx context.Context, began, settled time.Time) (*history, error) {
	h := &history{began: began, grace: r.cfg.HealingGrace}
	if !settled.After(began) {
		h.settled = settled
	}
	var err error
	h.snapshot, err = r.cfg.Publications.Snapshot(ctx)
	if err != nil && !errors.Is(err, eureka.ErrNoSnapshot) {
		return nil, fmt.Errorf("heal: read snapshot: %w", err)
	}
	until := r.clock().Add(clockSkew)
	h.rows, err = r.cfg.Deltas.Deltas(ctx, h.since(until.Add(-delta.RowLifetime(r.cfg.Retention))), until)
	if err != nil {
		return nil, fmt.Errorf("read deltas: %w", err)
	}
	return h, nil
}

// since returns from when on rows are read, at the earliest the given time.
func (h *history) since(earliest time.Time) time.Time {
	since := h.settled
	if h.snapshot != nil {
		since = h.snapshot.Began
	}
	if since.After(h.began) {
		since = h.began
	}
	since = since.Add(-h.grace - clockSkew)
	if since.Before(earliest) {
		return earliest
	}
	return since
}

// unseen returns the rows that no earlier pass can be sure to have seen.
func (h *history) unseen() []delta.Row {
	since := h.settled.Add(-h.grace - clockSkew)
	var rows []delta.Row
	for i := range h.rows {
		if h.rows[i].Written.After(since) {
			rows = append(rows, h.rows[i])
		}
	}
	return rows
}
