package wire

import (
	"bytes"
	"fmt"
	"mime"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/eurekaless/registry/core/eureka"
)

// ToUTF8 returns a body in UTF-8 when its Content-Type names another charset.
// The body that it converted begins with a byte order mark, which the decoders
// prefer to whatever an XML declaration says. Without a charset the body is
// returned as it is.
func ToUTF8(contentType string, body []byte) ([]byte, error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || isUTF8(params["charset"]) || hasByteOrderMark(body) {
		return body, nil
	}
	converted, err := convert(params["charset"], body)
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(byteOrderMark), converted...), nil
}

// byteOrderMark begins the UTF-8 documents of some editors.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// Byte order marks of UTF-16.
var (
	bigEndianMark    = []byte{0xFE, 0xFF}
	littleEndianMark = []byte{0xFF, 0xFE}
)

func hasByteOrderMark(body []byte) bool {
	return bytes.HasPrefix(body, byteOrderMark) || bytes.HasPrefix(body, bigEndianMark) || bytes.HasPrefix(body, littleEndianMark)
}

// inUTF8 returns a document in UTF-8, without byte order mark; it comes before
// all else that looks at a document. The encoding is what the first bytes show,
// or else what an XML declaration says. Bytes of a UTF-8 document that are not
// UTF-8 stay. JSON may be UTF-16, which Java's decoder reads too.
func inUTF8(f Format, body []byte) ([]byte, error) {
	if name := utf16Name(body); name != "" {
		return convert(name, body)
	}
	if rest, marked := bytes.CutPrefix(body, byteOrderMark); marked || f == JSON {
		return rest, nil
	}
	declared := xmlDeclaration.FindSubmatch(body)
	if declared == nil {
		return body, nil
	}
	switch name := string(declared[1]); {
	case isUTF8(name):
		return body, nil
	case isUTF16(name):
		return nil, eureka.Invalidf("body", "is not in the encoding that it declares, %q", clip(name))
	default:
		return convert(name, body)
	}
}

// xmlDeclaration matches a declaration that names an encoding, and captures
// the name.
var xmlDeclaration = regexp.MustCompile(`^\s*<\?xml(?:\s[^>]{0,200}?)?\sencoding\s*=\s*["']([^"'>]*)["'][^>]{0,200}\?>`)

// utf16Name returns the name of UTF-16 in the byte order of a document that is
// UTF-16, with or without byte order mark; "" for others. Every document
// begins with an ASCII character.
func utf16Name(body []byte) string {
	switch {
	case len(body) < 2:
		return ""
	case bytes.HasPrefix(body, bigEndianMark), body[0] == 0 && body[1] != 0:
		return "UTF-16BE"
	case bytes.HasPrefix(body, littleEndianMark), body[0] != 0 && body[1] == 0:
		return "UTF-16LE"
	}
	return ""
}

// isUTF8 reports whether a charset's name stands for UTF-8, as no name does.
func isUTF8(name string) bool {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "", "utf-8", "utf8":
		return true
	}
	return false
}

// isUTF16 reports whether a charset's name stands for UTF-16.
func isUTF16(name string) bool {
	return strings.HasPrefix(strings.ToUpper(strings.TrimSpace(name)), "UTF-16")
}

// convert returns text of the named charset as UTF-8.
func convert(name string, text []byte) ([]byte, error) {
	charset := charsetOf(name)
	if charset == nil {
		return nil, eureka.Invalidf("body", "has the encoding %q, which is not supported; send UTF-8", clip(name))
	}
	if charset == unicode.UTF8 && bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil, eureka.Invalidf("body", "has bytes that are not in its encoding, %q", clip(name))
	}
	converted, err := charset.NewDecoder().Bytes(text)
	if err != nil || bytes.Contains(converted, []byte(replacement)) {
		return nil, eureka.Invalidf("body", "has bytes that are not in its encoding, %q", clip(name))
	}
	return converted, nil
}

// charsetOf returns the charset of a name, nil for one that is not supported:
// UTF-16, ASCII and those of one byte a character are. The tables of the others
// would make each function a tenth larger.
func charsetOf(name string) encoding.Encoding {
	name = plainName(name)
	switch name {
	case "utf16", "utf16be":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case "utf16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case "usascii", "ascii":
		return unicode.UTF8 // of which it is a part, as convert checks
	}
	for _, charset := range charmap.All {
		if named, ok := charset.(fmt.Stringer); ok && plainName(named.String()) == name {
			return charset
		}
	}
	return nil
}

// latin has the numbers of ISO 8859 of the charsets called Latin.
var latin = [...]string{1: "1", 2: "2", 3: "3", 4: "4", 5: "9", 6: "10", 7: "13", 8: "14", 9: "15", 10: "16"}

// plainName returns a charset's name in one of its spellings: "windows1252"
// for "Windows-1252" and "cp1252".
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
	name = strings.Replace(strings.TrimPrefix(name, "x"), "codepage", "", 1)
	if page, ok := strings.CutPrefix(name, "cp"); ok {
		if strings.HasPrefix(page, "125") {
			return "windows" + page
		}
		return "ibm" + page
	}
	if number, ok := strings.CutPrefix(name, "latin"); ok {
		if n, err := strconv.Atoi(number); err == nil && n > 0 && n < len(latin) {
			return "iso8859" + latin[n]
		}
	}
	return name
}

// damaged reports whether a text of a JSON document, as it stands between its
// quotes, is not Unicode: it has bytes that are not UTF-8, or the escape of
// half a character.
func damaged(quoted []byte) bool {
	if !utf8.Valid(quoted) {
		return true
	}
	for {
		at := bytes.IndexByte(quoted, '\\')
		if at < 0 {
			return false
		}
		quoted = quoted[at:]
		unit, ok := escapedUnit(quoted)
		switch {
		case !ok:
			quoted = quoted[len(`\n`):]
		case !utf16.IsSurrogate(unit):
			quoted = quoted[escapedUnitSize:]
		default:
			low, ok := escapedUnit(quoted[escapedUnitSize:])
			if !ok || utf16.DecodeRune(unit, low) == utf8.RuneError {
				return true
			}
			quoted = quoted[2*escapedUnitSize:]
		}
	}
}

const escapedUnitSize = len(`\u0000`)

// escapedUnit returns the UTF-16 unit whose escape a text begins with.
func escapedUnit(text []byte) (rune, bool) {
	if len(text) < escapedUnitSize || !bytes.HasPrefix(text, []byte(`\u`)) {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[len(`\u`):escapedUnitSize]), 16, 16)
	return rune(unit), err == nil
}
