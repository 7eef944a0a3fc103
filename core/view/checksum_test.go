package view

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestConcatenatedCRC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole []byte
		var sums []checksum
		for _, piece := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "pieces") {
			whole = append(whole, piece...)
			sums = append(sums, newChecksum(piece))
		}
		if got, want := concatenatedCRC(sums), crc32.ChecksumIEEE(whole); got != want {
			t.Fatalf("%08x, want %08x", got, want)
		}
	})
}

// TestConcatenatedCRCOfLongPieces: lengths around powers of two, and more than
// one multiplication deep.
func TestConcatenatedCRCOfLongPieces(t *testing.T) {
	random := rand.NewChaCha8([32]byte{7})
	var whole []byte
	var sums []checksum
	for _, n := range []int{0, 1, 255, 256, 257, 65535, 65536, 100_003, 1 << 20, 0, 3} {
		piece := make([]byte, n)
		random.Read(piece)
		whole = append(whole, piece...)
		sums = append(sums, newChecksum(piece))
		assert.Equal(t, crc32.ChecksumIEEE(whole), concatenatedCRC(sums), "after %d bytes", len(whole))
	}
}

// TestPolynomials holds the arithmetic by its laws.
func TestPolynomials(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.Uint32().Draw(t, "a"), rapid.Uint32().Draw(t, "b"), rapid.Uint32().Draw(t, "c")
		n, m := rapid.Int64Range(0, 1<<40).Draw(t, "n"), rapid.Int64Range(0, 1<<40).Draw(t, "m")
		assert.Equal(t, multiply(a, b), multiply(b, a))
		assert.Equal(t, multiply(a, b)^multiply(a, c), multiply(a, b^c))
		assert.Equal(t, multiply(a, multiply(b, c)), multiply(multiply(a, b), c))
		assert.Equal(t, a, multiply(a, one))
		assert.Equal(t, multiply(power(n), power(m)), power(n+m))
	})
}

func BenchmarkConcatenatedCRC(b *testing.B) {
	sums := make([]checksum, 1000)
	for i := range sums {
		sums[i] = checksum{crc: uint32(i) * 2654435761, shift: power(int64(100_000 + i))}
	}
	b.Run("1000", func(b *testing.B) {
		for b.Loop() {
			concatenatedCRC(sums)
		}
	})
	b.Run("power", func(b *testing.B) {
		for b.Loop() {
			power(100_003)
		}
	})
}
