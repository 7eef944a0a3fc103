package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/delta"
)

// sparingLimits say how often a [sparing] value is read anew: as often as people
// and load balancers look, but not as often as somebody can send requests.
var sparingLimits = access.Limits{PerSecond: 1, Burst: 10, MaxNames: 1}

// sparing is a value that is read from the table for whoever asks, some ten
// times in a row and then once a second; in between the last result stands. It
// is safe for concurrent use.
type sparing[T any] struct {
	now   func() time.Time
	reads *access.Buckets

	mu   sync.Mutex // guards the rest
	read bool
	last T
	err  error
}

func newSparing[T any](now func() time.Time) *sparing[T] {
	return &sparing[T]{now: now, reads: access.NewBuckets(sparingLimits)}
}

// get returns what read returns, or what it returned last.
func (s *sparing[T]) get(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	if _, ok := s.reads.Take("", s.now()); !ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.read {
			return s.last, s.err
		}
	}
	value, err := read(ctx)
	if ctx.Err() != nil {
		return value, err // a request that was given up says nothing of the table
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read, s.last, s.err = true, value, err
	return value, err
}

// sparingPublications reads publications sparingly.
type sparingPublications struct {
	of         Publications
	statistics *sparing[delta.Statistics]
	recent     *sparing[delta.Recent]
}

func newSparingPublications(of Publications, now func() time.Time) *sparingPublications {
	return &sparingPublications{of: of, statistics: newSparing[delta.Statistics](now), recent: newSparing[delta.Recent](now)}
}

// Statistics returns the statistics of the last pass.
func (p *sparingPublications) Statistics(ctx context.Context) (delta.Statistics, error) {
	return p.statistics.get(ctx, p.of.Statistics)
}

// Recent returns the last registrations and cancellations.
func (p *sparingPublications) Recent(ctx context.Context) (delta.Recent, error) {
	return p.recent.get(ctx, p.of.Recent)
}
