package discovery

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// index finds values by name, whatever the case of its letters, without a lock
// and without allocating. It is shared between views: a copy made by clone can
// be changed, and shares with the one before all pages that do not change.
// Go's own maps would have to be copied whole for each delta.
type index[V any] struct {
	pages []*page[V]
	size  int
}

// page is a run of buckets.
type page[V any] [pageSize][]entry[V]

type entry[V any] struct {
	hash  uint32
	name  string
	value V
}

const (
	pageSize = 64
	// fullBucket is how many entries a bucket holds on average before there
	// are more buckets.
	fullBucket = 4
)

// newIndex returns an index for that many names.
func newIndex[V any](expected int) index[V] {
	n := 1
	for n*pageSize*fullBucket/2 < expected {
		n *= 2
	}
	return index[V]{pages: newPages[V](n)}
}

// newPages returns empty pages; n is a power of two.
func newPages[V any](n int) []*page[V] {
	pages := make([]*page[V], n)
	for at := range pages {
		pages[at] = new(page[V])
	}
	return pages
}

// find returns the value of a name.
func (x *index[V]) find(name string) (V, bool) {
	hash, name := folded(name)
	if len(x.pages) > 0 {
		bucket := *x.bucket(hash)
		for n := range bucket {
			if e := &bucket[n]; e.hash == hash && equalFolded(e.name, name) {
				return e.value, true
			}
		}
	}
	var none V
	return none, false
}

// clone returns a copy that can be changed.
func (x *index[V]) clone() index[V] {
	return index[V]{pages: slices.Clone(x.pages), size: x.size}
}

// set gives a name its value.
func (x *index[V]) set(name string, value V) {
	if x.size >= fullBucket*pageSize*len(x.pages) {
		x.grow()
	}
	hash, name := folded(name)
	x.put(x.ownBucket(hash), entry[V]{hash, name, value})
}

// build is set for an index that is not shared yet.
func (x *index[V]) build(name string, value V) {
	hash, name := folded(name)
	x.put(x.bucket(hash), entry[V]{hash, name, value})
}

func (x *index[V]) put(bucket *[]entry[V], added entry[V]) {
	for n := range *bucket {
		if e := &(*bucket)[n]; e.hash == added.hash && equalFolded(e.name, added.name) {
			e.value = added.value
			return
		}
	}
	*bucket = append(*bucket, added)
	x.size++
}

// remove forgets a name.
func (x *index[V]) remove(name string) {
	hash, name := folded(name)
	bucket := x.ownBucket(hash)
	for n, e := range *bucket {
		if e.hash == hash && equalFolded(e.name, name) {
			*bucket = slices.Delete(*bucket, n, n+1)
			x.size--
			return
		}
	}
}

// bucket returns the bucket of a hash.
func (x *index[V]) bucket(hash uint32) *[]entry[V] {
	return &x.pages[hash/pageSize&uint32(len(x.pages)-1)][hash%pageSize]
}

// ownBucket returns the bucket of a hash, in a copy that can be changed.
func (x *index[V]) ownBucket(hash uint32) *[]entry[V] {
	at := hash / pageSize & uint32(len(x.pages)-1)
	own := *x.pages[at]
	own[hash%pageSize] = slices.Clone(own[hash%pageSize])
	x.pages[at] = &own
	return &own[hash%pageSize]
}

// grow spreads the entries over four times as many buckets.
func (x *index[V]) grow() {
	larger := index[V]{pages: newPages[V](max(1, 4*len(x.pages))), size: x.size}
	for _, p := range x.pages {
		for _, bucket := range p {
			for _, e := range bucket {
				to := larger.bucket(e.hash)
				*to = append(*to, e)
			}
		}
	}
	*x = larger
}

// all yields every name and value, in no order.
func (x *index[V]) all() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, p := range x.pages {
			for _, bucket := range p {
				for _, e := range bucket {
					if !yield(e.name, e.value) {
						return
					}
				}
			}
		}
	}
}

// folded returns a hash that does not see the case of letters (FNV, 32 bits),
// and the name in the form that equalFolded compares: as it is when all of it
// is ASCII, otherwise in upper case.
func folded(name string) (uint32, string) {
	const offset, prime = 2166136261, 16777619
	for n := range len(name) {
		if name[n] >= utf8.RuneSelf {
			name = strings.ToUpper(name)
			break
		}
	}
	hash := uint32(offset)
	for n := range len(name) {
		hash = (hash ^ uint32(upper(name[n]))) * prime
	}
	return hash, name
}

// equalFolded compares without regard to the case of ASCII letters.
func equalFolded(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	if a == b {
		return true
	}
	for n := range len(a) {
		if upper(a[n]) != upper(b[n]) {
			return false
		}
	}
	return true
}

// upper returns an ASCII letter in upper case, and any other byte as it is.
func upper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - ('a' - 'A')
	}
	return b
}
