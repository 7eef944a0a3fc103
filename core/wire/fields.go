package wire

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// value is what a member or an element holds, whatever its type was: the text
// of a text, number or boolean. The text is nil for a null, and only valid
// until the document is read on.
type value struct {
	text []byte
	// parts says that there is an object, a list or further elements instead.
	parts bool
	// damaged says that the text is not Unicode.
	damaged bool
}

// isNothing reports whether a number or boolean was not given: an element of
// white space is as an empty one.
func isNothing(v value) bool { return !v.parts && len(bytes.TrimSpace(v.text)) == 0 }

// field is the name of a member for messages: parent, if any, and own name.
type field struct{ parent, name string }

func (f field) String() string {
	if f.parent == "" {
		return f.name
	}
	return f.parent + "." + f.name
}

// text takes a text; an empty one is as none.
func (d *draft) text(dst *string, name string, v value) {
	if d.isText(field{name: name}, v) {
		*dst = string(v.text)
	}
}

// sharedText takes a text that many instances have.
func (d *draft) sharedText(dst *string, name string, v value) {
	d.sharedTextAt(dst, field{name: name}, v)
}

func (d *draft) sharedTextAt(dst *string, f field, v value) {
	if d.isText(f, v) {
		*dst = d.texts.get(v.text)
	}
}

func (d *draft) isText(f field, v value) bool {
	switch {
	case v.parts:
		d.fail(f, "must be a text")
	case v.damaged:
		d.fail(f, notUnicode)
	}
	return len(v.text) > 0 && !v.damaged
}

// notUnicode is why a text is refused that has bytes which are not UTF-8.
const notUnicode = "must be UTF-8"

// status takes a status; one that the protocol does not have is UNKNOWN.
func (d *draft) status(dst *eureka.Status, name string, v value) {
	v.text = bytes.TrimSpace(v.text)
	if d.isText(field{name: name}, v) {
		*dst, _ = eureka.ParseStatus(d.texts.get(v.text))
	}
}

// integer returns a number between lowest and highest, or otherwise. A
// fraction is cut off, as the stock server does.
func (d *draft) integer(f field, v value, lowest, highest, otherwise int64) int64 {
	if isNothing(v) {
		return otherwise
	}
	n, ok := parseInteger(v.text)
	if !ok {
		d.fail(f, "must be a number")
		return otherwise
	}
	if n < lowest || n > highest {
		d.fail(f, "must be from %d to %d", lowest, highest)
		return otherwise
	}
	return n
}

// exactFloat is where floating-point numbers end to tell whole numbers apart.
const exactFloat = 1 << 53

// maxNumber is the length of the longest text that is read as a number.
const maxNumber = 64

func parseInteger(text []byte) (int64, bool) {
	text = bytes.TrimSpace(text)
	if len(text) > maxNumber {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(math.Abs(f) <= exactFloat) { // nor NaN
		return 0, false
	}
	return int64(f), true
}

func (d *draft) boolean(f field, v value, otherwise bool) bool {
	if isNothing(v) {
		return otherwise
	}
	b, err := strconv.ParseBool(string(bytes.TrimSpace(v.text)))
	if err != nil {
		d.fail(f, "must be true or false")
		return otherwise
	}
	return b
}

// time returns the time of epoch milliseconds; what is not positive is none.
func (d *draft) time(f field, v value) time.Time {
	ms := d.integer(f, v, math.MinInt64, math.MaxInt64, 0)
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func (d *draft) seconds(name string, v value, otherwise time.Duration) time.Duration {
	n := d.integer(field{"leaseInfo", name}, v, math.MinInt64, math.MaxInt32, 0)
	if n <= 0 {
		return otherwise
	}
	return time.Duration(n) * time.Second
}

// clip shortens a client's text for a message.
func clip(s string) string { return clipTo(s, 64) }

// clipTo shortens a text to so many bytes.
func clipTo(s string, longest int) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
