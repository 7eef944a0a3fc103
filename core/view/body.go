package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/eurekaless/registry/core/wire"
)

// Body is an answer's body in one encoding, plain and gzip. Each is made when
// it is first asked for, once, and kept as long as its view. A Body is safe
// for concurrent use; the bytes that it returns are shared and must not be
// changed.
type Body struct {
	encoding wire.Encoding
	maker    maker
	contents [codings]content
	memos    sync.Map
	place    place
}

// maker makes the bytes of a body in a coding, and the checksums of its text.
type maker interface {
	make(c coding) ([]byte, []checksum)
}

// content is a body in one coding.
type content struct {
	once sync.Once
	made atomic.Bool
	data []byte
	etag string
	// size is the length of the text.
	size int64
}

// Plain returns the body's text. See [Body.PlainSize] for how much that is.
func (b *Body) Plain() []byte { return b.content(plain).data }

// Gzip returns the body as one gzip member.
func (b *Body) Gzip() []byte { return b.content(gzipped).data }

// Bytes returns Gzip or Plain.
func (b *Body) Bytes(gzip bool) []byte {
	if gzip {
		return b.Gzip()
	}
	return b.Plain()
}

// ETag returns the strong entity tag, quoted, of Gzip, which it makes, or of
// Plain, which it does not make: a response that is too large needs no text. A
// tag depends only on the text, the encoding and the coding: equal contents
// have equal tags in every container, and no two representations share one.
func (b *Body) ETag(gzip bool) string {
	switch {
	case gzip:
		return b.content(gzipped).etag
	case b.contents[plain].made.Load():
		return b.contents[plain].etag
	}
	return b.content(measured).etag
}

// PlainSize returns the length of the text in bytes. It keeps no text for it:
// if neither form was made yet, it encodes and counts.
func (b *Body) PlainSize() int64 {
	for _, c := range []coding{plain, gzipped} {
		if made := &b.contents[c]; made.made.Load() {
			return made.size
		}
	}
	return b.content(measured).size
}

// Memo returns what make returned when it was first called with this key: a
// place for what is derived from the body and good as long as it is, such as a
// whole response. Keys are compared by ==; keep their number small.
func (b *Body) Memo(key any, make func() any) any {
	memo, ok := b.memos.Load(key)
	if !ok {
		memo, _ = b.memos.LoadOrStore(key, sync.OnceValue(make))
	}
	return memo.(func() any)()
}

// content returns the body in a coding.
func (b *Body) content(c coding) *content {
	made := &b.contents[c]
	made.once.Do(func() {
		var sums []checksum
		made.data, sums = b.maker.make(c)
		for _, s := range sums {
			made.size += s.length
		}
		made.etag = etag(b.encoding, c, sums)
		made.made.Store(true)
	})
	return made
}

// etag returns the entity tag of a text, of which sums are the checksums of
// its pieces. Where a text is cut into pieces hangs on itself alone.
func etag(e wire.Encoding, c coding, sums []checksum) string {
	h := sha256.New()
	var line [24]byte
	for _, s := range sums {
		binary.BigEndian.PutUint64(line[:], uint64(s.length))
		binary.BigEndian.PutUint32(line[8:], s.crc)
		binary.BigEndian.PutUint32(line[12:], s.castagnoli)
		h.Write(line[:16])
	}
	shape := e.Format.String()
	if e.Compact {
		shape += " compact"
	}
	h.Write([]byte(shape))
	tag := base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
	if c == gzipped {
		tag += "-gzip"
	}
	return `"` + tag + `"`
}

// wholeMaker makes a body of one piece.
type wholeMaker struct {
	encode    func(dst []byte) []byte
	deflaters *deflaters
	// estimate returns about how long the text is; nil: not known.
	estimate func() int64
}

func (m *wholeMaker) make(c coding) ([]byte, []checksum) {
	d := m.deflaters.get()
	defer m.deflaters.put(d)
	if m.estimate != nil {
		d.text = slices.Grow(d.text[:0], int(m.estimate()))
	}
	text := m.encode(d.text[:0])
	d.text = text
	sums := []checksum{newChecksum(text)}
	switch {
	case c == plain && len(text) > mostText:
		d.text = nil // the body has it, rather than a copy
		return text, sums
	case c == plain:
		return bytes.Clone(text), sums
	case c == gzipped:
		return appendTrailer(d.append([]byte(gzipHeader), text, nil), sums), sums
	}
	return nil, sums
}
