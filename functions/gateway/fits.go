package gateway

import "encoding/base64"

// headRoom is what an envelope takes beside the body, in bytes, at most:
// status, headers and names.
const headRoom = 8 << 10

// Fits reports whether an answer of this body gets through Lambda: what
// cannot be said in JSON as it is goes as base64 (binary) or with escapes,
// which count. It is for handlers that know a better answer than the 406 that
// [Handler] gives in place of what does not fit.
func Fits(body []byte, binary bool) bool {
	const room = MaxAnswer - headRoom
	if binary {
		return base64.StdEncoding.EncodedLen(len(body)) <= room
	}
	if len(body) > room {
		return false
	}
	size := len(body)
	for _, c := range body {
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			size++
		case c < ' ':
			size += len(`\u0000`) - 1
		}
	}
	return size <= room
}
