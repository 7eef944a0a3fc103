package wire

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Element names are coded as XStream does it, so that any metadata key makes
// one: "_" is "__", "$" is "_-", and what a name cannot hold at its place is
// "_." and the four hexadecimal digits of its UTF-16 unit (two of them for a
// character beyond 16 bits).
//
// The coding differs from the stock server's where that one's documents are
// not well-formed for everybody: the colon is coded too, since it would make a
// prefix of no namespace; so are letters that only some editions of XML 1.0
// take; and the empty key is the name "_", where the stock server writes "<>".
// XStream reads all of these back but the last, which it takes for the key
// "_".

// nameLetters are the letters outside ASCII that every edition of XML 1.0
// allows anywhere in a name, as pairs of first and last.
var nameLetters = [...][2]rune{
	{0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0xFF}, // Latin-1
	{0x100, 0x131}, {0x134, 0x13E}, {0x141, 0x148}, {0x14A, 0x17E}, // Latin Extended-A
	{0x3A3, 0x3CE}, {0x38E, 0x3A1}, // Greek
	{0x40E, 0x44F},   // Cyrillic
	{0x5D0, 0x5EA},   // Hebrew
	{0x621, 0x63A},   // Arabic
	{0x3041, 0x3094}, // Hiragana
	{0x30A1, 0x30FA}, // Katakana
	{0x4E00, 0x9FA5}, // Chinese, Japanese, Korean
	{0xAC00, 0xD7A3}, // Hangul
}

// appendXMLName appends the element name of a key.
func appendXMLName(dst []byte, key string) []byte {
	if key == "" {
		return append(dst, '_')
	}
	for n, r := range key {
		switch {
		case r == '_':
			dst = append(dst, "__"...)
		case r == '$':
			dst = append(dst, "_-"...)
		case isNameRune(r, n == 0):
			dst = utf8.AppendRune(dst, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			dst = appendNameEscape(appendNameEscape(dst, high), low)
		default:
			dst = appendNameEscape(dst, r)
		}
	}
	return dst
}

func isNameRune(r rune, first bool) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		return true
	case '0' <= r && r <= '9', r == '-', r == '.':
		return !first
	}
	for _, letters := range nameLetters {
		if letters[0] <= r && r <= letters[1] {
			return true
		}
	}
	return false
}

// appendNameEscape appends the escape of one UTF-16 unit.
func appendNameEscape(dst []byte, unit rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '_', '.', hex[unit>>12&0xF], hex[unit>>8&0xF], hex[unit>>4&0xF], hex[unit&0xF])
}

// xmlKey returns the key of an element name. An underscore that begins no
// escape stands for itself.
func xmlKey(name string) string {
	if name == "_" {
		return ""
	}
	before, rest, coded := strings.Cut(name, "_")
	if !coded {
		return name
	}
	var b strings.Builder
	for coded {
		b.WriteString(before)
		switch {
		case strings.HasPrefix(rest, "_"):
			b.WriteByte('_')
			rest = rest[1:]
		case strings.HasPrefix(rest, "-"):
			b.WriteByte('$')
			rest = rest[1:]
		default:
			r, size := nameEscape(rest)
			b.WriteRune(r)
			rest = rest[size:]
		}
		before, rest, coded = strings.Cut(rest, "_")
	}
	b.WriteString(before)
	return b.String()
}

// nameEscape returns the character of an escape whose underscore was read, and
// how much of the rest belongs to it. What is no escape is an underscore.
func nameEscape(rest string) (r rune, size int) {
	unit, ok := nameUnit(rest)
	if !ok {
		return '_', 0
	}
	if utf16.IsSurrogate(unit) {
		if after, isEscape := strings.CutPrefix(rest[nameUnitSize:], "_"); isEscape {
			if low, ok := nameUnit(after); ok && utf16.DecodeRune(unit, low) != utf8.RuneError {
				return utf16.DecodeRune(unit, low), 2*nameUnitSize + 1
			}
		}
		return utf8.RuneError, nameUnitSize
	}
	return unit, nameUnitSize
}

// nameUnitSize is the size of an escape without its underscore.
const nameUnitSize = len(".0000")

func nameUnit(rest string) (rune, bool) {
	if len(rest) < nameUnitSize || rest[0] != '.' {
		return 0, false
	}
	unit, err := strconv.ParseUint(rest[1:nameUnitSize], 16, 16)
	return rune(unit), err == nil
}
