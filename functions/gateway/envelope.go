package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// Lists are asked for again and again while their view lasts, and putting a
// body of 500 KB into base64 and JSON costs more than everything else about
// it. So the envelope of a list is made once and kept with the body (see
// view.Body.Memo); the next answer with the same headers is the same
// bytes. What changes from time to time is Cache-Control's seconds: an envelope
// begins with status and headers, and another one is made by a copy of the rest.

// readyKey names the envelope that is kept with a body.
type readyKey struct {
	payload payload
	gzip    bool
}

// readyEnvelope is an envelope and what it was made of.
type readyEnvelope struct {
	header http.Header
	json   []byte
	// head is the length of status and headers.
	head int
}

// ready returns the envelope of an answer whose body is a list.
func (w *recorder) ready() []byte {
	kept := w.list.Memo(readyKey{w.payload, w.gzip}, func() any { return new(atomic.Pointer[readyEnvelope]) }).(*atomic.Pointer[readyEnvelope])
	last := kept.Load()
	if last != nil && maps.EqualFunc(last.header, w.header, slices.Equal) {
		return last.json
	}
	next := &readyEnvelope{header: w.header}
	if last == nil {
		data := w.list.Bytes(w.gzip)
		next.json = w.appendHead(make([]byte, 0, 1024+base64.StdEncoding.EncodedLen(len(data))))
		next.head = len(next.json)
		next.json = appendTail(next.json, data)
	} else {
		tail := last.json[last.head:]
		next.json = w.appendHead(make([]byte, 0, 1024+len(tail)))
		next.head = len(next.json)
		next.json = append(next.json, tail...)
	}
	kept.Store(next)
	return next.json
}

// appendHead appends an envelope up to and with its headers, in the form of
// the payload format.
func (w *recorder) appendHead(dst []byte) []byte {
	dst = append(dst, `{"statusCode":`...)
	dst = strconv.AppendInt(dst, int64(w.status), 10)
	if w.payload.isBalancer() {
		dst = append(dst, `,"statusDescription":"`...)
		dst = strconv.AppendInt(dst, int64(w.status), 10)
		dst = append(append(append(dst, ' '), http.StatusText(w.status)...), '"')
	}
	switch {
	case w.payload.lists():
		dst = append(dst, `,"multiValueHeaders":{`...)
	case w.payload == payload2:
		dst = append(dst, `,"cookies":[],"headers":{`...)
	default:
		dst = append(dst, `,"headers":{`...)
	}
	first := true
	for name, values := range w.header {
		if len(values) == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, name), ':')
		if !w.payload.lists() {
			dst = appendString(dst, strings.Join(values, ","))
			continue
		}
		for i, v := range values {
			dst = appendString(append(dst, "[,"[min(i, 1)]), v)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// emptyTail ends an envelope without a body.
const emptyTail = `,"isBase64Encoded":false,"body":""}`

// appendTail ends an envelope with a body: as text where it is one, else in
// base64.
func appendTail(dst, body []byte) []byte {
	if utf8.Valid(body) {
		dst = append(dst, `,"isBase64Encoded":false,"body":`...)
		return append(appendString(dst, string(body)), '}')
	}
	dst = append(dst, `,"isBase64Encoded":true,"body":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, body)
	return append(dst, `"}`...)
}

// appendString appends a JSON string. Angle brackets stay as they are: in
// XML they are half of the text.
func appendString(dst []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' }) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return append(dst, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
