package view

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

func regional(app, id string, status eureka.Status, action eureka.ActionType) *eureka.InstanceInfo {
	return &eureka.InstanceInfo{App: app, InstanceID: id, Status: status, Action: action}
}

// TestRegions: lists of several regions hold each instance once, and their hash
// code counts what they hold.
func TestRegions(t *testing.T) {
	own := []delta.Entry{
		{Key: eureka.NewKey("SHOP", "b"), Version: 1, Instance: regional("SHOP", "b", eureka.Up, eureka.Added)},
	}
	now := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	v := newView(newState(own, now), now, now, &documents{}, &deflaters{})
	west := Region{Name: "west", Generation: 1,
		Instances: []*eureka.InstanceInfo{
			regional("CART", "c", eureka.Down, ""), regional("SHOP", "a", eureka.Up, ""), regional("SHOP", "b", eureka.Down, ""),
		},
		Changes: []*eureka.InstanceInfo{
			regional("SHOP", "a", eureka.Up, eureka.Modified), regional("SHOP", "b", eureka.Down, eureka.Modified), regional("ZOO", "z", eureka.Up, eureka.Deleted),
		},
	}
	read := func(b *Body) *eureka.Applications {
		all, err := wire.DecodeApplications(wire.JSON, b.Plain())
		assert.NoError(t, err)
		return all
	}
	ids := func(all *eureka.Applications) (out []string) {
		for _, app := range all.Applications {
			for _, i := range app.Instances {
				out = append(out, i.Key().String()+" "+string(i.Status))
			}
		}
		return out
	}
	e := wire.Encoding{Format: wire.JSON}
	all := read(v.AllWith([]Region{west}, e))
	assert.Equal(t, []string{"CART/c DOWN", "SHOP/b UP", "SHOP/a UP"}, ids(all))
	assert.Equal(t, "DOWN_1_UP_2_", all.HashCode)
	delta := read(v.DeltaWith([]Region{west}, e))
	assert.Equal(t, []string{"SHOP/a UP", "ZOO/z UP"}, ids(delta))
	assert.Equal(t, "DOWN_1_UP_2_", delta.HashCode)

	assert.Equal(t, []string{"SHOP/b UP"}, ids(read(v.All(e))), "the view itself is not changed")
	west.Generation, west.Instances = 2, nil
	assert.Equal(t, "UP_1_", read(v.AllWith([]Region{west}, e)).HashCode)
}

// TestALargeApplicationOfARegion costs memory in proportion to its size.
func TestALargeApplicationOfARegion(t *testing.T) {
	const size = 20_000
	now := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	v := newView(newState(nil, now), now, now, &documents{}, &deflaters{})
	for name, apps := range map[string]int{"one application": 1, "as many applications": size} {
		west := Region{Name: "west"}
		for n := range size {
			west.Instances = append(west.Instances, regional(fmt.Sprintf("APP-%05d", n%apps), fmt.Sprintf("i-%05d", n), eureka.Up, ""))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all := v.mergedWith([]Region{west}, nil, func(r Region) []*eureka.InstanceInfo { return r.Instances })
		runtime.ReadMemStats(&after)
		assert.Len(t, all, apps, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size*500), name)
	}
}
