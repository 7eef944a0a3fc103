package view

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// unzip reads one gzip member and demands that nothing follows it.
func unzip(t require.TestingT, data []byte) []byte {
	source := bytes.NewReader(data)
	r, err := gzip.NewReader(source)
	require.NoError(t, err)
	r.Multistream(false)
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Zero(t, source.Len(), "one member and no more")
	return out
}

// joined joins pieces to a gzip member, each with the one before it at hand.
func joined(d *deflater, pieces [][]byte) []byte {
	out := []byte(gzipHeader)
	var sums []checksum
	var before []byte
	for _, p := range pieces {
		out = d.append(out, p, before)
		sums = append(sums, newChecksum(p))
		before = p
	}
	return appendTrailer(out, sums)
}

func TestGzipMember(t *testing.T) {
	long := bytes.Repeat([]byte("a line of a registry; "), 10_000) // longer than deflate's window
	for _, c := range []struct {
		name   string
		pieces [][]byte
	}{
		{"nothing", nil},
		{"one empty piece", [][]byte{{}}},
		{"one", [][]byte{[]byte("one")}},
		{"several, some empty", [][]byte{[]byte("one"), {}, []byte("two"), []byte("two"), {}}},
		{"long ones", [][]byte{long, long[5:], []byte("x"), long}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := lender.get()
			data := joined(d, c.pieces)
			require.Equal(t, string(bytes.Join(c.pieces, nil)), string(unzip(t, data)))
			lender.put(d)
			require.Equal(t, data, joined(lender.get(), c.pieces), "the same again from a used deflater")
		})
	}
}

func TestGzipMemberProperty(t *testing.T) {
	word := rapid.SampledFrom([]string{"instance", "status", "UP", "DOWN", "\x00", "{}", "10.0.0.1"})
	text := rapid.Custom(func(t *rapid.T) []byte {
		var out []byte
		for _, w := range rapid.SliceOfN(word, 0, 300).Draw(t, "words") {
			out = append(out, w...)
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(text, 0, 6).Draw(t, "pieces")
		d := lender.get()
		defer lender.put(d)
		require.Equal(t, string(bytes.Join(pieces, nil)), string(unzip(t, joined(d, pieces))))
	})
}
