package discovery

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestIndexIsAMap compares an index with a map by upper-case names, and holds
// that a clone's changes do not show in what it was made from.
func TestIndexIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, model := newIndex[int](rapid.IntRange(0, 40).Draw(t, "expected")), map[string]int{}
		before, modelBefore := x, maps.Clone(model)
		x = x.clone()
		names := rapid.SampledFrom([]string{"a", "A", "b", "shop", "SHOP", "Shop", "müller", "MÜLLER", "", "ß", "東京"})
		for n := range rapid.IntRange(0, 60).Draw(t, "steps") {
			name := names.Draw(t, "name")
			if rapid.Bool().Draw(t, "more") {
				name += fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "number"))
			}
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				x.remove(name)
				delete(model, strings.ToUpper(name))
			case 1:
				checkIndex(t, &before, modelBefore)
				before, modelBefore = x, maps.Clone(model)
				x = x.clone()
			default:
				x.set(name, n)
				model[strings.ToUpper(name)] = n
			}
		}
		checkIndex(t, &x, model)
	})
}

func checkIndex(t *rapid.T, x *index[int], model map[string]int) {
	got := map[string]int{}
	for name, value := range x.all() {
		got[strings.ToUpper(name)] = value
	}
	assert.Equal(t, model, got)
	assert.Equal(t, len(model), x.size)
	for name, value := range model {
		for _, asked := range []string{name, strings.ToLower(name)} {
			if strings.ToUpper(asked) != name {
				continue // ß and alike have no way back
			}
			found, ok := x.find(asked)
			assert.True(t, ok, asked)
			assert.Equal(t, value, found, asked)
		}
	}
	_, ok := x.find("nobody")
	assert.False(t, ok)
}

// TestIndexGrows holds that buckets stay short.
func TestIndexGrows(t *testing.T) {
	x := newIndex[int](0)
	for n := range 10_000 {
		x.set(fmt.Sprintf("name-%d", n), n)
	}
	longest := 0
	for _, p := range x.pages {
		for _, bucket := range p {
			longest = max(longest, len(bucket))
		}
	}
	assert.Less(t, longest, 4*fullBucket)
	for n := range 10_000 {
		found, ok := x.find(fmt.Sprintf("NAME-%d", n))
		assert.True(t, ok)
		assert.Equal(t, n, found)
	}
}

func TestZeroIndexHoldsNothing(t *testing.T) {
	var x index[int]
	_, ok := x.find("a")
	assert.False(t, ok)
}
