package discovery

import (
	"maps"
	"slices"

	"github.com/eurekaless/registry/core/eureka"
)

// apply returns the view with the changes of a delta, which it shares all with
// that did not change. Work and memory grow with the changes and with the
// applications that they are in.
func (v *View) apply(delta *eureka.Applications) *View {
	e := newEdit(v)
	for _, app := range delta.Applications {
		for _, i := range app.Instances {
			e.change(i)
		}
	}
	e.next.version = delta.Version
	return e.finish()
}

// edit is a view in the making.
type edit struct {
	next  *View
	apps  map[string]*application
	vips  poolEdit
	svips poolEdit
}

func newEdit(v *View) *edit {
	next := *v
	next.apps, next.ids = v.apps.clone(), v.ids.clone()
	next.vips, next.svips = v.vips.clone(), v.svips.clone()
	next.counts = maps.Clone(v.counts)
	return &edit{
		next:  &next,
		apps:  map[string]*application{},
		vips:  poolEdit{index: &next.vips, near: v.rules.near, changed: map[string]*pool{}},
		svips: poolEdit{index: &next.svips, near: v.rules.near, changed: map[string]*pool{}},
	}
}

// change takes the last state of one instance. A deletion of what is not there
// changes nothing: finish leaves no empty application behind.
func (e *edit) change(i *eureka.InstanceInfo) {
	old, _ := e.next.Instance(i.App, i.ID())
	replacement := i
	if i.Action == eureka.Deleted {
		replacement = nil
	}
	e.count(old, -1)
	e.count(replacement, 1)
	e.identify(i.ID(), old, replacement)
	e.application(i.App).swap(old, replacement, e.next.rules)
	e.vips.swap(old, replacement, e.addresses(old, vipAddress), e.addresses(replacement, vipAddress))
	e.svips.swap(old, replacement, e.addresses(old, secureVIPAddress), e.addresses(replacement, secureVIPAddress))
}

func (e *edit) count(i *eureka.InstanceInfo, n int) {
	if i != nil {
		e.next.counts[i.Status] += n
	}
}

// identify changes the index by id.
func (e *edit) identify(id string, old, replacement *eureka.InstanceInfo) {
	same, _ := e.next.ids.find(id)
	same = swapped(slices.Clone(same), old, replacement)
	if len(same) == 0 {
		e.next.ids.remove(id)
		return
	}
	e.next.ids.set(id, same)
}

// application returns the copy of an application that can be changed.
func (e *edit) application(name string) *application {
	if a, ok := e.apps[name]; ok {
		return a
	}
	changed := &application{name: name}
	if a, ok := e.next.apps.find(name); ok {
		changed.all = slices.Clone(a.all)
		changed.usable.members = slices.Clone(a.usable.members)
	}
	e.apps[name] = changed
	return changed
}

func (a *application) swap(old, replacement *eureka.InstanceInfo, r rules) {
	a.all = swapped(a.all, old, replacement)
	if replacement != nil && !r.usable(replacement) {
		replacement = nil
	}
	a.usable.swap(old, replacement, r.near)
}

// addresses returns the names under which an instance is to be found.
func (e *edit) addresses(i *eureka.InstanceInfo, of func(*eureka.InstanceInfo) string) map[string]struct{} {
	if i == nil || !e.next.rules.usable(i) {
		return nil
	}
	return addresses(of(i))
}

func vipAddress(i *eureka.InstanceInfo) string       { return i.VIPAddress }
func secureVIPAddress(i *eureka.InstanceInfo) string { return i.SecureVIPAddress }

// finish puts what was changed into the indexes.
func (e *edit) finish() *View {
	for name, a := range e.apps {
		if len(a.all) == 0 {
			e.next.apps.remove(name)
			continue
		}
		a.usable.measure(e.next.rules.near)
		e.next.apps.set(name, a)
	}
	e.vips.finish()
	e.svips.finish()
	return e.next
}

// poolEdit is an index of pools in the making.
type poolEdit struct {
	index   *index[pool]
	near    nearness
	changed map[string]*pool
}

// pool returns the copy of a pool that can be changed.
func (e *poolEdit) pool(name string) *pool {
	if p, ok := e.changed[name]; ok {
		return p
	}
	p, _ := e.index.find(name)
	p.members = slices.Clone(p.members)
	e.changed[name] = &p
	return &p
}

// swap replaces an instance that is in some pools by one that is in others.
func (e *poolEdit) swap(old, replacement *eureka.InstanceInfo, from, to map[string]struct{}) {
	for name := range from {
		if _, stays := to[name]; stays {
			e.pool(name).swap(old, replacement, e.near)
		} else {
			e.pool(name).swap(old, nil, e.near)
		}
	}
	for name := range to {
		if _, was := from[name]; !was {
			e.pool(name).swap(nil, replacement, e.near)
		}
	}
}

func (e *poolEdit) finish() {
	for name, p := range e.changed {
		if len(p.members) == 0 {
			e.index.remove(name)
			continue
		}
		p.measure(e.near)
		e.index.set(name, *p)
	}
}

// swapped puts an instance in the place of another in a list that has no
// order; either may be nil.
func swapped(list []*eureka.InstanceInfo, old, replacement *eureka.InstanceInfo) []*eureka.InstanceInfo {
	at := -1
	if old != nil {
		at = slices.Index(list, old)
	}
	switch {
	case at < 0 && replacement != nil:
		return append(list, replacement)
	case at >= 0 && replacement != nil:
		list[at] = replacement
	case at >= 0:
		list[at] = list[len(list)-1]
		return list[:len(list)-1]
	}
	return list
}
