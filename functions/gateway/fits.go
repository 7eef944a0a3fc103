package gateway

import (
	"encoding/base64"

	"github.com/eurekaless/registry/core/readcache"
)

// headRoom is what an envelope takes beside the body, in bytes, at most:
// status, headers and names.
const headRoom = 8 << 10

// room is what is left for the body.
const room = MaxAnswer - headRoom

// Fits reports whether a list gets through Lambda: gzip goes as base64, text
// with escapes, and both count. A text that is too long is not even made: that
// of 100,000 instances would take a container's memory. It is for handlers that
// know a better answer than the 406 that [Handler] gives in place of what does
// not fit.
func Fits(b *readcache.Body, gzip bool) bool {
	if gzip {
		return binaryFits(b.Gzip())
	}
	return b.PlainSize() <= room && textFits(b.Plain())
}

// binaryFits reports whether a body gets through as base64.
func binaryFits(body []byte) bool { return base64.StdEncoding.EncodedLen(len(body)) <= room }

// textFits reports whether a text gets through as a JSON string.
func textFits(text []byte) bool {
	size := len(text)
	for _, c := range text {
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			size++
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size <= room
}
