package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eurekaless/registry/core/delta"
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

// Refresh describes how a view came to be, or why it did not.
type Refresh struct {
	// Origin is empty if a load failed before it was known.
	Origin   Origin
	Boundary time.Time
	// Rows counts what was read of the delta table, Changed the instances
	// that it changed.
	Rows, Changed int
	// Keys are those of the changed instances. After a load, which is not from
	// deltas, others may have changed too since the view before.
	Keys []eureka.Key
	Took time.Duration
	// Err is why there is no new view.
	Err error
}

// load returns the state of a boundary read anew: a base, the rows that
// complete it, and the rows of the retention, which are the delta.
func (c *Cache) load(ctx context.Context, boundary time.Time, from func(context.Context, time.Time, *Refresh) (*state, error), t *Refresh) (*state, error) {
	base, err := from(ctx, boundary, t)
	if err != nil {
		return nil, err
	}
	since := boundary.Add(-c.cfg.Retention)
	if complete := base.read.Add(-snapshotOverlap); t.Origin == FromSnapshot && complete.Before(since) {
		since = complete
	}
	rows, err := c.rows(ctx, since, boundary)
	if err != nil {
		return nil, err
	}
	return c.apply(base, rows, boundary, t), nil
}

// known returns the rows without those that s cannot have missed, written
// before its base was read, and yet does not hold: they are stream records that
// were repeated after their lease and its version had left the table by its
// TTL. Nothing in s would keep such a row from bringing the lease back
// (TestOldRecordBringsNobodyBack).
func (s *state) known(rows []delta.Row) []delta.Row {
	certain := s.read.Add(-overlap)
	return slices.DeleteFunc(rows, func(r delta.Row) bool {
		if !r.Written.Before(certain) {
			return false
		}
		held, _ := s.held(s.application(r.Key.App), r.Key)
		return r.Version > held.version && (held.instance != nil || !r.Deleted())
	})
}

// base returns the published snapshot, or where there is none that can be used,
// what a scan finds. Either may be ahead of the
// boundary. The view is ahead then, until its rows are within the boundary;
// versions keep it from going back (TestColdContainerAhead).
func (c *Cache) base(ctx context.Context, boundary time.Time, t *Refresh) (*state, error) {
	s, err := c.cfg.Source.Snapshot(ctx)
	if err != nil && !errors.Is(err, eureka.ErrNoSnapshot) {
		return nil, fmt.Errorf("load view: %w", err)
	}
	if err == nil && c.usable(s) {
		t.Origin = FromSnapshot
		entries := slices.Clone(s.Entries)
		for i, e := range entries {
			if e.Instance != nil {
				entries[i].Instance = Settled(e.Instance)
			}
		}
		return newState(entries, boundary).readAt(s.Began), nil
	}
	return c.scanned(ctx, boundary, t)
}

// scanned returns what a scan of the lease table finds.
func (c *Cache) scanned(ctx context.Context, boundary time.Time, t *Refresh) (*state, error) {
	t.Origin = FromScan
	began := c.cfg.Now()
	leases, err := c.cfg.Source.Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("load view: %w", err)
	}
	entries := leaseEntries(leases)
	for _, e := range entries {
		if e.Instance != nil {
			e.Instance.Lease.LastRenewed = e.Instance.Lease.Registered // as Settled, on a copy of its own
		}
	}
	return newState(entries, boundary).readAt(began), nil
}

// usable reports whether rows complete a snapshot. One that begins ahead of the
// clock was published under another clock, or before this one was set back:
// which rows it holds cannot be told from its time.
func (c *Cache) usable(s *delta.Snapshot) bool {
	now := c.cfg.Now()
	return !ahead(s.Began, now) && now.Sub(s.Began) <= delta.SnapshotMaxAge
}

// refresh returns the state of a boundary made from an earlier view.
func (c *Cache) refresh(ctx context.Context, v *View, boundary time.Time, t *Refresh) (*state, error) {
	t.Origin = FromDeltas
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RefreshTimeout)
	defer cancel()
	rows, err := c.rows(ctx, v.boundary.Add(-overlap), boundary)
	if err != nil {
		return nil, err
	}
	return c.apply(v.state, rows, boundary, t), nil
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

// rows reads the rows written after since, up to boundary.
func (c *Cache) rows(ctx context.Context, since, boundary time.Time) ([]delta.Row, error) {
	rows, err := c.cfg.Source.Deltas(ctx, since, boundary)
	if err != nil {
		return nil, fmt.Errorf("bring view up to %s: %w", boundary.Format(time.RFC3339), err)
	}
	return rows, nil
}

// apply returns the state after rows.
func (c *Cache) apply(s *state, rows []delta.Row, boundary time.Time, t *Refresh) *state {
	rows = s.known(rows)
	t.Rows = len(rows)
	next, changed := s.apply(rows, boundary, c.cfg.Retention)
	t.Changed, t.Keys = len(changed), changed
	return next
}
