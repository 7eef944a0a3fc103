package view

import (
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/flate"
)

// A gzip member of many pieces: each piece is deflated for itself and flushed,
// so that it ends on a byte, and the pieces are joined between one header and
// one trailer. It is one member, since some readers (Java's, in some versions)
// stop after the first of several.
const (
	// gzipHeader: deflate, no name, no time, no system. The same text always
	// makes the same bytes.
	gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
	// gzipEnd is an empty last block.
	gzipEnd        = "\x03\x00"
	gzipTrailerLen = 8
)

// level is the compression level, the best of measured sizes for its time.
const level = 5

// mostText is the size of the largest text buffer that is kept.
const mostText = 4 << 20

// deflaters lends out compressors; one takes about a megabyte. shelf has what is
// made with them.
type deflaters struct {
	idle  sync.Pool
	shelf shelf
}

// deflater makes pieces of a gzip member.
type deflater struct {
	writer *flate.Writer
	out    appender
	// text is a buffer for what is to be deflated.
	text []byte
}

func (d *deflaters) get() *deflater {
	if d, ok := d.idle.Get().(*deflater); ok {
		return d
	}
	writer, err := flate.NewWriter(nil, level)
	if err != nil {
		panic("view: compression level: " + err.Error())
	}
	return &deflater{writer: writer}
}

func (d *deflaters) put(used *deflater) {
	if cap(used.text) > mostText {
		used.text = nil // it served an exceptional application
	}
	used.out = nil
	d.idle.Put(used)
}

// append appends text to dst as deflated blocks that end on a byte. before is
// text that precedes it immediately in the member and to which it may refer:
// without it, each piece had to spell anew what all instances have in common.
func (d *deflater) append(dst, text, before []byte) []byte {
	d.out = dst
	d.writer.ResetDict(&d.out, before)
	// An appender does not fail, and nor does a writer above it.
	d.writer.Write(text)
	d.writer.Flush()
	return d.out
}

// appendTrailer ends a member of these pieces.
func appendTrailer(dst []byte, pieces []checksum) []byte {
	var length int64
	for _, p := range pieces {
		length += p.length
	}
	dst = append(dst, gzipEnd...)
	dst = binary.LittleEndian.AppendUint32(dst, concatenatedCRC(pieces))
	return binary.LittleEndian.AppendUint32(dst, uint32(length))
}

// appender is an [io.Writer] that appends.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
