package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/published"
)

// rowKey is the key of a row in the delta table: partition and sort key.
type rowKey struct {
	bucket   int64
	sequence string
	key      eureka.Key
}

// bucketLength is the time that one partition of the delta table covers.
const bucketLength = 10 * time.Second

// Put implements [delta.Sink]. All rows are written, or none.
func (s *Store) Put(ctx context.Context, rows []delta.Row) error {
	if err := ended(ctx); err != nil {
		return unwritten(rows, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		r.Instance, r.Written = keptInstance(r.Instance), millis(r.Written)
		s.rows[rowKey{r.Written.UnixMilli() / bucketLength.Milliseconds(), r.Sequence, r.Key}] = r
	}
	return nil
}

// unwritten says that none of the rows was written.
func unwritten(rows []delta.Row, err error) error {
	e := &delta.UnwrittenError{Err: err}
	for i := range rows {
		e.Indexes = append(e.Indexes, i)
	}
	return e
}

// Deltas implements [eviction.Deltas] and [readcache.Source].
func (s *Store) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []delta.Row
	for _, r := range s.rows {
		if r.Written.After(millis(since)) && !r.Written.After(millis(until)) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b delta.Row) int {
		return cmp.Or(a.Written.Compare(b.Written), cmp.Compare(a.Sequence, b.Sequence), compareKeys(a.Key, b.Key))
	})
	return found, nil
}

// Snapshot implements [eviction.Publications] and [readcache.Source].
func (s *Store) Snapshot(ctx context.Context) (*published.Snapshot, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot == nil {
		return nil, eureka.ErrNoSnapshot
	}
	return &published.Snapshot{Began: s.snapshot.Began, Entries: slices.Clone(s.snapshot.Entries)}, nil
}

// PutSnapshot implements [eviction.Publications].
func (s *Store) PutSnapshot(ctx context.Context, snapshot *published.Snapshot) error {
	if err := ended(ctx); err != nil {
		return err
	}
	kept := &published.Snapshot{Began: millis(snapshot.Began)}
	for _, e := range snapshot.Entries {
		e.Instance = keptInstance(e.Instance)
		kept.Entries = append(kept.Entries, e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot = kept
	return nil
}

// Statistics implements [eviction.Publications].
func (s *Store) Statistics(ctx context.Context) (published.Statistics, error) {
	if err := ended(ctx); err != nil {
		return published.Statistics{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	statistics := s.statistics
	statistics.Held = slices.Clone(statistics.Held)
	return statistics, nil
}

// PutStatistics implements [eviction.Publications].
func (s *Store) PutStatistics(ctx context.Context, statistics published.Statistics) error {
	if err := ended(ctx); err != nil {
		return err
	}
	statistics.Pass = millis(statistics.Pass)
	statistics.Held = slices.Clone(statistics.Held)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statistics = statistics
	return nil
}

// Claim implements [eviction.Publications].
func (s *Store) Claim(ctx context.Context, c published.Claim) error {
	if err := ended(ctx); err != nil {
		return err
	}
	c.Pass = millis(c.Pass)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Conflicts(s.claim) {
		return eureka.ErrPassClaimed
	}
	s.claim = c
	return nil
}

// Recent implements [eviction.Publications].
func (s *Store) Recent(ctx context.Context) (published.Recent, error) {
	if err := ended(ctx); err != nil {
		return published.Recent{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return published.Recent{
		Registered: slices.Clone(s.recent.Registered),
		Cancelled:  slices.Clone(s.recent.Cancelled),
	}, nil
}

// PutRecent implements [eviction.Publications].
func (s *Store) PutRecent(ctx context.Context, recent published.Recent) error {
	if err := ended(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = published.Recent{Registered: keptEvents(recent.Registered), Cancelled: keptEvents(recent.Cancelled)}
	return nil
}

func keptEvents(events []published.Event) []published.Event {
	var kept []published.Event
	for _, e := range events {
		e.Time = millis(e.Time)
		kept = append(kept, e)
	}
	return kept
}

// Unpublish takes away the snapshot, the statistics and the recent events, as
// if the eviction function had never run.
func (s *Store) Unpublish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot, s.statistics, s.claim, s.recent = nil, published.Statistics{}, published.Claim{}, published.Recent{}
}
