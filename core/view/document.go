package view

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/wire"
)

// coding is what becomes of a body's text.
type coding int

const (
	plain coding = iota
	gzipped
	// measured keeps no bytes, only their number.
	measured

	codings // how many there are
)

// representation is one way to write a registry.
type representation struct {
	encoding wire.Encoding
	coding   coding
}

// Answers of the whole registry are put together of pieces, one for each chunk
// of applications. A document remembers where in it each piece is, and the
// next document copies those whose chunk is still the same. So bytes are held
// once, and a document costs what changed since the last one of its kind.

// document is the body of a whole registry in one representation.
type document struct {
	data   []byte
	pieces []piece
	// sums describe the text: opening, pieces, closing.
	sums []checksum
	// boundary is that of the view it was made for.
	boundary time.Time
}

// piece is a chunk's part of a document.
type piece struct {
	chunk *chunk[*application]
	joint
	sum checksum
	// from and to are its place in the document's data.
	from, to int
	// tail is the end of its text, if the next piece may refer to it.
	tail []byte
}

// joint is what a piece's bytes hang on beside its chunk: where it joins the
// one before.
type joint struct {
	// first says that no separator goes before it.
	first bool
	// before is the tail of the piece before it.
	before []byte
}

func (j joint) equal(other joint) bool {
	return j.first == other.first && bytes.Equal(j.before, other.before)
}

// tail returns the end of a piece's text of so many instances: what the next
// piece may refer to, so that it need not spell anew what all instances have in
// common. That takes one whole instance, so it is about two average ones. A
// change in the tail makes the next piece anew, too; hence a length that small
// changes elsewhere in the piece do not move.
func tail(text []byte, instances int) []byte {
	const step, most = 1 << 10, 16 << 10
	n := (2*len(text)/max(1, instances) + step - 1) / step * step
	return bytes.Clone(text[max(0, len(text)-min(n, most)):])
}

// documentBuilder makes a document.
type documentBuilder struct {
	representation
	deflater *deflater
	doc      *document
}

// newDocument makes the document of applications. previous, if not nil, is an
// earlier one of the same representation.
func newDocument(l list[*application], hashCode string, r representation, d *deflater, previous *document) *document {
	b := documentBuilder{representation: r, deflater: d, doc: &document{}}
	if previous != nil {
		b.doc.data = make([]byte, 0, len(previous.data)+len(previous.data)/16+1024)
	}
	if r.coding == gzipped {
		b.doc.data = append(b.doc.data, gzipHeader...)
	}
	b.add(r.encoding.AppendOpening(b.buffer(), allVersion, hashCode), nil)
	b.pieces(l, previous)
	b.add(r.encoding.AppendClosing(b.buffer(), allVersion, hashCode), nil)
	if r.coding == gzipped {
		b.doc.data = appendTrailer(b.doc.data, b.doc.sums)
	}
	if used := len(b.doc.data); cap(b.doc.data) > used+used/4 {
		b.doc.data = bytes.Clone(b.doc.data)
	}
	return b.doc
}

// pieces adds a piece for each chunk, copied where the previous document has
// the same.
func (b *documentBuilder) pieces(l list[*application], previous *document) {
	var old []piece
	if previous != nil {
		old = previous.pieces
	}
	b.doc.pieces = make([]piece, 0, len(l.chunks))
	at := joint{first: true}
	for i, c := range l.chunks {
		for len(old) > 0 && old[0].chunk != c && old[0].chunk.last().Name < c.last().Name {
			old = old[1:]
		}
		var p piece
		if len(old) > 0 && old[0].chunk == c && old[0].joint.equal(at) {
			p = b.copy(old[0], previous.data)
		} else {
			p = b.piece(c, at)
		}
		b.doc.pieces = append(b.doc.pieces, p)
		at = joint{before: p.tail}
		if previous == nil && i == len(l.chunks)/16 {
			b.reserve(len(l.chunks) - i - 1)
		}
	}
}

// reserve makes room for so many pieces more, judging by those that are there.
func (b *documentBuilder) reserve(pieces int) {
	usual := len(b.doc.data) / len(b.doc.pieces)
	b.doc.data = slices.Grow(b.doc.data, pieces*(usual+usual/8))
}

// copy adds a piece of the previous document.
func (b *documentBuilder) copy(p piece, data []byte) piece {
	from := len(b.doc.data)
	b.doc.data = append(b.doc.data, data[p.from:p.to]...)
	b.doc.sums = append(b.doc.sums, p.sum)
	p.from, p.to = from, len(b.doc.data)
	return p
}

// piece adds a piece made anew.
func (b *documentBuilder) piece(c *chunk[*application], at joint) piece {
	p := piece{chunk: c, joint: at, from: len(b.doc.data)}
	text := b.buffer()
	instances := 0
	for i, a := range c.items {
		text = b.encoding.AppendApplication(text, &a.Application, at.first && i == 0)
		instances += len(a.Instances)
	}
	if b.coding == gzipped {
		p.tail = tail(text, instances)
	}
	p.sum = b.add(text, at.before)
	p.to = len(b.doc.data)
	return p
}

// buffer returns an empty buffer for a text that is then added.
func (b *documentBuilder) buffer() []byte { return b.deflater.text[:0] }

// add adds text, in the document's coding, and returns its checksum.
func (b *documentBuilder) add(text, before []byte) checksum {
	b.deflater.text = text
	switch b.coding {
	case plain:
		b.doc.data = append(b.doc.data, text...)
	case gzipped:
		b.doc.data = b.deflater.append(b.doc.data, text, before)
	}
	sum := newChecksum(text)
	b.doc.sums = append(b.doc.sums, sum)
	return sum
}

// keptTurns is for how many turns a document is kept that nobody asks for.
const keptTurns = 10

// documents keeps the last document of each representation for the next view.
type documents struct {
	mu     sync.Mutex
	latest map[representation]*document
}

// get returns the last document of a representation, or nil.
func (d *documents) get(r representation) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.latest[r]
}

// put keeps a document unless there is one of a later view.
func (d *documents) put(r representation, doc *document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := d.latest[r]; last != nil && last.boundary.After(doc.boundary) {
		return
	}
	if d.latest == nil {
		d.latest = map[representation]*document{}
	}
	d.latest[r] = doc
}

// forget drops documents that were made for views before a time.
func (d *documents) forget(before time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for r, doc := range d.latest {
		if doc.boundary.Before(before) {
			delete(d.latest, r)
		}
	}
}
