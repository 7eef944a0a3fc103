package view

import (
	"slices"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// changes is what rows change in a state.
type changes struct {
	// keys are those of the instances that changed.
	keys       []eureka.Key
	gone, come []*eureka.InstanceInfo

	applications     []change[*application]
	ids              []change[eureka.Key]
	vips, secureVIPs []change[vipEntry]
	tombstones       []change[tombstone]
	// window are the rows that the delta shows, those that changed something
	// and repetitions of what is held.
	window []recent
}

// changesOf returns what rows change in s. It keeps the rows of an application
// together, so that the application is made anew once.
func changesOf(s *state, rows []delta.Row) *changes {
	latest := delta.Latest(rows)
	sorted := make([]delta.Row, 0, len(latest))
	for _, row := range latest {
		sorted = append(sorted, row)
	}
	slices.SortFunc(sorted, func(a, b delta.Row) int { return compareKeys(a.Key, b.Key) })
	c := &changes{}
	for len(sorted) > 0 {
		name := sorted[0].Key.App
		n := slices.IndexFunc(sorted, func(r delta.Row) bool { return r.Key.App != name })
		if n < 0 {
			n = len(sorted)
		}
		c.application(s, name, sorted[:n])
		sorted = sorted[n:]
	}
	return c
}

// application adds what rows change in one application; they are sorted.
func (c *changes) application(s *state, name string, rows []delta.Row) {
	old := s.application(name)
	before := len(c.keys)
	b := applicationBuilder{name: name}
	done := 0 // instances of old that b has or has left out
	for i := range rows {
		row := &rows[i]
		held, at := s.held(old, row.Key)
		if row.Version < held.version {
			continue
		}
		if row.Version == held.version {
			c.repeat(row, held.instance)
			continue
		}
		c.keys = append(c.keys, row.Key)
		if old != nil {
			b.addRun(old, done, at)
			done = at
			if held.instance != nil {
				done++
			}
		}
		c.replace(&b, row, held)
	}
	if len(c.keys) == before {
		return
	}
	if old != nil {
		b.addRun(old, done, len(old.members))
	}
	c.swap(old, b.build())
}

// holding is what a state holds for a key: the instance, or nil for a
// tombstone. The version is 0 where the key is not known.
type holding struct {
	version   int64
	instance  *eureka.InstanceInfo
	tombstone bool
}

// held returns what s holds for a key, whose application is a or, if nil, not
// there; and the index at which the instance is or would be.
func (s *state) held(a *application, key eureka.Key) (holding, int) {
	at := 0
	if a != nil {
		var ok bool
		if at, ok = a.find(key.ID); ok {
			return holding{version: a.members[at].version, instance: a.Instances[at]}, at
		}
	}
	version, ok := s.tombstone(key)
	return holding{version: version, tombstone: ok}, at
}

// repeat notes a row that says what is held already: it may be new to the
// window, and healing wants it there for longer.
func (c *changes) repeat(row *delta.Row, instance *eureka.InstanceInfo) {
	if instance == nil {
		instance = Settled(row.Instance)
	}
	c.window = append(c.window, recent{row.Key, row.Version, instance, row.Written})
}

// replace notes a row in place of what was held.
func (c *changes) replace(b *applicationBuilder, row *delta.Row, held holding) {
	instance := Settled(row.Instance)
	c.window = append(c.window, recent{row.Key, row.Version, instance, row.Written})
	if held.instance != nil {
		c.gone = append(c.gone, held.instance)
	}
	if row.Deleted() {
		c.tombstones = append(c.tombstones, change[tombstone]{item: tombstone{row.Key, row.Version, row.Written}})
		if held.instance != nil {
			c.ids = append(c.ids, change[eureka.Key]{item: row.Key, remove: true})
		}
		return
	}
	c.come = append(c.come, instance)
	b.add(row.Key.ID, row.Version, instance)
	if held.instance == nil {
		c.ids = append(c.ids, change[eureka.Key]{item: row.Key})
	}
	if held.tombstone {
		c.tombstones = append(c.tombstones, change[tombstone]{item: tombstone{key: row.Key}, remove: true})
	}
}

// swap notes an application in place of its old self; either may be nil.
func (c *changes) swap(old, next *application) {
	switch {
	case next != nil:
		c.applications = append(c.applications, change[*application]{item: next})
	case old != nil:
		c.applications = append(c.applications, change[*application]{item: old, remove: true})
	}
	c.vips = swapVIPs(c.vips, old, next, vipAddress)
	c.secureVIPs = swapVIPs(c.secureVIPs, old, next, secureVIPAddress)
}

// swapVIPs appends what changes in a list of VIPs.
func swapVIPs(dst []change[vipEntry], old, next *application, address func(*eureka.InstanceInfo) string) []change[vipEntry] {
	before, after := old.vips(address), next.vips(address)
	for _, vip := range before {
		if _, kept := slices.BinarySearch(after, vip); !kept {
			dst = append(dst, change[vipEntry]{item: vipEntry{vip, old.Name}, remove: true})
		}
	}
	for _, vip := range after {
		if _, had := slices.BinarySearch(before, vip); !had {
			dst = append(dst, change[vipEntry]{item: vipEntry{vip, next.Name}})
		}
	}
	return dst
}

// forget notes that tombstones known since before a time are dropped, unless
// something new is noted for their key.
func (c *changes) forget(tombstones list[tombstone], before time.Time) {
	noted := map[eureka.Key]bool{}
	for _, t := range c.tombstones {
		noted[t.item.key] = true
	}
	tombstones.each(func(t tombstone) {
		if t.learned.Before(before) && !noted[t.key] {
			c.tombstones = append(c.tombstones, change[tombstone]{item: t, remove: true})
		}
	})
}

// mergeWindow returns the window with news, which are sorted by key, without
// what was written at or before since.
func mergeWindow(window, news []recent, since time.Time) []recent {
	merged := make([]recent, 0, len(window)+len(news))
	for _, r := range news {
		at, found := slices.BinarySearchFunc(window, r.key, func(w recent, key eureka.Key) int {
			return compareKeys(w.key, key)
		})
		merged = append(merged, window[:at]...)
		if found {
			if window[at].newer(r) {
				r = window[at]
			}
			at++
		}
		merged = append(merged, r)
		window = window[at:]
	}
	merged = append(merged, window...)
	return slices.DeleteFunc(merged, func(r recent) bool { return !r.written.After(since) })
}

// newer reports whether r is to stay in the window instead of other. Of
// repetitions of one change the last counts.
func (r recent) newer(other recent) bool {
	if r.version != other.version {
		return r.version > other.version
	}
	return r.written.After(other.written)
}

// Settled returns an instance as lists show it: its last renewal is its
// registration. Renewals make no rows, so a list knows of none; and a view must
// not hang on when its container happened to read a snapshot. GET of one
// instance reads the table and has the last renewal. The argument is not
// changed; maps are shared.
func Settled(i *eureka.InstanceInfo) *eureka.InstanceInfo {
	if i.Lease.LastRenewed.Equal(i.Lease.Registered) {
		return i
	}
	out := *i
	out.Lease.LastRenewed = out.Lease.Registered
	return &out
}
