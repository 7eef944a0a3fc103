package discovery

import (
	"fmt"
	"testing"

	"github.com/eurekaless/registry/core/eureka"
)

// registry returns a registry of instances evenly spread over applications.
func registry(instances, apps int) *eureka.Applications {
	out := &eureka.Applications{Applications: make([]eureka.Application, apps)}
	for n := range instances {
		a := &out.Applications[n%apps]
		a.Name = fmt.Sprintf("APP-%d", n%apps)
		a.Instances = append(a.Instances, &eureka.InstanceInfo{
			App: a.Name, InstanceID: fmt.Sprintf("host-%d:app:8080", n), VIPAddress: a.Name, SecureVIPAddress: a.Name,
			Status: eureka.Up, Metadata: map[string]string{"zone": fmt.Sprintf("zone-%d", n/apps%3)},
		})
	}
	return out
}

// change returns a delta of ten changes: three new, three gone, four changed.
func change(a *eureka.Applications) *eureka.Applications {
	out := &eureka.Applications{}
	for n := range 10 {
		app := a.Applications[n*7%len(a.Applications)]
		i := app.Instances[n%len(app.Instances)].Clone()
		switch {
		case n < 3:
			i.InstanceID, i.Action = fmt.Sprintf("new-%d", n), eureka.Added
		case n < 6:
			i.Action = eureka.Deleted
		default:
			i.Status, i.Action = eureka.OutOfService, eureka.Modified
		}
		out.Applications = append(out.Applications, eureka.Application{Name: app.Name, Instances: []*eureka.InstanceInfo{i}})
	}
	return out
}

var shapes = []struct {
	name            string
	instances, apps int
	zones           []string
}{
	{"10000in200apps", 10_000, 200, nil},
	{"10000in200apps,zones", 10_000, 200, []string{"zone-0", "zone-1"}},
	{"10000in1app,zones", 10_000, 1, []string{"zone-0", "zone-1"}},
	{"10000in10000apps", 10_000, 10_000, nil},
	{"100000in2000apps", 100_000, 2_000, nil},
}

// BenchmarkApply applies a delta of ten changes.
func BenchmarkApply(b *testing.B) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			a := registry(shape.instances, shape.apps)
			v := newView(a, rules{near: nearness{zones: shape.zones}})
			delta := change(a)
			b.ReportAllocs()
			for b.Loop() {
				v.apply(delta)
			}
		})
	}
}

// BenchmarkFull makes a view of a full answer.
func BenchmarkFull(b *testing.B) {
	a := registry(10_000, 200)
	b.ReportAllocs()
	for b.Loop() {
		newView(a, rules{})
	}
}

// BenchmarkVIP looks a name up, as written and in lower case.
func BenchmarkVIP(b *testing.B) {
	v := newView(registry(10_000, 200), rules{})
	for _, name := range []string{"APP-77", "app-77", "nobody"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v.VIP(name)
			}
		})
	}
}

// BenchmarkPick picks an instance, in parallel with others who do.
func BenchmarkPick(b *testing.B) {
	for name, picker := range map[string]Picker{"shuffled": Shuffled(), "roundRobin": RoundRobin()} {
		b.Run(name, func(b *testing.B) {
			c, err := New(Config{Picker: picker})
			if err != nil {
				b.Fatal(err)
			}
			c.fetcher.view.Store(newView(registry(10_000, 200), rules{}))
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.Pick("app-77"); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
