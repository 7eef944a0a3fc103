package view

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// Versions that answers carry in versions__delta, as recorded of the stock
// server. Clients look at the sign alone: -1 means that there are no deltas.
// But some pass over a delta of the version and hash code that they had last,
// so that of a delta is another with each turn that has changes to show
// (TestDeltaVersion).
const (
	allVersion = 1
	vipVersion = -1
)

// View is the registry at one boundary. Its answers belong together: the hash
// code of each is counted over the very instances that All holds. A View is
// safe for concurrent use and is never changed; what it returns is shared and
// must not be changed either.
type View struct {
	state          *state
	boundary, next time.Time
	// made is when it was made, without a reading of the monotonic clock, and
	// madeElapsed the same on the clock that nobody sets.
	made        time.Time
	madeElapsed time.Duration
	stale       atomic.Bool

	documents *documents
	deflaters *deflaters
	bodies    sync.Map // of *Body, by bodyKey
	flat      func() []eureka.Application
	// turn is the view's on the shelf of bodies.
	turn int
}

// bodyKey names a body of a view.
type bodyKey struct {
	kind     bodyKind
	name     string
	encoding wire.Encoding
}

type bodyKind int

const (
	allBody bodyKind = iota
	deltaBody
	applicationBody
	vipBody
	secureVIPBody
)

func newView(s *state, boundary, next time.Time, docs *documents, d *deflaters) *View {
	v := &View{state: s, boundary: boundary, next: next, documents: docs, deflaters: d}
	v.flat = sync.OnceValue(v.flatten)
	v.turn = d.shelf.next()
	return v
}

// Boundary returns the cut: the view holds the rows written up to then.
func (v *View) Boundary() time.Time { return v.boundary }

// NextTurn returns from when on a request asks for the next view.
func (v *View) NextTurn() time.Time { return v.next }

// Keep returns for how long an answer may be kept at a time: until the next
// view is due. A clock that was set back makes it no longer than the time from
// one view to the next.
func (v *View) Keep(now time.Time) time.Duration {
	return min(max(v.next.Sub(now), 0), v.next.Sub(v.boundary))
}

// Age returns how long ago the boundary was; 0 when it lies ahead.
func (v *View) Age(now time.Time) time.Duration { return max(now.Sub(v.boundary), 0) }

// Stale reports whether the view should have been replaced and could not be.
func (v *View) Stale() bool { return v.stale.Load() }

// Counts returns the number of instances by status.
func (v *View) Counts() eureka.StatusCounts { return maps.Clone(v.state.counts) }

// Applications returns all applications, sorted by name, their instances
// sorted by id. See [Settled] for their last renewals.
func (v *View) Applications() []eureka.Application { return v.flat() }

func (v *View) flatten() []eureka.Application {
	out := make([]eureka.Application, 0, v.state.applications.size)
	v.state.applications.each(func(a *application) { out = append(out, a.Application) })
	return out
}

// Find returns the key of the instance with that id, the one of the first
// application if several have it.
func (v *View) Find(id string) (eureka.Key, bool) {
	return v.state.ids.find(func(k eureka.Key) int { return strings.Compare(k.ID, id) })
}

// All returns the body of all applications.
func (v *View) All(e wire.Encoding) *Body {
	return v.body(bodyKey{kind: allBody, encoding: e}, &allMaker{v, e})
}

// Delta returns the body of the instances that changed within the retention,
// each with its last state, whole also if it is deleted.
func (v *View) Delta(e wire.Encoding) *Body {
	key := bodyKey{kind: deltaBody, encoding: e}
	return v.body(key, v.list(e, func() eureka.Applications {
		applications, version := v.changes()
		return eureka.Applications{Version: version, HashCode: v.state.counts.HashCode(), Applications: applications}
	}))
}

// Application returns the body of one application, whose name may have any
// case, and false if there is none.
func (v *View) Application(name string, e wire.Encoding) (*Body, bool) {
	a := v.state.application(strings.ToUpper(name))
	if a == nil {
		return nil, false
	}
	key := bodyKey{kind: applicationBody, name: a.Name, encoding: e}
	return v.shelved(key, &wholeMaker{deflaters: v.deflaters, estimate: a.size, encode: func(dst []byte) []byte {
		return e.AppendApplicationDocument(dst, &a.Application)
	}}), true
}

