package wire

import (
	"bytes"

	"github.com/eurekaless/registry/core/eureka"
)

// maxDepth is far deeper than any document of the protocol.
const maxDepth = 32

const (
	// bytesPerValue is fewer bytes than a value takes on average in a document
	// that is near the size limit: `"a":"",` is 7.
	bytesPerValue = 4
	// valuesPerItem is how many values the items of a batch may have on
	// average. A usual registration has about 60.
	valuesPerItem = 256
)

// checkInstance refuses the document of one instance that has more values than
// an instance of the size that the limits allow, before anything is made of
// them.
func (l Limits) checkInstance(f Format, body []byte) error {
	return checkValues(f, body, l.MaxInstance/bytesPerValue)
}

// checkBatch is checkInstance for a batch of a peer.
func (l Limits) checkBatch(body []byte) error {
	return checkValues(JSON, body, l.MaxItems*valuesPerItem)
}

// checkValues refuses a document that has more than limit values, or values
// that are nested too deep; a limit of 0 means any number. It makes nothing of
// the document, which may be malformed, so a body of nothing but brackets costs
// no more than its own bytes.
func checkValues(f Format, body []byte, limit int) error {
	values, depth := 0, 0
	if f == XML {
		// Depth is checked while elements are read. An attribute has an equals
		// sign, and an element, comment or instruction an angle bracket; those
		// in texts count too.
		values = bytes.Count(body, []byte("<")) - bytes.Count(body, []byte("</")) + bytes.Count(body, []byte("="))
	} else {
		values, depth = countJSON(body)
	}
	switch {
	case limit > 0 && values > limit:
		return eureka.TooLargef("body", "has more than %d values", limit)
	case depth > maxDepth:
		return eureka.Invalidf("body", "has values more than %d deep", maxDepth)
	}
	return nil
}

// countJSON returns how many values a document has, roughly, and how deep they
// are nested.
func countJSON(body []byte) (values, deepest int) {
	depth := 0
	for n := 0; n < len(body); n++ {
		switch body[n] {
		case ',':
			values++
		case '[', '{':
			values++
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		case '"':
			n = endOfText(body, n)
		}
	}
	return values, deepest
}

// endOfText returns the index of the quote that ends the text whose first
// quote is at start.
func endOfText(body []byte, start int) int {
	for n := start + 1; n < len(body); n++ {
		switch body[n] {
		case '\\':
			n++
		case '"':
			return n
		}
	}
	return len(body)
}
