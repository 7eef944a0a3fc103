package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// rowKey is the sort key of a row within its bucket.
type rowKey struct {
	sequence string
	key      eureka.Key
}

// bucketLength is the time that one partition of the delta table covers.
const bucketLength = 10 * time.Second

// deltaTable holds the rows, by the bucket in which they were written, and what
// is published.
type deltaTable struct {
	mu         sync.Mutex
	buckets    map[int64]map[rowKey]keptRow
	snapshot   *delta.Snapshot
	statistics delta.Statistics
	claim      delta.Claim
	recent     delta.Recent
}

// bucketOf returns the bucket of a time.
func bucketOf(t time.Time) int64 { return t.UnixMilli() / bucketLength.Milliseconds() }

// Put implements [delta.Sink]. All rows are written, or none.
func (s *Store) Put(ctx context.Context, rows []delta.Row) error {
	if err := ended(ctx); err != nil {
		return unwritten(rows, err)
	}
	s.deltas.mu.Lock()
	defer s.deltas.mu.Unlock()
	for _, r := range rows {
		r.Instance, r.Written = keptInstance(r.Instance), millis(r.Written)
		number := bucketOf(r.Written)
		if s.deltas.buckets[number] == nil {
			s.deltas.buckets[number] = map[rowKey]keptRow{}
		}
		s.deltas.buckets[number][rowKey{r.Sequence, r.Key}] = keep(r)
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

// Deltas implements [eviction.Deltas] and [view.Source].
func (s *Store) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	if until.Sub(since) > s.cfg.RowsKept {
		return nil, delta.ErrWindowTooLong
	}
	since, until = millis(since), millis(until)
	found := s.deltas.between(since, until)
	slices.SortFunc(found, func(a, b delta.Row) int {
		return cmp.Or(a.Written.Compare(b.Written), cmp.Compare(a.Sequence, b.Sequence), compareKeys(a.Key, b.Key))
	})
	return found, nil
}

// between returns the rows with since < Written <= until. It looks only at the
// buckets of that time.
func (d *deltaTable) between(since, until time.Time) []delta.Row {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []delta.Row
	for number, rows := range d.buckets {
		if number < bucketOf(since) || number > bucketOf(until) {
			continue
		}
		for _, r := range rows {
			if r.row.Written.After(since) && !r.row.Written.After(until) {
				found = append(found, r.whole())
			}
		}
	}
	return found
}

// expire removes the rows that were written before a time.
func (d *deltaTable) expire(before time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for number, rows := range d.buckets {
		if number > bucketOf(before) {
			continue
		}
		maps.DeleteFunc(rows, func(_ rowKey, r keptRow) bool { return r.row.Written.Before(before) })
		if len(rows) == 0 {
			delete(d.buckets, number)
		}
	}
}

// Snapshot implements [eviction.Publications] and [view.Source].
func (s *Store) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	s.deltas.mu.Lock()
	defer s.deltas.mu.Unlock()
	if s.deltas.snapshot == nil {
		return nil, eureka.ErrNoSnapshot
	}
	return &delta.Snapshot{Began: s.deltas.snapshot.Began, Entries: slices.Clone(s.deltas.snapshot.Entries)}, nil
}

// PutSnapshot implements [eviction.Publications].
func (s *Store) PutSnapshot(ctx context.Context, snapshot *delta.Snapshot) error {
	if err := ended(ctx); err != nil {
		return err
	}
	kept := &delta.Snapshot{Began: millis(snapshot.Began), Entries: make([]delta.Entry, 0, len(snapshot.Entries))}
	for _, e := range snapshot.Entries {
		e.Instance = keptInstance(e.Instance)
		kept.Entries = append(kept.Entries, e)
	}
	s.deltas.mu.Lock()
	defer s.deltas.mu.Unlock()
	s.deltas.snapshot = kept
	return nil
}

// Statistics implements [eviction.Publications].
func (s *Store) Statistics(ctx context.Context) (delta.Statistics, error) {
	if err := ended(ctx); err != nil {
		return delta.Statistics{}, err
	}
	s.deltas.mu.Lock()
	defer s.deltas.mu.Unlock()
	statistics := s.deltas.statistics
	statistics.Held = slices.Clone(statistics.Held)
	return statistics, nil
}

// PutStatistics implements [eviction.Publications].
func (s *Store) PutStatistics(ctx context.Context, statistics delta.Statistics) error {
	if err := ended(ctx); err != nil {
		return err
	}
	statistics.Pass, statistics.Settled = millis(statistics.Pass), millis(statistics.Settled)
	statistics.Held = slices.Clone(statistics.Held)
	s.deltas.mu.Lock()
	defer s.deltas.mu.Unlock()
	s.deltas.statistics = statistics
	return nil
}

// Claim implements [eviction.Publications].
func (s *Store) Claim(ctx context.Context, c delta.Claim) error {
	if err := ended(ctx); err != nil {
		return err
	}
	c.Pass = millis(c.Pass)
	s.deltas.mu.Lock()
	defer s.deltas.mu.Unlock()
	if c.Conflicts(s.deltas.claim) {
		return eureka.ErrPassClaimed
	}
	s.deltas.claim = c
	return nil
}

// Recent implements [eviction.Publications].
func (s *Store) Recent(ctx context.Context) (delta.Recent, error) {
	if err := ended(ctx); err != nil {
		return delta.Recent{}, err
	}
	s.deltas.mu.Lock()
	defer s.deltas.mu.Unlock()
	return delta.Recent{
		Registered: slices.Clone(s.deltas.recent.Registered),
		Cancelled:  slices.Clone(s.deltas.recent.Cancelled),
		Changed:    slices.Clone(s.deltas.recent.Changed),
	}, nil
}

// PutRecent implements [eviction.Publications].
func (s *Store) PutRecent(ctx context.Context, recent delta.Recent) error {
	if err := ended(ctx); err != nil {
		return err
	}
	s.deltas.mu.Lock()
	defer s.deltas.mu.Unlock()
	s.deltas.recent = delta.Recent{Registered: keptEvents(recent.Registered), Cancelled: keptEvents(recent.Cancelled), Changed: keptEvents(recent.Changed)}
	return nil
}

func keptEvents(events []delta.Event) []delta.Event {
	var kept []delta.Event
	for _, e := range events {
		e.Time = millis(e.Time)
		kept = append(kept, e)
	}
	return kept
}

// Unpublish takes away the snapshot, the statistics and the recent events, as
// if the eviction function had never run.
func (s *Store) Unpublish() {
	s.deltas.mu.Lock()
	defer s.deltas.mu.Unlock()
	s.deltas.snapshot, s.deltas.recent = nil, delta.Recent{}
	s.deltas.statistics, s.deltas.claim = delta.Statistics{}, delta.Claim{}
}