// VIP returns the body of the instances that have vip among their VIP
// addresses. Names are compared as they are, case included, as on the stock
// server. No such instance makes an empty list.
func (v *View) VIP(vip string, e wire.Encoding) *Body {
	return v.vip(vipBody, v.state.vips, vip, vipAddress, e)
}

// SecureVIP is VIP for secure VIP addresses.
func (v *View) SecureVIP(vip string, e wire.Encoding) *Body {
	return v.vip(secureVIPBody, v.state.secureVIPs, vip, secureVIPAddress, e)
}

func (v *View) vip(kind bodyKind, index list[vipEntry], vip string, address func(*eureka.InstanceInfo) string, e wire.Encoding) *Body {
	if _, ok := index.find(func(entry vipEntry) int { return strings.Compare(entry.vip, vip) }); !ok {
		vip = "" // all names that nobody has share one body, whoever makes them up
	}
	m := v.list(e, func() eureka.Applications {
		var applications []eureka.Application
		index.span(func(entry vipEntry) int { return strings.Compare(entry.vip, vip) }, func(run []vipEntry) {
			for _, entry := range run {
				applications = append(applications, v.state.application(entry.app).under(vip, address))
			}
		})
		return eureka.Applications{Version: vipVersion, HashCode: eureka.HashCode(applications), Applications: applications}
	})
	m.estimate = sync.OnceValue(func() int64 {
		var n int64
		index.span(func(entry vipEntry) int { return strings.Compare(entry.vip, vip) }, func(run []vipEntry) {
			for _, entry := range run {
				n += v.state.application(entry.app).size()
			}
		})
		return n
	})
	return v.shelved(bodyKey{kind, vip, e}, m)
}

// shelved is body for bodies that somebody can ask for in any number.
func (v *View) shelved(key bodyKey, m *wholeMaker) *Body {
	if b, ok := v.bodies.Load(key); ok {
		return b.(*Body)
	}
	body := &Body{encoding: key.encoding, maker: m}
	body.place = place{
		shelf: &v.deflaters.shelf, turn: v.turn, estimate: m.estimate,
		drop: func() { v.bodies.CompareAndDelete(key, body) },
	}
	b, _ := v.bodies.LoadOrStore(key, body)
	return b.(*Body)
}

// body returns the body of that key, made by m if it is not there yet.
func (v *View) body(key bodyKey, m maker) *Body {
	if b, ok := v.bodies.Load(key); ok {
		return b.(*Body)
	}
	b, _ := v.bodies.LoadOrStore(key, &Body{encoding: key.encoding, maker: m})
	return b.(*Body)
}

// list returns the maker of a list.
func (v *View) list(e wire.Encoding, applications func() eureka.Applications) *wholeMaker {
	return &wholeMaker{deflaters: v.deflaters, encode: func(dst []byte) []byte {
		all := applications()
		return e.AppendApplications(dst, &all)
	}}
}

// changes returns what the delta holds and its version, the boundary. The time of
// its last row would not do: a row that became visible late may be older.
func (v *View) changes() ([]eureka.Application, int64) {
	var out []eureka.Application
	version := int64(allVersion)
	for _, r := range v.state.window {
		if len(out) == 0 || out[len(out)-1].Name != r.key.App {
			out = append(out, eureka.Application{Name: r.key.App})
		}
		last := &out[len(out)-1]
		last.Instances = append(last.Instances, r.instance)
		version = v.boundary.UnixMilli()
	}
	return out, version
}

// allMaker makes the body of all applications.
type allMaker struct {
	view     *View
	encoding wire.Encoding
}

func (m *allMaker) make(c coding) ([]byte, []checksum) {
	v := m.view
	d := v.deflaters.get()
	defer v.deflaters.put(d)
	kind := representation{m.encoding, c}
	doc := newDocument(v.state.applications, v.state.counts.HashCode(), kind, d, v.documents.get(kind))
	doc.boundary = v.boundary
	v.documents.put(kind, doc)
	return doc.data, doc.sums
}
