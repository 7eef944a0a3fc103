package view

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

var (
	jsonGzip  = representation{jsonFull, gzipped}
	jsonPlain = representation{jsonFull, plain}
)

// fleet returns the state of n instances, ten to an application.
func fleet(n int) *state {
	entries := make([]delta.Entry, n)
	for i := range entries {
		instance := fleetInstance(i)
		entries[i] = delta.Entry{Key: instance.Key(), Version: 1, Instance: instance}
	}
	return newState(entries, start)
}

// expected returns a body written by the encoder at once.
func expected(s *state, e wire.Encoding) string {
	return string(e.AppendApplications(nil, &eureka.Applications{
		Version: allVersion, HashCode: s.counts.HashCode(), Applications: asView(s).Applications(),
	}))
}

// document returns the document of s, made with the help of previous.
func (s *state) document(r representation, previous *document) *document {
	d := lender.get()
	defer lender.put(d)
	return newDocument(s.applications, s.counts.HashCode(), r, d, previous)
}

func TestDocument(t *testing.T) {
	for _, n := range []int{0, 1, 10, 64, 500} {
		s := fleet(n)
		for _, e := range encodings {
			want := expected(s, e)
			assert.Equal(t, want, string(s.document(representation{e, plain}, nil).data), "%d, %s", n, encodingName(e))
			assert.Equal(t, want, string(unzip(t, s.document(representation{e, gzipped}, nil).data)), "%d, %s", n, encodingName(e))
			size := int64(0)
			for _, sum := range s.document(representation{e, measured}, nil).sums {
				size += sum.length
			}
			assert.EqualValues(t, len(want), size)
		}
	}
}

// remade returns how many pieces of doc were not copied from previous.
func remade(doc, previous *document) int {
	copied := map[*byte]bool{}
	for _, p := range previous.pieces {
		copied[&p.tail[0]] = true
	}
	n := 0
	for _, p := range doc.pieces {
		if !copied[&p.tail[0]] {
			n++
		}
	}
	return n
}

// TestPiecesAreReused: a change makes its own piece anew, and the one behind
// only if that leans on what changed.
func TestPiecesAreReused(t *testing.T) {
	old := fleet(1500)
	first, firstPlain := old.document(jsonGzip, nil), old.document(jsonPlain, nil)
	require.Greater(t, len(first.pieces), 30)
	long := old.applications.chunks[slices.IndexFunc(old.applications.chunks, func(c *chunk[*application]) bool {
		return len(c.items) > 5
	})]
	atFront, atEnd := *long.items[0].Instances[0], *long.last().Instances[9]
	atFront.Status, atEnd.Status = eureka.Down, eureka.Down
	gone := func(applications ...*application) []delta.Row {
		var rows []delta.Row
		for _, a := range applications {
			for _, i := range a.Instances {
				rows = append(rows, delta.Row{Key: i.Key(), Version: 2, Instance: delta.DeletedInstance(i, at(1))})
			}
		}
		return rows
	}
	for _, c := range []struct {
		name string
		rows []delta.Row
		most int
	}{
		{"a repetition", []delta.Row{{Key: atFront.Key(), Version: 1, Instance: &atFront}}, 0},
		{"one changed", []delta.Row{{Key: atFront.Key(), Version: 2, Instance: &atFront}}, 1},
		{"the last of its chunk changed", []delta.Row{{Key: atEnd.Key(), Version: 2, Instance: &atEnd}}, 2},
		{"an application more, before all", []delta.Row{row("A", "1", 1, eureka.Up, 1)}, 2},
		{"one more, behind all", []delta.Row{row("ZZZ", "1", 1, eureka.Up, 1)}, 2},
		{"one more, in the middle", []delta.Row{row("SERVICE-0075X", "1", 1, eureka.Up, 1)}, 2},
		{"one less", gone(long.items[0]), 2},
		{"the first chunk gone", gone(old.applications.chunks[0].items...), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := old.apply(c.rows, at(30), time.Minute)
			doc := s.document(jsonGzip, first)
			assert.LessOrEqual(t, remade(doc, first), c.most)
			assert.Equal(t, expected(s, jsonGzip.encoding), string(unzip(t, doc.data)))
			assert.Equal(t, s.document(jsonGzip, nil).data, doc.data, "as if made at once")
			assert.Equal(t, string(unzip(t, doc.data)), string(s.document(jsonPlain, firstPlain).data))
		})
	}
}

// TestChunksAreOfUsualSize: neither do many small applications make large
// chunks nor few large ones small ones.
func TestChunksAreOfUsualSize(t *testing.T) {
	for _, perApplication := range []int{1, 10, 200} {
		var entries []delta.Entry
		for n := range 5000 {
			i := instance(fmt.Sprintf("SERVICE-%05d", n/perApplication), fmt.Sprint(n), eureka.Up)
			entries = append(entries, delta.Entry{Key: i.Key(), Version: 1, Instance: i})
		}
		s := newState(entries, start)
		mean := float64(len(entries)) / float64(len(s.applications.chunks))
		if perApplication < chunkSize {
			assert.InDelta(t, chunkSize, mean, chunkSize/2, "%d to an application", perApplication)
		} else {
			assert.InDelta(t, perApplication, mean, 1)
		}
	}
}

// TestGzipSize: the pieces together are hardly larger than a whole.
func TestGzipSize(t *testing.T) {
	s := fleet(2000)
	for _, e := range encodings {
		whole, _ := (&wholeMaker{deflaters: &lender, encode: func(dst []byte) []byte {
			return append(dst, expected(s, e)...)
		}}).make(gzipped)
		pieces := s.document(representation{e, gzipped}, nil).data
		more := float64(len(pieces))/float64(len(whole)) - 1
		t.Logf("%s: whole %d, in pieces %d, %+.1f%%", encodingName(e), len(whole), len(pieces), 100*more)
		assert.Less(t, more, 0.05, encodingName(e))
	}
}

func TestDocumentsAreKept(t *testing.T) {
	var docs documents
	first, second := &document{boundary: at(0)}, &document{boundary: at(30)}
	other := representation{wire.Encoding{Format: wire.XML}, plain}
	assert.Nil(t, docs.get(jsonGzip))
	docs.put(jsonGzip, second)
	docs.put(jsonGzip, first)
	docs.put(other, first)
	assert.Same(t, second, docs.get(jsonGzip), "an old view's is not the last")
	docs.forget(at(30))
	assert.Same(t, second, docs.get(jsonGzip))
	assert.Nil(t, docs.get(other))
}

// TestForgottenDocuments: a representation that nobody asks for any more takes
// no memory.
func TestForgottenDocuments(t *testing.T) {
	r := newRig(t, nil)
	r.source.register(up("A", "1"), 1, at(-1))
	r.set(3)
	r.view(t).All(jsonGzip.encoding).Gzip()
	for turn := 1; turn <= keptTurns+1; turn++ {
		assert.NotNil(t, r.documents.get(jsonGzip))
		r.set(float64(30*turn + 3))
		r.view(t)
	}
	assert.Nil(t, r.documents.get(jsonGzip))
}
