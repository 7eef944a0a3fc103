package discovery

import (
	"slices"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// View is the registry as it was at one moment. It never changes, so that a
// caller can make several look-ups that fit together. All methods are safe for
// concurrent use and take no lock; look-ups of one name allocate nothing.
//
// The lists that methods return are shared: callers must not change them, nor
// the instances in them.
//
// Unless [Config.AllStatuses] is set, only instances that are UP are usable,
// and only usable ones are returned, but where it says otherwise. Lists hold
// the nearest instances first (see [Config.Zones]), equally near ones in an
// order that differs from client to client.
type View struct {
	apps  index[*application]
	ids   index[[]*eureka.InstanceInfo]
	vips  index[pool]
	svips index[pool]
	// counts are those of all instances, for the hash code.
	counts eureka.StatusCounts

	version int64
	fetched time.Time
	backup  bool
	source  source
	rules   rules
}

// application is all instances of an application.
type application struct {
	name   string
	all    []*eureka.InstanceInfo
	usable pool
}

// source is the answer that a view was made from.
type source struct {
	path   string
	server *server
	// etag is empty when the answer had none.
	etag string
}

// rules say which instances are usable, and which are near.
type rules struct {
	near        nearness
	allStatuses bool
}

func (r rules) usable(i *eureka.InstanceInfo) bool {
	return r.allStatuses || i.Status == eureka.Up
}

// Application is the instances of one application.
type Application struct {
	// Name is upper case.
	Name string
	// Instances are the usable ones.
	Instances []*eureka.InstanceInfo
	// All is every instance, whatever its status, in no order.
	All []*eureka.InstanceInfo
}

func (a *application) export() Application {
	return Application{Name: a.name, Instances: a.usable.members, All: a.all}
}

// Applications returns every application, by name, also those that have no
// usable instance.
func (v *View) Applications() []Application {
	out := make([]Application, 0, v.apps.size)
	for _, a := range v.apps.all() {
		out = append(out, a.export())
	}
	slices.SortFunc(out, func(a, b Application) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Application returns an application, whose name may have any case, and
// whether it is there.
func (v *View) Application(name string) (Application, bool) {
	a, ok := v.apps.find(name)
	if !ok {
		return Application{}, false
	}
	return a.export(), true
}

// VIP returns the usable instances behind a VIP address, which may have any
// case, or behind any of several, comma-separated.
func (v *View) VIP(addresses string) []*eureka.InstanceInfo { return behind(&v.vips, addresses) }

// SecureVIP is as [View.VIP], of secure VIP addresses.
func (v *View) SecureVIP(addresses string) []*eureka.InstanceInfo {
	return behind(&v.svips, addresses)
}

func behind(vips *index[pool], addresses string) []*eureka.InstanceInfo {
	if !strings.Contains(addresses, ",") {
		p, _ := vips.find(strings.TrimSpace(addresses))
		return p.members
	}
	var out []*eureka.InstanceInfo
	seen := map[*eureka.InstanceInfo]bool{}
	for address := range strings.SplitSeq(addresses, ",") {
		p, _ := vips.find(strings.TrimSpace(address))
		for _, i := range p.members {
			if !seen[i] {
				seen[i] = true
				out = append(out, i)
			}
		}
	}
	return out
}

// Instance returns one instance whatever its status, and whether it is there.
// The application's name may have any case; the id is exact.
func (v *View) Instance(app, id string) (*eureka.InstanceInfo, bool) {
	same, _ := v.ids.find(id)
	for _, i := range same {
		if i.ID() == id && strings.EqualFold(i.App, app) {
			return i, true
		}
	}
	return nil, false
}

// InstancesByID returns the instances of that id whatever their status; there
// may be one in each application.
func (v *View) InstancesByID(id string) []*eureka.InstanceInfo {
	same, _ := v.ids.find(id)
	var out []*eureka.InstanceInfo
	for _, i := range same {
		if i.ID() == id {
			out = append(out, i)
		}
	}
	return out
}

// Len returns how many instances there are, whatever their status.
func (v *View) Len() int {
	n := 0
	for _, count := range v.counts {
		n += count
	}
	return n
}

// HashCode returns the apps hash code: the count of instances by status.
func (v *View) HashCode() string { return v.counts.HashCode() }

// Version returns the registry's number of the answer, which says nothing
// about the order of answers of several servers.
func (v *View) Version() int64 { return v.version }

// Fetched returns when the registry last said that this is its state; the zero
// time when it never did.
func (v *View) Fetched() time.Time { return v.fetched }

// FromBackup reports whether the view is that of [Config.Backup].
func (v *View) FromBackup() bool { return v.backup }

// named returns the usable instances behind a name: a VIP address, or where
// there is none of that name an application.
func (v *View) named(name string) pool {
	if p, ok := v.vips.find(name); ok {
		return p
	}
	if a, ok := v.apps.find(name); ok {
		return a.usable
	}
	return pool{}
}

// confirmed returns the view with a later moment at which it was still right.
func (v *View) confirmed(at time.Time) *View {
	out := *v
	out.fetched = at
	return &out
}

// newView returns the view of a full answer. An instance that is in it twice
// counts as it is there last.
func newView(a *eureka.Applications, r rules) *View {
	instances := distinct(a)
	v := &View{
		apps:    newIndex[*application](len(a.Applications)),
		ids:     newIndex[[]*eureka.InstanceInfo](len(instances)),
		counts:  eureka.StatusCounts{},
		version: a.Version,
		rules:   r,
	}
	v.counts.Count(instances...)
	apps, vips, svips := map[string][]*eureka.InstanceInfo{}, map[string][]*eureka.InstanceInfo{}, map[string][]*eureka.InstanceInfo{}
	for _, i := range instances {
		same, _ := v.ids.find(i.ID())
		v.ids.build(i.ID(), append(same, i))
		apps[i.App] = append(apps[i.App], i)
		if !r.usable(i) {
			continue
		}
		for name := range addresses(i.VIPAddress) {
			vips[name] = append(vips[name], i)
		}
		for name := range addresses(i.SecureVIPAddress) {
			svips[name] = append(svips[name], i)
		}
	}
	for name, all := range apps {
		usable := slices.DeleteFunc(slices.Clone(all), func(i *eureka.InstanceInfo) bool { return !r.usable(i) })
		v.apps.build(name, &application{name: name, all: all, usable: newPool(usable, r.near)})
	}
	v.vips, v.svips = poolIndex(vips, r.near), poolIndex(svips, r.near)
	return v
}

// poolIndex makes the index of pools by name.
func poolIndex(members map[string][]*eureka.InstanceInfo, n nearness) index[pool] {
	x := newIndex[pool](len(members))
	for name, instances := range members {
		x.build(name, newPool(instances, n))
	}
	return x
}

// distinct returns the instances of an answer, each once.
func distinct(a *eureka.Applications) []*eureka.InstanceInfo {
	var out []*eureka.InstanceInfo
	at := map[eureka.Key]int{}
	for _, app := range a.Applications {
		for _, i := range app.Instances {
			if n, ok := at[i.Key()]; ok {
				out[n] = i
				continue
			}
			at[i.Key()] = len(out)
			out = append(out, i)
		}
	}
	return out
}

// addresses yields the names in a comma-separated list of VIP addresses, each
// once and in upper case.
func addresses(list string) map[string]struct{} {
	if list == "" {
		return nil
	}
	out := map[string]struct{}{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.ToUpper(strings.TrimSpace(name)); name != "" {
			out[name] = struct{}{}
		}
	}
	return out
}
