// Package view is the warm container's read-only view of the registry,
// from which lists are answered.
//
// A [View] is the registry at a boundary, a multiple of the interval: it holds
// exactly the rows of the delta table written up to then, whenever it is read,
// so that all containers agree. A [Cache] turns over from view to view. It does
// so on a request, never in the background, since a frozen container runs
// nothing: a refresh reads the rows written since the last boundary; a
// container that was frozen for longer than rows are kept loads anew.
//
// Work grows with the change, not with the registry. A view shares with the
// one before whatever did not change (list.go); bodies are made when they are
// first asked for, from pieces that are encoded and compressed once and reused
// until one of their applications changes (document.go).
package view

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Defaults of [Config].
const (
	DefaultRetention      = 3 * time.Minute
	DefaultRetryPause     = time.Second
	DefaultRefreshTimeout = 5 * time.Second
)

// Config is what a [Cache] works with.
type Config struct {
	// Source is where views come from; required.
	Source Source
	// Interval is the time between boundaries. With 0 each view is of its own
	// moment: [Cache.View] is a consistent scan of the lease table, and
	// [Cache.DeltaView] reads the delta table each time.
	Interval time.Duration
	// Retention is how long the delta answer shows a change. Sources must
	// keep rows for as long as [delta.RowLifetime] says of it. Default
	// [DefaultRetention].
	Retention time.Duration
	// Offset is how long after a boundary this container turns over, as a
	// fraction of the interval below 1; default a random one from 0.1 to 0.2.
	Offset float64
	// RetryPause is how long a view that could not be refreshed is served
	// before a request tries again; default [DefaultRetryPause].
	RetryPause time.Duration
	// RefreshTimeout bounds a refresh, so that a request that waited for it
	// in vain still gets the old view in time; default
	// [DefaultRefreshTimeout].
	RefreshTimeout time.Duration
	// ListMemory is how many bytes the bodies of applications, VIPs and regions
	// take together; default [DefaultListMemory].
	ListMemory int64
	// OnRefresh, if not nil, is called after each try to make a view, by the
	// request that made it; for metrics.
	OnRefresh func(context.Context, Refresh)
	// Now is the servers' clock; default time.Now. Elapsed is a clock that
	// nobody sets, from any beginning; it tells when Now was set back. Default
	// the process's monotonic clock.
	Now     func() time.Time
	Elapsed func() time.Duration
	// Logger gets refreshes that failed; default slog.Default().
	Logger *slog.Logger
}

// Cache holds the current view. It is safe for concurrent use and starts no
// goroutine.
type Cache struct {
	cfg       Config
	schedule  schedule
	current   atomic.Pointer[View]
	documents documents
	deflaters deflaters

	// slot is taken by the one goroutine that loads or refreshes.
	slot chan struct{}
	// tries counts loads and refreshes that came to an end.
	tries atomic.Int64
	// Owned by the holder of slot: why the last try failed, unless it was only
	// given up by its request; and when a view that could not be refreshed may
	// be tried again.
	lastErr error
	retryAt time.Time

	scans scans
}

