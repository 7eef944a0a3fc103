package memory

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// Record is one change of the lease table, as its stream tells it: old and new
// image, in the order of the changes. Records are shared and only read.
type Record struct {
	delta.Image
	// ByTTL marks a removal as the database's own, by the service identity.
	ByTTL bool
}

// Passes reports whether the template's stream filters let the record through:
// a new image with the change marker, or the removal of a live lease. Renewals
// and removals of tombstones do not pass.
func (r *Record) Passes() bool {
	if r.Removed {
		return !r.Old.Tombstone()
	}
	return r.Marked
}

// Subscribe hands every change that passes the template's filters to take, in
// order and as a part of the write: when the write returns, take has returned
// too. take may use the delta table's methods, not the lease table's. From then
// on no records are kept. It is called before the first write.
func (s *Store) Subscribe(take func(Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriber = take
}

// Records returns the records after the first so many: a reader that asks with
// the number of records that it has read gets the rest. A store with a
// subscriber has none; any other keeps all of them.
func (s *Store) Records(after int) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records[after:])
}

// emit makes the record of a change; next is nil for a removal by TTL. The lock
// is held.
func (s *Store) emit(old, next *item) {
	s.sequence++
	removed := next == nil
	if s.subscriber != nil && !removed && !next.marked {
		return // a renewal, as most writes are
	}
	r := Record{
		Image: delta.Image{
			Old: image(old), New: image(next), Removed: removed, Marked: !removed && next.marked,
			Sequence: strconv.FormatInt(s.sequence, 10),
		},
		ByTTL: removed,
	}
	switch {
	case s.subscriber == nil:
		s.records = append(s.records, r)
	case r.Passes():
		s.subscriber(r)
	}
}

// image returns a copy of an item's lease.
func image(i *item) *eureka.Lease {
	if i == nil {
		return nil
	}
	l := i.lease
	return &l
}

// ExpireTTL does what the database's TTL has done by that time at the latest:
// it removes leases, tombstones and delta rows whose time is over.
func (s *Store) ExpireTTL(now time.Time) {
	s.expireItems(now)
	s.deltas.expire(time.Unix(now.Unix(), 0).Add(-s.cfg.RowsKept))
}

func (s *Store) expireItems(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var over []*item
	for _, app := range s.apps {
		for _, i := range app.items {
			if i.expires < now.Unix() {
				over = append(over, i)
			}
		}
	}
	slices.SortFunc(over, func(a, b *item) int { return compareKeys(a.lease.Key, b.lease.Key) })
	for _, i := range over {
		s.remove(i)
		s.emit(i, nil)
	}
}

// remove takes an item away. The lock is held.
func (s *Store) remove(i *item) {
	key := i.lease.Key
	app := s.apps[key.App]
	app.count(i, nil)
	delete(app.items, key.ID)
	if len(app.items) == 0 {
		delete(s.apps, key.App)
		return
	}
	app.shrink()
}

// shrink gives memory back, which a map does not do by itself, once few of an
// application's items are left.
func (a *application) shrink() {
	const worthwhile, part = 64, 4
	if a.most < worthwhile || len(a.items) > a.most/part {
		return
	}
	left := make(map[string]*item, len(a.items))
	maps.Copy(left, a.items)
	a.items, a.most = left, len(left)
}
