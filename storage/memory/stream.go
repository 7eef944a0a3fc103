package memory

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/lease"
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

// Records returns the records after the first so many: a reader that asks with
// the number of records that it has read gets the rest.
func (s *Store) Records(after int) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records[after:])
}

// emit adds the record of a change; next is nil for a removal by TTL. The lock
// is held.
func (s *Store) emit(old, next *item) {
	r := Record{Image: delta.Image{Old: image(old), New: image(next), Sequence: strconv.Itoa(len(s.records) + 1)}}
	if next == nil {
		r.Removed, r.ByTTL = true, true
	} else {
		r.Marked = next.marked
	}
	s.records = append(s.records, r)
}

// image returns a copy of an item's lease.
func image(i *item) *lease.Lease {
	if i == nil {
		return nil
	}
	l := i.lease
	return &l
}

// ExpireTTL does what the database's TTL has done by that time at the latest:
// it removes leases, tombstones and delta rows whose time is over.
func (s *Store) ExpireTTL(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(s.items), compareKeys) {
		if i := s.items[key]; i.expires < now.Unix() {
			delete(s.items, key)
			s.emit(&i, nil)
		}
	}
	maps.DeleteFunc(s.rows, func(_ rowKey, r delta.Row) bool {
		return r.Written.Add(s.cfg.RowsKept).Unix() < now.Unix()
	})
}
