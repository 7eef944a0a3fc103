package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// tombstoneMemory is how long a container remembers at what version an
// instance went. A row that is older than that version may still arrive: a
// stream record is given up after two minutes, its handler runs for less than
// fifteen, and healing repeats what the scan of a minute before found. An hour
// is what a tombstone in the lease table lasts, too. The memory it takes is
// that of an hour's departures, about a hundred bytes each.
const tombstoneMemory = time.Hour

// sweepInterval is how often tombstones are looked through for old ones.
const sweepInterval = 5 * time.Minute

// state is the registry as a fold of rows. It is never changed; applying rows
// makes another one that shares what did not change.
//
// The fold knows one rule: a row counts when its version is greater than the
// one held for its key, tombstones included. So the order of rows, their
// repetition and clocks do not matter.
type state struct {
	applications list[*application]
	// ids finds an instance's application by its id.
	ids              list[eureka.Key]
	vips, secureVIPs list[vipEntry]
	counts           eureka.StatusCounts
	tombstones       list[tombstone]
	swept            time.Time
	// read is when the reading of the base began, the scan's or the snapshot's,
	// on the clock of who read. Rows that come later may have been written
	// before it, as it may be ahead of the boundary.
	read time.Time
	// window is what the delta answer holds, by key.
	window []recent
}

// tombstone is the version at which an instance went, and since when this
// container knows.
type tombstone struct {
	key     eureka.Key
	version int64
	learned time.Time
}

// recent is the last state of an instance that changed within the retention.
type recent struct {
	key      eureka.Key
	version  int64
	instance *eureka.InstanceInfo
	// written is when its last row was written.
	written time.Time
}

func compareKeys(a, b eureka.Key) int {
	return cmp.Or(strings.Compare(a.App, b.App), strings.Compare(a.ID, b.ID))
}

var (
	idOrder = order[eureka.Key]{
		compare: func(a, b eureka.Key) int {
			return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.App, b.App))
		},
		ends: func(k eureka.Key) bool { return hash(k.ID)%chunkSize == 0 },
	}
	tombstoneOrder = order[tombstone]{
		compare: func(a, b tombstone) int { return compareKeys(a.key, b.key) },
		ends:    func(t tombstone) bool { return hash(t.key.ID)%chunkSize == 0 },
	}
)

// leaseEntries returns what a scan found, as entries of a snapshot.
func leaseEntries(leases []eureka.Lease) []delta.Entry {
	entries := make([]delta.Entry, len(leases))
	for i := range leases {
		l := &leases[i]
		entries[i] = delta.Entry{Key: l.Key, Version: l.Version, Instance: l.Effective()}
	}
	return entries
}

// newState returns the state that entries describe, which it sorts in place.
// at is when they were learned.
func newState(entries []delta.Entry, at time.Time) *state {
	slices.SortFunc(entries, func(a, b delta.Entry) int {
		return cmp.Or(compareKeys(a.Key, b.Key), cmp.Compare(b.Version, a.Version))
	})
	entries = slices.CompactFunc(entries, func(a, b delta.Entry) bool { return a.Key == b.Key })
	s := &state{counts: eureka.StatusCounts{}, swept: at}
	var applications []*application
	var tombstones []tombstone
	ids := make([]eureka.Key, 0, len(entries))
	for len(entries) > 0 {
		name := entries[0].Key.App
		b := applicationBuilder{name: name}
		for len(entries) > 0 && entries[0].Key.App == name {
			e := entries[0]
			entries = entries[1:]
			if e.Instance == nil {
				tombstones = append(tombstones, tombstone{e.Key, e.Version, at})
				continue
			}
			b.add(e.Key.ID, e.Version, e.Instance)
			ids = append(ids, e.Key)
		}
		if a := b.build(); a != nil {
			s.counts.Count(a.Instances...)
			applications = append(applications, a)
		}
	}
	s.applications = newList(applicationOrder, applications)
	s.ids = newList(idOrder, ids)
	s.tombstones = newList(tombstoneOrder, tombstones)
	s.vips = newList(vipOrder, vipEntries(applications, vipAddress))
	s.secureVIPs = newList(vipOrder, vipEntries(applications, secureVIPAddress))
	return s
}

// readAt notes when the reading of s began, and returns s.
func (s *state) readAt(began time.Time) *state {
	s.read = began
	return s
}

// application returns the application of that name, or nil.
func (s *state) application(name string) *application {
	a, _ := s.applications.find(func(a *application) int { return strings.Compare(a.Name, name) })
	return a
}

// tombstone returns the version at which an instance went, and false when the
// container knows of no such thing.
func (s *state) tombstone(key eureka.Key) (int64, bool) {
	t, ok := s.tombstones.find(func(t tombstone) int { return compareKeys(t.key, key) })
	return t.version, ok
}

// apply returns the state after rows, all of which are written at or before
// cut, and the keys of the instances that they changed.
func (s *state) apply(rows []delta.Row, cut time.Time, retention time.Duration) (*state, []eureka.Key) {
	news := changesOf(s, rows)
	next := *s
	next.window = mergeWindow(s.window, news.window, cut.Add(-retention))
	if cut.Sub(s.swept) >= sweepInterval {
		news.forget(s.tombstones, cut.Add(-tombstoneMemory))
		next.swept = cut
	}
	if len(news.keys) == 0 && len(news.tombstones) == 0 {
		return &next, nil
	}
	next.counts = maps.Clone(s.counts)
	for _, i := range news.gone {
		next.counts[i.Status]--
	}
	next.counts.Count(news.come...)
	maps.DeleteFunc(next.counts, func(_ eureka.Status, n int) bool { return n == 0 })
	next.applications = s.applications.with(applicationOrder, news.applications)
	next.ids = s.ids.with(idOrder, news.ids)
	next.tombstones = s.tombstones.with(tombstoneOrder, news.tombstones)
	next.vips = s.vips.with(vipOrder, news.vips)
	next.secureVIPs = s.secureVIPs.with(vipOrder, news.secureVIPs)
	return &next, news.keys
}
