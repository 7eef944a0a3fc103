package view

import (
	"context"
	"fmt"
	"sync/atomic"
)

// scans makes views that are each of their own moment, one at a time: a request
// gets a view whose scan began after the request came, and so many requests at
// once share one scan and its memory.
type scans struct {
	// slot is taken by the one goroutine that scans.
	slot chan struct{}
	// begun counts scans that began.
	begun atomic.Int64
	// latest is the last view; owned by the holder of slot.
	latest *View
	// number is that of latest's scan.
	number int64
}

func newScans() scans { return scans{slot: make(chan struct{}, 1)} }

// Scans reports whether each view is a scan of the lease table.
func (c *Cache) Scans() bool { return c.cfg.Interval == 0 }

// view returns the view of a scan that began after this call.
func (s *scans) view(ctx context.Context, scan func(context.Context) (*View, error)) (*View, error) {
	came := s.begun.Load()
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.latest != nil && s.number > came {
		return s.latest, nil
	}
	s.latest = nil // its memory is for the next
	number := s.begun.Add(1)
	v, err := scan(ctx)
	if err != nil {
		return nil, err
	}
	s.latest, s.number = v, number
	return v, nil
}

// scan returns a view of the lease table at this moment.
func (c *Cache) scan(ctx context.Context) (*View, error) {
	now := c.cfg.Now()
	leases, err := c.cfg.Source.Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("scan for view: %w", err)
	}
	s := newState(leaseEntries(leases), now)
	return newView(s, now, now, &documents{}, &c.deflaters), nil
}
