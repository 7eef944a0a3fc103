package readcache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

const (
	// overlap is how far behind the last cut a refresh reads again: a row may
	// become visible later than it says that it was written.
	overlap = 10 * time.Second
	// snapshotOverlap is how far behind its beginning rows complete a snapshot.
	snapshotOverlap = time.Minute
)

// Origin says where a view's content came from.
type Origin string

// The origins of views.
const (
	// FromSnapshot and FromScan are whole loads.
	FromSnapshot Origin = "snapshot"
	FromScan     Origin = "scan"
	// FromDeltas is a refresh of the view before.
	FromDeltas Origin = "deltas"
)

// Turn describes how a view came to be, or why it did not.
type Turn struct {
	// Origin is empty if a load failed before it was known.
	Origin   Origin
	Boundary time.Time
	// Rows counts what was read of the delta table, Changed the instances
	// that it changed.
	Rows, Changed int
	Took          time.Duration
	// Err is why there is no new view.
	Err error
}

// load returns the state of a boundary read anew: a base, and the rows of the
// retention, which complete it and are the delta.
func (c *Cache) load(ctx context.Context, boundary time.Time, t *Turn) (*state, error) {
	base, err := c.base(ctx, boundary, t)
	if err != nil {
		return nil, err
	}
	return c.apply(ctx, base, boundary.Add(-c.cfg.Retention), boundary, t)
}

// base returns the published snapshot, or where there is none that the rows of
// the retention complete, what a scan finds. Either may be ahead of the
// boundary. The view is ahead then, until its rows are within the boundary;
// versions keep it from going back (TestColdContainerAhead).
func (c *Cache) base(ctx context.Context, boundary time.Time, t *Turn) (*state, error) {
	s, err := c.cfg.Source.Snapshot(ctx)
	if err != nil && !errors.Is(err, eureka.ErrNoSnapshot) {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	if err == nil && !s.Began.Add(-snapshotOverlap).Before(boundary.Add(-c.cfg.Retention)) {
		t.Origin = FromSnapshot
		entries := slices.Clone(s.Entries)
		for i, e := range entries {
			if e.Instance != nil {
				entries[i].Instance = Settled(e.Instance)
			}
		}
		return newState(entries, boundary), nil
	}
	t.Origin = FromScan
	leases, err := c.cfg.Source.Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("scan leases: %w", err)
	}
	entries := leaseEntries(leases)
	for _, e := range entries {
		if e.Instance != nil {
			e.Instance.Lease.LastRenewed = e.Instance.Lease.Registered // as Settled, on a copy of its own
		}
	}
	return newState(entries, boundary), nil
}

// refresh returns the state of a boundary made from an earlier view.
func (c *Cache) refresh(ctx context.Context, v *View, boundary time.Time, t *Turn) (*state, error) {
	t.Origin = FromDeltas
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RefreshTimeout)
	defer cancel()
	return c.apply(ctx, v.state, v.boundary.Add(-overlap), boundary, t)
}

// early returns a context that ends before ctx does, in time to answer with
// the view that is there.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	const reserve = time.Second
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-reserve))
	}
	return ctx, func() {}
}

// apply returns the state after the rows written after since, up to boundary.
func (c *Cache) apply(ctx context.Context, s *state, since, boundary time.Time, t *Turn) (*state, error) {
	rows, err := c.cfg.Source.Deltas(ctx, since, boundary)
	if err != nil {
		return nil, fmt.Errorf("read deltas: %w", err)
	}
	t.Rows = len(rows)
	s, t.Changed = s.apply(rows, boundary, c.cfg.Retention)
	return s, nil
}
