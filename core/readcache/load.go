package readcache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

const (
	// overlap is how far behind the last cut a refresh reads again: a row may
	// become visible later than it says that it was written.
	overlap = 10 * time.Second
	// snapshotOverlap is the same for a snapshot: a row's change may be older
	// than the row, by the stream's delay and retries.
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

// load returns the state of a boundary read anew.
func (c *Cache) load(ctx context.Context, boundary time.Time, t *Turn) (*state, error) {
	base, began, err := c.base(ctx, boundary, t)
	if err != nil {
		return nil, err
	}
	since := boundary.Add(-c.cfg.Retention)
	if t.Origin == FromSnapshot && began.Add(-snapshotOverlap).Before(since) {
		since = began.Add(-snapshotOverlap)
	}
	return c.apply(ctx, base, since, boundary, t)
}

// base returns the published snapshot, or where there is none that the delta
// table still completes, what a scan finds. Either may be ahead of the
// boundary. The view is ahead then, until its rows are within the boundary;
// versions keep it from going back.
func (c *Cache) base(ctx context.Context, boundary time.Time, t *Turn) (*state, time.Time, error) {
	s, err := c.cfg.Source.Snapshot(ctx)
	switch {
	case errors.Is(err, eureka.ErrNoSnapshot):
	case err != nil:
		return nil, time.Time{}, fmt.Errorf("read snapshot: %w", err)
	case boundary.Sub(s.Began.Add(-snapshotOverlap)) <= c.cfg.Retention:
		t.Origin = FromSnapshot
		for i, e := range s.Entries {
			if e.Instance != nil {
				s.Entries[i].Instance = Settled(e.Instance)
			}
		}
		return newState(s.Entries, boundary), s.Began, nil
	}
	t.Origin = FromScan
	leases, err := c.cfg.Source.Scan(ctx)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("scan leases: %w", err)
	}
	entries := leaseEntries(leases)
	for _, e := range entries {
		if e.Instance != nil {
			e.Instance.Lease.LastRenewed = e.Instance.Lease.Registered // as Settled, on a copy of its own
		}
	}
	return newState(entries, boundary), time.Time{}, nil
}

// refresh returns the state of a boundary made from an earlier view.
func (c *Cache) refresh(ctx context.Context, v *View, boundary time.Time, t *Turn) (*state, error) {
	t.Origin = FromDeltas
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RefreshTimeout)
	defer cancel()
	return c.apply(ctx, v.state, v.boundary.Add(-overlap), boundary, t)
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
