package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/eurekaless/registry/core/eureka"
)

// cursor walks a JSON document that encoding/json found valid, so it meets no
// syntax errors and need not look for any: brackets match, texts end, numbers
// are numbers. It makes no values but slices of the document, which is what
// makes lists of thousands of instances cheap to read.
type cursor struct {
	doc []byte
	pos int
	// checks says that texts are checked to be Unicode; damaged says that the
	// last text was not.
	checks, damaged bool
}

// newCursor returns a cursor for a document that a server sends. What is not
// Unicode is replaced.
func newCursor(body []byte, root string) (*cursor, error) {
	if !utf8.Valid(body) {
		damaged := damagedBytes(body)
		if damaged > len(body)/maxDamaged+1 {
			return nil, eureka.Invalidf("body", "is not UTF-8")
		}
		body = bytes.ToValidUTF8(body, []byte(replacement))
	}
	return openCursor(body, root)
}

// maxDamaged is the part of a document, one in so many bytes, that may be other
// than UTF-8. A replacement is longer than what it replaces.
const maxDamaged = 32

// damagedBytes counts the bytes that are not UTF-8.
func damagedBytes(body []byte) int {
	n := 0
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		if r == utf8.RuneError && size == 1 {
			n++
		}
		body = body[size:]
	}
	return n
}

// newStrictCursor returns a cursor for a document that a client sends. Texts
// that are not Unicode are marked as damaged.
func newStrictCursor(body []byte, root string) (*cursor, error) {
	c, err := openCursor(body, root)
	if err != nil {
		return nil, err
	}
	c.checks = true
	return c, nil
}

// openCursor checks the syntax of a document and returns a cursor at the value
// of the root member. Of several root members of that name the first counts.
func openCursor(body []byte, root string) (*cursor, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, eureka.Invalidf("body", "is empty")
	}
	if !json.Valid(body) {
		var ignored json.RawMessage
		return nil, eureka.Invalidf("body", "is not JSON: %v", json.Unmarshal(body, &ignored))
	}
	c := &cursor{doc: body}
	if c.enter('{') {
		for c.more('}') {
			if string(c.text()) == root {
				return c, nil
			}
			c.skip()
		}
	}
	return nil, eureka.Invalidf(root, "is missing: the body must be an object that has this member")
}

// peek returns the first byte of what comes next.
func (c *cursor) peek() byte {
	for {
		switch b := c.doc[c.pos]; b {
		case ' ', '\t', '\r', '\n':
			c.pos++
		default:
			return b
		}
	}
}

// enter steps into a value that begins with the bracket, and reports whether
// there was one. Then more says before each of the members or entries whether
// it is there, and steps out after the last. Of a member the text is the name;
// each value must be read or skipped.
func (c *cursor) enter(bracket byte) bool {
	if c.peek() != bracket {
		return false
	}
	c.pos++
	return true
}

func (c *cursor) more(bracket byte) bool {
	switch c.peek() {
	case bracket:
		c.pos++
		return false
	case ',':
		c.pos++
	}
	return true
}

// text reads a text, or a member's name with the colon behind it.
func (c *cursor) text() []byte {
	quoted := c.quoted()
	if c.pos < len(c.doc) && c.peek() == ':' {
		c.pos++
	}
	text := quoted[1 : len(quoted)-1]
	c.damaged = c.checks && damaged(text)
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	var unescaped string
	if err := json.Unmarshal(quoted, &unescaped); err != nil {
		return text // the document is valid, so this does not happen
	}
	return []byte(unescaped)
}

// quoted reads a text as it stands, with its quotes.
func (c *cursor) quoted() []byte {
	c.peek()
	start := c.pos
	for c.pos++; ; c.pos++ {
		c.pos += bytes.IndexByte(c.doc[c.pos:], '"')
		if !c.escaped(start) {
			c.pos++
			return c.doc[start:c.pos]
		}
	}
}

// escaped reports whether an odd number of backslashes is before the position.
func (c *cursor) escaped(start int) bool {
	n := 0
	for p := c.pos - 1; p > start && c.doc[p] == '\\'; p-- {
		n++
	}
	return n%2 == 1
}

// word reads a number, true, false or null.
func (c *cursor) word() []byte {
	c.peek()
	start := c.pos
	for c.pos < len(c.doc) {
		switch c.doc[c.pos] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return c.doc[start:c.pos]
		}
		c.pos++
	}
	return c.doc[start:]
}

// value reads a value of any type.
func (c *cursor) value() value {
	switch c.peek() {
	case '"':
		text := c.text()
		return value{text: text, damaged: c.damaged}
	case '{', '[':
		c.skip()
		return value{parts: true}
	case 'n':
		c.word()
		return value{}
	}
	return value{text: c.word()}
}

// skip passes a value of any type and depth.
func (c *cursor) skip() {
	for depth := 0; ; {
		switch c.peek() {
		case '{', '[':
			depth++
			c.pos++
		case '}', ']':
			depth--
			c.pos++
		case ',', ':':
			c.pos++
			continue
		case '"':
			c.quoted()
		default:
			c.word()
		}
		if depth == 0 {
			return
		}
	}
}