// New returns a cold cache. It panics when cfg has no Source.
func New(cfg Config) *Cache {
	if cfg.Source == nil {
		panic("view: no source")
	}
	if cfg.Retention == 0 {
		cfg.Retention = DefaultRetention
	}
	if cfg.Offset == 0 {
		cfg.Offset = 0.1 + rand.Float64()/10
	}
	if cfg.RetryPause == 0 {
		cfg.RetryPause = DefaultRetryPause
	}
	if cfg.RefreshTimeout == 0 {
		cfg.RefreshTimeout = DefaultRefreshTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Elapsed == nil {
		began := time.Now()
		cfg.Elapsed = func() time.Duration { return time.Since(began) }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	offset := time.Duration(float64(cfg.Interval) * cfg.Offset)
	c := &Cache{cfg: cfg, schedule: schedule{cfg.Interval, offset}, slot: make(chan struct{}, 1), scans: newScans()}
	c.deflaters.shelf.limit = cfg.ListMemory
	return c
}

// View returns the view that is due. When one is to be made, one request makes
// it while others get the view before. A view that cannot be replaced stays
// and says so by [View.Stale]; a cache that has none returns the source's
// error, to all who waited for the same try.
func (c *Cache) View(ctx context.Context) (*View, error) {
	if c.cfg.Interval == 0 {
		return c.scans.view(ctx, c.scan)
	}
	return c.turned(ctx)
}

// DeltaView returns the view that deltas are answered from: that of
// [Cache.View], or with an interval of 0 the one that the delta table makes at
// this moment. The latter may trail by the stream's delay, but its deltas and
// its hash code belong together.
func (c *Cache) DeltaView(ctx context.Context) (*View, error) { return c.turned(ctx) }

// turned returns the current view, turned over if that is due.
func (c *Cache) turned(ctx context.Context) (*View, error) {
	now := c.cfg.Now()
	v := c.current.Load()
	switch {
	case v == nil:
		return c.first(ctx)
	case !c.due(v, now):
		return v, nil
	case c.cfg.Interval == 0:
		return c.atLeast(ctx, now)
	}
	select {
	case c.slot <- struct{}{}:
		defer func() { <-c.slot }()
		c.turn(ctx, now)
		return c.current.Load(), nil
	default:
		return v, nil
	}
}

// due reports whether v is to be replaced: by the view of a later boundary, or
// because the clock was set back.
func (c *Cache) due(v *View, now time.Time) bool {
	boundary := c.schedule.boundary(now)
	return boundary.After(v.boundary) || c.setBack(v, now) || c.cfg.Interval == 0 && boundary.Before(v.boundary)
}

// setBack reports whether the clock was set back since v was made, so far that
// rows written since then may lie before all that a refresh would read. Either v
// lies ahead of the clock, or less time has passed on it than really has: the
// clock may have caught up before anybody asked.
func (c *Cache) setBack(v *View, now time.Time) bool {
	return ahead(v.boundary, now) || c.cfg.Elapsed()-v.madeElapsed-now.Sub(v.made) >= overlap
}

// ahead reports whether a time that was the present when it was noted lies so
// far ahead of the clock that a refresh from then on would miss rows that are
// written now.
func ahead(noted, now time.Time) bool { return noted.Sub(now) >= overlap }

// pausing reports whether a failed refresh is too recent for another one. No
// pause is longer than it was meant to be, whatever became of the clock.
func (c *Cache) pausing(now time.Time) bool {
	left := c.retryAt.Sub(now)
	return left > 0 && left <= c.cfg.RetryPause
}

// first makes the first view, or waits for the request that is about it.
func (c *Cache) first(ctx context.Context) (*View, error) {
	tries := c.tries.Load()
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.slot }()
	if v := c.current.Load(); v != nil {
		return v, nil
	}
	if c.tries.Load() != tries && c.lastErr != nil {
		return nil, c.lastErr // of the try that this request waited for
	}
	now := c.cfg.Now()
	return c.replace(ctx, nil, c.schedule.boundary(now), now)
}

// atLeast returns a view of that moment or a later one.
func (c *Cache) atLeast(ctx context.Context, moment time.Time) (*View, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.slot }()
	if c.due(c.current.Load(), moment) {
		c.turn(ctx, c.cfg.Now())
	}
	return c.current.Load(), nil
}

// take takes the slot.
func (c *Cache) take(ctx context.Context) error {
	select {
	case c.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turn replaces the current view if that is due, and keeps it if that fails.
func (c *Cache) turn(ctx context.Context, now time.Time) {
	v := c.current.Load()
	if !c.due(v, now) || c.pausing(now) {
		return
	}
	bounded, cancel := early(ctx)
	defer cancel()
	_, err := c.replace(bounded, v, c.schedule.boundary(now), now)
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return // a request that was given up says nothing of the source
	}
	v.stale.Store(true)
	c.retryAt = c.cfg.Now().Add(c.cfg.RetryPause)
	c.cfg.Logger.WarnContext(ctx, "view not refreshed", "error", err, "boundary", v.boundary)
}

// replace makes the view of a boundary the current one. old is the one before,
// or nil; it is of no use when a row that it lacks may have left the delta's
// window already (TestThaw), or when the clock was set back since
// (TestClockSetBack).
func (c *Cache) replace(ctx context.Context, old *View, boundary, began time.Time) (*View, error) {
	var s *state
	var err error
	t := Refresh{Boundary: boundary}
	elapsed := c.cfg.Elapsed()
	switch {
	case old != nil && c.setBack(old, began):
		// A snapshot from before would be taken for one of the present.
		s, err = c.load(ctx, boundary, c.scanned, &t)
	case old == nil || boundary.Sub(old.boundary) > c.cfg.Retention-overlap:
		s, err = c.load(ctx, boundary, c.base, &t)
	default:
		s, err = c.refresh(ctx, old, boundary, &t)
	}
	c.lastErr = nil
	if ctx.Err() == nil {
		c.lastErr = err
	}
	c.tries.Add(1)
	t.Took, t.Err = c.cfg.Now().Sub(began), err
	if c.cfg.OnRefresh != nil {
		c.cfg.OnRefresh(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	v := newView(s, boundary, c.schedule.next(boundary), &c.documents, &c.deflaters)
	v.made, v.madeElapsed = began.Round(0), elapsed
	c.documents.forget(boundary.Add(-keptTurns * c.cfg.Interval))
	c.current.Store(v)
	return v, nil
}
