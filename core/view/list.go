package view

import (
	"slices"
	"sort"
)

// list is an immutable sorted list, kept as chunks of some tens of items. A
// changed list shares all chunks but those that hold a change, so that a
// refresh costs what changed and readers of the old list are not disturbed.
//
// Where chunks end is a property of the items alone (order.ends), not of the
// history: equal items make equal chunks in every container, and an item that
// comes or goes moves no boundary but its own.
type list[T any] struct {
	chunks []*chunk[T]
	size   int
}

// chunk is a run of items, never empty and never changed.
type chunk[T any] struct{ items []T }

func (c *chunk[T]) last() T { return c.items[len(c.items)-1] }

// order says how a list is sorted and where its chunks end.
type order[T any] struct {
	compare func(a, b T) int
	// ends reports whether an item is the last of its chunk.
	ends func(T) bool
}

// change puts an item into a list, in place of the one that compares equal,
// or takes that one out.
type change[T any] struct {
	item   T
	remove bool
}

// newList returns the list of items, which are sorted in place. Of items that
// compare equal one stays.
func newList[T any](o order[T], items []T) list[T] {
	slices.SortFunc(items, o.compare)
	items = slices.CompactFunc(items, func(a, b T) bool { return o.compare(a, b) == 0 })
	return list[T]{chunks: o.split(nil, items), size: len(items)}
}

// split appends items to chunks as chunks of their own, which share the
// items' memory.
func (o order[T]) split(chunks []*chunk[T], items []T) []*chunk[T] {
	start := 0
	for i, item := range items {
		if i == len(items)-1 || o.ends(item) {
			chunks = append(chunks, &chunk[T]{items: items[start : i+1 : i+1]})
			start = i + 1
		}
	}
	return chunks
}

// with returns the list with changes made, which are sorted in place; no two
// may compare equal. The list itself stays as it is.
func (l list[T]) with(o order[T], changes []change[T]) list[T] {
	if len(changes) == 0 {
		return l
	}
	slices.SortFunc(changes, func(a, b change[T]) int { return o.compare(a.item, b.item) })
	chunks := make([]*chunk[T], 0, len(l.chunks)+len(changes))
	rest := l.chunks
	for len(changes) > 0 {
		at := o.position(rest, changes[0].item)
		chunks = append(chunks, rest[:at]...)
		var run []T
		run, rest, changes = o.merge(rest[at:], changes)
		chunks = o.split(chunks, run)
	}
	chunks = append(chunks, rest...)
	size := 0
	for _, c := range chunks {
		size += len(c.items)
	}
	return list[T]{chunks: chunks, size: size}
}

// position returns the index of the chunk in which item belongs: the first
// that does not end before it, or the last if that one is open at its end.
func (o order[T]) position(chunks []*chunk[T], item T) int {
	at := sort.Search(len(chunks), func(i int) bool { return o.compare(chunks[i].last(), item) >= 0 })
	if at == len(chunks) && at > 0 && !o.ends(chunks[at-1].last()) {
		at--
	}
	return at
}

// merge makes the changes that fall into the first chunk. Where that leaves the
// run of items without an end, it goes on into the next chunk. It returns the
// run, and the chunks and changes that are left.
func (o order[T]) merge(chunks []*chunk[T], changes []change[T]) ([]T, []*chunk[T], []change[T]) {
	var run []T
	for {
		var items []T
		if len(chunks) > 0 {
			items, chunks = chunks[0].items, chunks[1:]
		}
		due := len(changes)
		if len(chunks) > 0 {
			last := items[len(items)-1]
			due = sort.Search(len(changes), func(i int) bool { return o.compare(changes[i].item, last) > 0 })
		}
		run = o.mergeItems(run, items, changes[:due])
		changes = changes[due:]
		if len(chunks) == 0 || len(run) == 0 || o.ends(run[len(run)-1]) {
			return run, chunks, changes
		}
	}
}

// mergeItems appends items to run, with changes made.
func (o order[T]) mergeItems(run, items []T, changes []change[T]) []T {
	for _, c := range changes {
		at, found := slices.BinarySearchFunc(items, c.item, o.compare)
		run = append(run, items[:at]...)
		if !c.remove {
			run = append(run, c.item)
		}
		if found {
			at++
		}
		items = items[at:]
	}
	return append(run, items...)
}

// find returns the item for which probe is zero. probe is negative for items
// before it and positive for those after.
func (l list[T]) find(probe func(T) int) (T, bool) {
	at := sort.Search(len(l.chunks), func(i int) bool { return probe(l.chunks[i].last()) >= 0 })
	if at < len(l.chunks) {
		items := l.chunks[at].items
		i := sort.Search(len(items), func(i int) bool { return probe(items[i]) >= 0 })
		if probe(items[i]) == 0 {
			return items[i], true
		}
	}
	var none T
	return none, false
}

// span calls yield with the runs of items, in order, for which probe is zero.
func (l list[T]) span(probe func(T) int, yield func(items []T)) {
	at := sort.Search(len(l.chunks), func(i int) bool { return probe(l.chunks[i].last()) >= 0 })
	for ; at < len(l.chunks); at++ {
		items := l.chunks[at].items
		from := sort.Search(len(items), func(i int) bool { return probe(items[i]) >= 0 })
		to := from + sort.Search(len(items)-from, func(i int) bool { return probe(items[from+i]) > 0 })
		if from < to {
			yield(items[from:to])
		}
		if to < len(items) {
			return
		}
	}
}

// each calls yield with every item, in order.
func (l list[T]) each(yield func(T)) {
	for _, c := range l.chunks {
		for _, item := range c.items {
			yield(item)
		}
	}
}
