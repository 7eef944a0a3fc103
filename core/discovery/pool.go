package discovery

import (
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/eurekaless/registry/core/eureka"
)

// pool is the usable instances behind one name, the nearest first and those
// that are equally near in random order, so that clients that take the first
// do not all take the same. A change keeps the others in their places.
//
// Pools are values; what shares their members must not change them.
type pool struct {
	members []*eureka.InstanceInfo
	// near is how many of the members are as near as the first.
	near int
}

// newPool orders instances, whose list becomes its own.
func newPool(members []*eureka.InstanceInfo, n nearness) pool {
	rand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	if !n.trivial() {
		slices.SortStableFunc(members, func(a, b *eureka.InstanceInfo) int { return n.of(a) - n.of(b) })
	}
	p := pool{members: members}
	p.measure(n)
	return p
}

// swap puts an instance in the place of another. Either may be nil: then one
// is only added, or only removed.
func (p *pool) swap(old, replacement *eureka.InstanceInfo, n nearness) {
	at := -1
	if old != nil {
		at = slices.Index(p.members, old)
	}
	switch {
	case at >= 0 && replacement != nil && n.of(old) == n.of(replacement):
		p.members[at] = replacement
		return
	case at >= 0:
		p.members = slices.Delete(p.members, at, at+1)
	}
	if replacement != nil {
		p.insert(replacement, n)
	}
}

// insert adds an instance at a random place among those as near as it is.
func (p *pool) insert(i *eureka.InstanceInfo, n nearness) {
	rank := n.of(i)
	from := p.firstFrom(rank, n)
	to := p.firstFrom(rank+1, n)
	p.members = slices.Insert(p.members, from+rand.IntN(to-from+1), i)
}

// firstFrom returns where the members of a rank or of greater ones begin.
func (p *pool) firstFrom(rank int, n nearness) int {
	return sort.Search(len(p.members), func(at int) bool { return n.of(p.members[at]) >= rank })
}

// measure counts the nearest; to be called after the last swap.
func (p *pool) measure(n nearness) {
	p.near = len(p.members)
	if p.near > 0 && !n.trivial() {
		p.near = p.firstFrom(n.of(p.members[0])+1, n)
	}
}

// nearness ranks instances by where they are, seen from one's own place.
type nearness struct {
	// zones are in order of preference, the own one first.
	zones []string
	// region is the own one; empty when unknown.
	region string
}

// trivial reports whether all instances are equally near.
func (n nearness) trivial() bool { return len(n.zones) == 0 && n.region == "" }

// of returns the rank of an instance, 0 for the nearest: the zones in order,
// then the rest of the region and what does not say where it is, then other
// regions.
func (n nearness) of(i *eureka.InstanceInfo) int {
	if n.trivial() {
		return 0
	}
	if at := slices.Index(n.zones, ZoneOf(i)); at >= 0 {
		return at
	}
	if region := RegionOf(i); n.region != "" && region != "" && region != n.region {
		return len(n.zones) + 1
	}
	return len(n.zones)
}

// Keys of metadata that say where an instance runs.
const (
	// metadataZone is that of Spring Cloud.
	metadataZone   = "zone"
	metadataRegion = "region"
	// amazonZone is that of a data centre on AWS.
	amazonZone = "availability-zone"
)

// ZoneOf returns the availability zone that an instance runs in: that of its
// data centre on AWS, otherwise its metadata "zone", as Spring Cloud has it.
// It is empty when the instance does not say.
func ZoneOf(i *eureka.InstanceInfo) string {
	if zone := i.DataCenter.Metadata[amazonZone]; zone != "" {
		return zone
	}
	return i.Metadata[metadataZone]
}

// RegionOf returns the region that an instance runs in: its metadata
// "region", otherwise that of its availability zone on AWS, which is the
// zone's name without the last letter. It is empty when the instance does not
// say.
func RegionOf(i *eureka.InstanceInfo) string {
	if region := i.Metadata[metadataRegion]; region != "" {
		return region
	}
	zone := i.DataCenter.Metadata[amazonZone]
	if n := len(zone); n > 1 && 'a' <= zone[n-1] && zone[n-1] <= 'z' {
		return zone[:n-1]
	}
	return ""
}
