package instancecodec

import (
	"encoding/binary"
	"time"
)

// cursor reads a record from a text, so that the record's texts are parts of
// it and need no copy. After the first fault it is bad and reads zeros.
type cursor struct {
	rest string
	bad  bool
}

// fail makes the cursor bad.
func (c *cursor) fail() {
	c.rest, c.bad = "", true
}

func (c *cursor) byte() byte {
	if c.rest == "" {
		c.fail()
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cursor) uvarint() uint64 {
	var v uint64
	for n := 0; n < len(c.rest) && n < binary.MaxVarintLen64; n++ {
		b := c.rest[n]
		if n == binary.MaxVarintLen64-1 && b > 1 {
			break // more than 64 bits
		}
		v |= uint64(b&0x7f) << (7 * n)
		if b < 0x80 {
			c.rest = c.rest[n+1:]
			return v
		}
	}
	c.fail()
	return 0
}

func (c *cursor) varint() int64 {
	u := c.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// int reads a number that was an int when it was written.
func (c *cursor) int() int { return int(c.varint()) }

// duration reads milliseconds. More of them than a Duration takes were never
// written.
func (c *cursor) duration() time.Duration {
	ms := c.varint()
	d := time.Duration(ms) * time.Millisecond
	if d.Milliseconds() != ms {
		c.fail()
		return 0
	}
	return d
}

// take returns the next n bytes.
func (c *cursor) take(n uint64) string {
	if n > uint64(len(c.rest)) {
		c.fail()
		return ""
	}
	s := c.rest[:n]
	c.rest = c.rest[n:]
	return s
}

func (c *cursor) text() string { return c.take(c.uvarint()) }

func (c *cursor) word() string {
	n := c.byte()
	switch {
	case int(n) < len(wellKnown):
		return wellKnown[n]
	case n == literal:
		return c.text()
	}
	c.fail()
	return ""
}

// stringMap reads a map; nil when it is empty.
func (c *cursor) stringMap() map[string]string {
	n := c.uvarint()
	if n == 0 {
		return nil
	}
	if n > uint64(len(c.rest))/2 { // an entry takes two bytes at least
		c.fail()
		return nil
	}
	m := make(map[string]string, n)
	for range n {
		k := c.text()
		m[k] = c.text()
	}
	if c.bad {
		return nil
	}
	return m
}

func (c *cursor) time() time.Time {
	ms := c.varint()
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
