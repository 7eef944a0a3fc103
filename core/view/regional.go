package view

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// Bodies of several regions, after those of the own one.
const (
	allRegionsBody bodyKind = iota + secureVIPBody + 1
	deltaRegionsBody
)

// Region is another region's part of an answer.
type Region struct {
	Name string
	// Generation differs between contents of one region.
	Generation int64
	// Instances and Changes are all of its instances and the changed ones,
	// each sorted by application and id.
	Instances, Changes []*eureka.InstanceInfo
}

// AllWith returns the body of all applications, those of other regions among
// them; the hash code counts those too. An instance that the own region has
// under the same application and id hides another's.
func (v *View) AllWith(regions []Region, e wire.Encoding) *Body {
	m := v.list(e, func() eureka.Applications {
		all := v.mergedWith(regions, v.Applications(), func(r Region) []*eureka.InstanceInfo { return r.Instances })
		return eureka.Applications{Version: allVersion, HashCode: eureka.HashCode(all), Applications: all}
	})
	m.estimate = sync.OnceValue(func() int64 {
		var n int64
		v.state.applications.each(func(a *application) { n += a.size() })
		for _, r := range regions {
			n += sizeOf(r.Instances)
		}
		return n
	})
	return v.shelved(regionsKey(allRegionsBody, regions, e), m)
}

// DeltaWith returns the body of what changed, in other regions too.
func (v *View) DeltaWith(regions []Region, e wire.Encoding) *Body {
	return v.body(regionsKey(deltaRegionsBody, regions, e), v.list(e, func() eureka.Applications {
		own, version := v.changes()
		return eureka.Applications{
			Version: version, HashCode: v.countsWith(regions).HashCode(),
			Applications: v.mergedWith(regions, own, func(r Region) []*eureka.InstanceInfo { return r.Changes }),
		}
	}))
}

// regionsKey names a body by the contents of its regions.
func regionsKey(kind bodyKind, regions []Region, e wire.Encoding) bodyKey {
	var name strings.Builder
	for _, r := range regions {
		name.WriteString(r.Name + "@" + strconv.FormatInt(r.Generation, 10) + ",")
	}
	return bodyKey{kind: kind, name: name.String(), encoding: e}
}

// mergedWith adds instances of other regions, which are sorted by application,
// to applications, whose lists it copies where it adds to them. Its work grows
// with the applications and the instances.
func (v *View) mergedWith(regions []Region, own []eureka.Application, of func(Region) []*eureka.InstanceInfo) []eureka.Application {
	out := own
	for _, r := range regions {
		out = merged(out, v.added(of(r)))
	}
	return out
}

// added returns the instances of another region by application, without those
// that the own region hides.
func (v *View) added(instances []*eureka.InstanceInfo) []eureka.Application {
	var out []eureka.Application
	for _, i := range instances {
		if v.holds(i) {
			continue
		}
		if len(out) == 0 || out[len(out)-1].Name != i.App {
			out = append(out, eureka.Application{Name: i.App})
		}
		last := &out[len(out)-1]
		last.Instances = append(last.Instances, i)
	}
	return out
}

// merged returns two lists of applications as one, each sorted by name.
func merged(a, b []eureka.Application) []eureka.Application {
	out := make([]eureka.Application, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := strings.Compare(a[0].Name, b[0].Name); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			both := a[0]
			both.Instances = slices.Concat(a[0].Instances, b[0].Instances)
			out, a, b = append(out, both), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

func (v *View) countsWith(regions []Region) eureka.StatusCounts {
	counts := v.Counts()
	for _, r := range regions {
		for _, i := range r.Instances {
			if !v.holds(i) {
				counts.Count(i)
			}
		}
	}
	return counts
}

// holds reports whether the own region has an instance of that key.
func (v *View) holds(i *eureka.InstanceInfo) bool {
	a := v.state.application(i.App)
	if a == nil {
		return false
	}
	_, ok := a.find(i.ID())
	return ok
}
