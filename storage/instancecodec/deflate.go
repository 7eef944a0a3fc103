package instancecodec

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/eurekaless/registry/core/eureka"
)

// compressors has the compressor of each method that needs one.
var compressors = [...]compressor{
	methodDictionary: newCompressor(dictionary),
	methodDeflate:    newCompressor(nil),
}

// level of DEFLATE: higher ones take twice the time for a few per cent
// (BenchmarkInstance, BenchmarkChunk).
const level = 5

// compressor compresses with one dictionary, or none. Its writers (several
// hundred KB each) and readers are reused.
type compressor struct {
	writers, readers *sync.Pool
	dictionary       []byte
}

func newCompressor(dictionary []byte) compressor {
	return compressor{
		dictionary: dictionary,
		writers: &sync.Pool{New: func() any {
			w, err := flate.NewWriterDict(nil, level, dictionary)
			if err != nil {
				panic(err) // the level is a constant of this file
			}
			return w
		}},
		readers: &sync.Pool{New: func() any {
			return &inflater{flate: flate.NewReader(nil)}
		}},
	}
}

// appender is an io.Writer that appends.
type appender struct{ b []byte }

// Write appends p.
func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// deflate appends the compressed body to out.
func (c compressor) deflate(out, body []byte) []byte {
	w := c.writers.Get().(*flate.Writer)
	defer c.writers.Put(w)
	to := appender{out}
	w.Reset(&to)
	// An appender takes everything, and flate has no other errors.
	_, _ = w.Write(body)
	_ = w.Close()
	return to.b
}

// inflater is a reader of compressed bytes and the source that it reads.
type inflater struct {
	source bytes.Reader
	flate  io.ReadCloser
	// more is room for a byte too many.
	more [1]byte
}

// inflate returns what was compressed, which must be length bytes, in out's
// array where that is long enough.
func (c compressor) inflate(out, compressed []byte, length int) ([]byte, error) {
	r := c.readers.Get().(*inflater)
	defer c.readers.Put(r)
	r.source.Reset(compressed)
	defer r.source.Reset(nil)
	if err := r.flate.(flate.Resetter).Reset(&r.source, c.dictionary); err != nil {
		return out, fmt.Errorf("inflate: %w: %w", eureka.ErrCorrupt, err)
	}
	out = slices.Grow(out[:0], length)[:length]
	if n, err := io.ReadFull(r.flate, out); err != nil {
		return out, fmt.Errorf("inflate: %d bytes instead of %d: %w: %w", n, length, eureka.ErrCorrupt, err)
	}
	if n, err := r.flate.Read(r.more[:]); n > 0 || err != io.EOF || r.source.Len() > 0 {
		return out, fmt.Errorf("inflate: no end after %d bytes: %w", length, eureka.ErrCorrupt)
	}
	return out, nil
}
