package view

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pair is a list item whose order is its key and whose payload can change.
type pair struct{ key, value int }

// everyFifth ends a chunk at each key that five divides, so that tests see
// where chunks end.
var everyFifth = order[pair]{
	compare: func(a, b pair) int { return cmp.Compare(a.key, b.key) },
	ends:    func(p pair) bool { return p.key%5 == 0 },
}

func pairs(keys ...int) []pair {
	out := make([]pair, len(keys))
	for i, k := range keys {
		out[i] = pair{key: k}
	}
	return out
}

func put(keys ...int) []change[pair] {
	var out []change[pair]
	for _, k := range keys {
		out = append(out, change[pair]{item: pair{k, 1}})
	}
	return out
}

func remove(keys ...int) []change[pair] {
	var out []change[pair]
	for _, k := range keys {
		out = append(out, change[pair]{item: pair{key: k}, remove: true})
	}
	return out
}

// runs returns the items of a list, chunk by chunk.
func runs[T any](l list[T]) [][]T {
	out := [][]T{}
	for _, c := range l.chunks {
		out = append(out, c.items)
	}
	return out
}

// keys returns the keys chunk by chunk.
func keys(l list[pair]) [][]int {
	var out [][]int
	for _, run := range runs(l) {
		var in []int
		for _, p := range run {
			in = append(in, p.key)
		}
		out = append(out, in)
	}
	return out
}

func TestListWith(t *testing.T) {
	start := func() list[pair] { return newList(everyFifth, pairs(1, 3, 5, 6, 10, 11, 12, 15, 17)) }
	for _, c := range []struct {
		name    string
		changes []change[pair]
		want    [][]int
		kept    []int // chunks of the old list that the new one must share
	}{
		{"nothing", nil, [][]int{{1, 3, 5}, {6, 10}, {11, 12, 15}, {17}}, []int{0, 1, 2, 3}},
		{"replaced", put(6), [][]int{{1, 3, 5}, {6, 10}, {11, 12, 15}, {17}}, []int{0, 2, 3}},
		{"inserted", put(7), [][]int{{1, 3, 5}, {6, 7, 10}, {11, 12, 15}, {17}}, []int{0, 2, 3}},
		{"in front of all", put(0), [][]int{{0}, {1, 3, 5}, {6, 10}, {11, 12, 15}, {17}}, []int{1, 2, 3}},
		{"after all", put(18), [][]int{{1, 3, 5}, {6, 10}, {11, 12, 15}, {17, 18}}, []int{0, 1, 2}},
		{"closing the last", put(20, 21), [][]int{{1, 3, 5}, {6, 10}, {11, 12, 15}, {17, 20}, {21}}, []int{0, 1, 2}},
		{"the end of a chunk taken out", remove(5), [][]int{{1, 3, 6, 10}, {11, 12, 15}, {17}}, []int{2, 3}},
		{"the ends of two chunks taken out", remove(5, 10), [][]int{{1, 3, 6, 11, 12, 15}, {17}}, []int{3}},
		{"a whole chunk taken out", remove(6, 10), [][]int{{1, 3, 5}, {11, 12, 15}, {17}}, []int{0, 2, 3}},
		{"the last chunk taken out", remove(17), [][]int{{1, 3, 5}, {6, 10}, {11, 12, 15}}, []int{0, 1, 2}},
		{"all but the last taken out", remove(1, 3, 5, 6, 10, 11, 12, 15), [][]int{{17}}, []int{3}},
		{"one that is not there taken out", remove(7), [][]int{{1, 3, 5}, {6, 10}, {11, 12, 15}, {17}}, []int{0, 2, 3}},
		{"out of order", append(put(18), remove(1)...), [][]int{{3, 5}, {6, 10}, {11, 12, 15}, {17, 18}}, []int{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := start()
			got := old.with(everyFifth, c.changes)
			assert.Equal(t, c.want, keys(got))
			assert.Equal(t, len(slices.Concat(c.want...)), got.size)
			assert.Equal(t, keys(start()), keys(old), "the old list is as it was")
			for _, i := range c.kept {
				assert.True(t, slices.Contains(got.chunks, old.chunks[i]), "chunk %d is shared", i)
			}
		})
	}
}

func TestListFromNothing(t *testing.T) {
	var none list[pair]
	assert.Empty(t, none.with(everyFifth, remove(1)).chunks)
	got := none.with(everyFifth, put(5, 1))
	assert.Equal(t, [][]int{{1, 5}}, keys(got))
	assert.Empty(t, got.with(everyFifth, remove(1, 5)).chunks)
	assert.Equal(t, 1, newList(everyFifth, pairs(4, 4)).size, "equal items are one")
}

// TestListProperty changes a list at random and compares it with a map, and
// its chunks with those of a list made at once.
func TestListProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := map[int]int{}
		var l list[pair]
		key := rapid.IntRange(0, 60)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			var changes []change[pair]
			for _, k := range rapid.SliceOfDistinct(key, rapid.ID).Draw(t, "keys") {
				c := change[pair]{pair{k, step}, rapid.Bool().Draw(t, "remove")}
				if changes = append(changes, c); c.remove {
					delete(model, k)
				} else {
					model[k] = step
				}
			}
			l = l.with(everyFifth, changes)
		}
		var all []pair
		l.each(func(p pair) { all = append(all, p) })
		var want []pair
		for _, k := range slices.Sorted(maps.Keys(model)) {
			want = append(want, pair{k, model[k]})
		}
		require.Equal(t, want, all)
		require.Equal(t, len(want), l.size)
		require.Equal(t, keys(newList(everyFifth, slices.Clone(want))), keys(l), "chunks do not tell the history")

		for k := -1; k <= 61; k++ {
			got, ok := l.find(func(p pair) int { return cmp.Compare(p.key, k) })
			value, there := model[k]
			require.Equal(t, there, ok, k)
			require.Equal(t, value, got.value, k)
		}
		from := key.Draw(t, "from")
		to := key.Draw(t, "to")
		var span, inside []pair
		l.span(func(p pair) int {
			if p.key < from {
				return -1
			}
			return max(0, p.key-to)
		}, func(items []pair) { span = append(span, items...) })
		for _, p := range want {
			if from <= p.key && p.key <= to {
				inside = append(inside, p)
			}
		}
		require.Equal(t, inside, span)
	})
}
