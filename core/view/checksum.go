package view

import (
	"hash/crc32"
	"math/bits"
)

// checksum describes a piece of text so that the checksum of several pieces
// in a row can be told from theirs, without the text.
type checksum struct {
	length int64
	// crc is the CRC-32 that gzip asks for.
	crc uint32
	// shift moves a CRC over the piece's length; see [power].
	shift uint32
	// castagnoli is a CRC of another polynomial. Together with crc it tells
	// contents apart, for ETags; both are far cheaper than compressing.
	castagnoli uint32
}

// newChecksum returns the checksum of text.
func newChecksum(text []byte) checksum {
	return checksum{
		length:     int64(len(text)),
		crc:        crc32.ChecksumIEEE(text),
		shift:      power(int64(len(text))),
		castagnoli: crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)),
	}
}

// concatenatedCRC returns the CRC-32 of the pieces' texts in a row.
//
// A CRC is the remainder of the text, taken as a polynomial over GF(2), by the
// CRC's polynomial. Text followed by n bytes is that polynomial times x^8n
// plus the other, so the CRC of both is the first CRC times x^8n plus the
// second. (The inversions before and after cancel out.)
func concatenatedCRC(pieces []checksum) uint32 {
	var crc uint32
	for _, p := range pieces {
		crc = multiply(crc, p.shift) ^ p.crc
	}
	return crc
}

// one is the polynomial 1: in a CRC's bit order the highest bit is x^0.
const one = 1 << 31

// multiply returns the product of two polynomials modulo that of CRC-32.
func multiply(a, b uint32) uint32 {
	var product uint32
	for a != 0 {
		// The highest bit of a is the lowest power that is left.
		zeros := bits.LeadingZeros32(a)
		for range zeros {
			b = timesX(b)
		}
		product ^= b
		b = timesX(b)
		a = a << zeros << 1
	}
	return product
}

// timesX returns b times x modulo the CRC's polynomial.
func timesX(b uint32) uint32 { return b>>1 ^ crc32.IEEE&-(b&1) }

// power returns x^8n modulo the CRC's polynomial: multiplied with it, a CRC
// moves over n bytes. It takes about twice as many multiplications as n has
// bits.
func power(n int64) uint32 {
	result, square := uint32(one), uint32(one>>8)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = multiply(result, square)
		}
		square = multiply(square, square)
	}
	return result
}
