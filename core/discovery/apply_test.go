package discovery

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/eureka"
)

// TestDeltaEqualsFull applies random deltas to a view, and compares it each
// time with one that is made anew of the same instances: look-ups, counts,
// nearness. Views from before a delta must stay as they were.
func TestDeltaEqualsFull(t *testing.T) {
	zones := []string{"a", "b"}
	for name, r := range map[string]rules{
		"plain":    {},
		"zones":    {near: nearness{zones: zones, region: "r"}},
		"statuses": {allStatuses: true},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				model := map[eureka.Key]*eureka.InstanceInfo{}
				view := newView(&eureka.Applications{}, r)
				for n := range rapid.IntRange(1, 12).Draw(t, "deltas") {
					before, old := view, contents(view)
					view = view.apply(drawDelta(t, model))
					assert.Equal(t, old, contents(before), "the view before delta %d", n)
					checkView(t, view, newView(grouped(slices.Collect(maps.Values(model))), r))
				}
			})
		})
	}
}

// drawDelta draws changes and makes them in the model too.
func drawDelta(t *rapid.T, model map[eureka.Key]*eureka.InstanceInfo) *eureka.Applications {
	var changes []*eureka.InstanceInfo
	for range rapid.IntRange(0, 6).Draw(t, "changes") {
		i := &eureka.InstanceInfo{
			App:              rapid.SampledFrom([]string{"SHOP", "ORDERS", "MÜLLER"}).Draw(t, "app"),
			InstanceID:       rapid.SampledFrom([]string{"i-1", "i-2", "I-1", "i-3", "i-4"}).Draw(t, "id"),
			Status:           rapid.SampledFrom([]eureka.Status{eureka.Up, eureka.Up, eureka.Down, eureka.OutOfService}).Draw(t, "status"),
			VIPAddress:       rapid.SampledFrom([]string{"", "shop", "Shop,orders", " orders , orders"}).Draw(t, "vip"),
			SecureVIPAddress: rapid.SampledFrom([]string{"", "secure"}).Draw(t, "svip"),
			Action:           rapid.SampledFrom([]eureka.ActionType{eureka.Added, eureka.Modified, eureka.Deleted, ""}).Draw(t, "action"),
			Metadata: map[string]string{
				"zone":   rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "zone"),
				"region": rapid.SampledFrom([]string{"", "r", "s"}).Draw(t, "region"),
			},
		}
		changes = append(changes, i)
		if i.Action == eureka.Deleted {
			delete(model, i.Key())
		} else {
			model[i.Key()] = i
		}
	}
	return grouped(changes)
}

// grouped returns instances as an answer, in order.
func grouped(instances []*eureka.InstanceInfo) *eureka.Applications {
	out := &eureka.Applications{}
	for _, i := range instances {
		out.Applications = append(out.Applications, eureka.Application{Name: i.App, Instances: []*eureka.InstanceInfo{i}})
	}
	return out
}

// checkView compares two views, but for the random order of equally near
// instances.
func checkView(t *rapid.T, got, want *View) {
	assert.Equal(t, contents(want), contents(got))
	assert.Equal(t, want.HashCode(), got.HashCode())
	assert.Equal(t, want.Len(), got.Len())
	for _, index := range []*index[pool]{&got.vips, &got.svips} {
		for name, p := range index.all() {
			checkPool(t, name, p, got.rules.near)
		}
	}
	for name, a := range got.apps.all() {
		checkPool(t, name, a.usable, got.rules.near)
	}
}

// checkPool holds the order of a pool.
func checkPool(t *rapid.T, name string, p pool, n nearness) {
	require.NotZero(t, len(p.members)+p.near+1)
	assert.True(t, slices.IsSortedFunc(p.members, func(a, b *eureka.InstanceInfo) int { return n.of(a) - n.of(b) }), name)
	near := 0
	for _, i := range p.members {
		if n.of(i) == n.of(p.members[0]) {
			near++
		}
	}
	assert.Equal(t, near, p.near, name)
}

// contents lists everything that look-ups can find, in order.
func contents(v *View) []string {
	var out []string
	add := func(where, name string, instances []*eureka.InstanceInfo) {
		for _, i := range instances {
			out = append(out, fmt.Sprint(where, " ", name, " ", i.Key(), " ", i.Status, " ", i.Metadata))
		}
	}
	for _, a := range v.Applications() {
		add("application", a.Name, a.All)
		add("usable", a.Name, a.Instances)
		for _, i := range a.All {
			found, ok := v.Instance(a.Name, i.ID())
			out = append(out, fmt.Sprint("instance ", i.Key(), ok, found == i))
			add("id", i.ID(), v.InstancesByID(i.ID()))
		}
	}
	for name, p := range v.vips.all() {
		add("vip", name, p.members)
	}
	for name, p := range v.svips.all() {
		add("svip", name, p.members)
	}
	slices.Sort(out)
	return out
}

func TestNearness(t *testing.T) {
	amazon := func(zone string) *eureka.InstanceInfo {
		return &eureka.InstanceInfo{DataCenter: eureka.DataCenterInfo{Metadata: map[string]string{"availability-zone": zone}}}
	}
	spring := func(zone, region string) *eureka.InstanceInfo {
		return &eureka.InstanceInfo{Metadata: map[string]string{"zone": zone, "region": region}}
	}
	n := nearness{zones: []string{"us-east-1a", "us-east-1b"}, region: "us-east-1"}
	for _, test := range []struct {
		name     string
		instance *eureka.InstanceInfo
		want     int
	}{
		{"own zone", amazon("us-east-1a"), 0},
		{"own zone, Spring's metadata", spring("us-east-1a", ""), 0},
		{"second zone", amazon("us-east-1b"), 1},
		{"third zone of the region", amazon("us-east-1c"), 2},
		{"does not say", spring("", ""), 2},
		{"another region", amazon("eu-west-1a"), 3},
		{"another region by metadata", spring("x", "eu-west-1"), 3},
	} {
		assert.Equal(t, test.want, n.of(test.instance), test.name)
	}
	assert.Zero(t, nearness{}.of(amazon("eu-west-1a")))
	assert.Empty(t, RegionOf(spring("us-east-1a", "")), "a zone of one's own says nothing about regions")
}
