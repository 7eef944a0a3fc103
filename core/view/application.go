package view

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// chunkSize is how many instances a chunk of applications holds on average.
// Smaller chunks make a change cheaper and the gzip of all larger: see the
// benchmarks of bodies.
const chunkSize = 32

// application is an application and the versions of its instances. It is
// never changed.
type application struct {
	eureka.Application
	// members are the keys and versions of Instances, sorted by id.
	members []member
	// ends says that a chunk of applications ends here. It hangs on the name
	// and the number of instances alone, so that chunks are the same in every
	// container, and larger applications end more chunks.
	ends bool
	// bytes is what size returned; 0 before.
	bytes atomic.Int64
}

// member is an instance's place in its application.
type member struct {
	id      string
	version int64
}

var applicationOrder = order[*application]{
	compare: func(a, b *application) int { return strings.Compare(a.Name, b.Name) },
	ends:    func(a *application) bool { return a.ends },
}

// find returns the index at which the instance is or would be.
func (a *application) find(id string) (int, bool) {
	return slices.BinarySearchFunc(a.members, id, func(m member, id string) int { return strings.Compare(m.id, id) })
}

// applicationBuilder makes an application of instances that come in order of
// their ids.
type applicationBuilder struct {
	name      string
	instances []*eureka.InstanceInfo
	members   []member
}

func (b *applicationBuilder) add(id string, version int64, instance *eureka.InstanceInfo) {
	b.instances = append(b.instances, instance)
	b.members = append(b.members, member{id, version})
}

// addRun adds instances of another application.
func (b *applicationBuilder) addRun(a *application, from, to int) {
	b.instances = append(b.instances, a.Instances[from:to]...)
	b.members = append(b.members, a.members[from:to]...)
}

// build returns the application, or nil if it has no instances: there is no
// such application then.
func (b *applicationBuilder) build() *application {
	if len(b.instances) == 0 {
		return nil
	}
	return &application{
		Application: eureka.Application{Name: b.name, Instances: slices.Clip(b.instances)},
		members:     slices.Clip(b.members),
		ends:        hash(b.name)%chunkSize < uint64(len(b.instances)),
	}
}

// size returns about how many bytes the instances take in a list.
func (a *application) size() int64 {
	if n := a.bytes.Load(); n > 0 {
		return n
	}
	n := sizeOf(a.Instances)
	a.bytes.Store(n)
	return n
}

// registryFields is more than the fields take that [wire.Size] leaves out.
const registryFields = 1 << 10

// sizeOf returns about how many bytes instances take in a list.
func sizeOf(instances []*eureka.InstanceInfo) int64 {
	n := int64(registryFields)
	for _, i := range instances {
		n += int64(wire.Size(i)) + registryFields
	}
	return n
}

// hash is FNV-1a with a final mix. It decides where chunks end and so must be
// the same in every process.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

// vipEntry says that an application has an instance under a VIP.
type vipEntry struct{ vip, app string }

var vipOrder = order[vipEntry]{
	compare: func(a, b vipEntry) int {
		return cmp.Or(strings.Compare(a.vip, b.vip), strings.Compare(a.app, b.app))
	},
	ends: func(e vipEntry) bool { return hash(e.vip)%chunkSize == 0 },
}

func vipAddress(i *eureka.InstanceInfo) string       { return i.VIPAddress }
func secureVIPAddress(i *eureka.InstanceInfo) string { return i.SecureVIPAddress }

// vips returns the names under which some instance of the application is,
// sorted, each once; address returns an instance's list of names. A nil application has
// none.
func (a *application) vips(address func(*eureka.InstanceInfo) string) []string {
	if a == nil {
		return nil
	}
	var vips []string
	last := ""
	for _, i := range a.Instances {
		names := address(i)
		if names == last {
			continue // instances of one application usually have the same
		}
		last = names
		for vip := range strings.SplitSeq(names, ",") {
			if vip != "" {
				vips = append(vips, vip)
			}
		}
	}
	slices.Sort(vips)
	return slices.Compact(vips)
}

// vipEntries returns the entries of applications.
func vipEntries(applications []*application, address func(*eureka.InstanceInfo) string) []vipEntry {
	var entries []vipEntry
	for _, a := range applications {
		for _, vip := range a.vips(address) {
			entries = append(entries, vipEntry{vip, a.Name})
		}
	}
	return entries
}

// under returns the application with the instances that have vip among their
// addresses.
func (a *application) under(vip string, address func(*eureka.InstanceInfo) string) eureka.Application {
	out := eureka.Application{Name: a.Name}
	for _, i := range a.Instances {
		if hasVIP(address(i), vip) {
			out.Instances = append(out.Instances, i)
		}
	}
	return out
}

// hasVIP reports whether a list of names holds vip. As on the stock server the
// names are compared as they are: case and spaces count.
func hasVIP(names, vip string) bool {
	for name := range strings.SplitSeq(names, ",") {
		if name == vip {
			return true
		}
	}
	return false
}
