package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// Stream answers as Invoke does, and events of function URLs and REST APIs in
// the form that response streaming wants: such an answer may have 200 MB instead
// of the 6 MB that a function can otherwise give, and is not in base64. Others
// have no such form; a function behind an HTTP API with a function URL beside it
// gets both. An event does not say whether its sender streams, so the function
// has to be told.
func (h *Handler) Stream(ctx context.Context, payload []byte) (io.Reader, error) {
	ev, err := recognized(payload)
	if err != nil {
		return nil, err
	}
	if !ev.streams() {
		answer, err := h.invoke(ctx, ev)
		return bytes.NewReader(answer), err
	}
	w := newRecorder(ev.payload)
	w.streams = true
	h.answer(ctx, ev, w)
	return w.stream(), nil
}

// stream ends the answer and returns it in the form of response streaming.
func (w *recorder) stream() io.Reader {
	w.WriteHeader(http.StatusOK)
	w.header.Del("Content-Length")
	// REST APIs want the same document before the body.
	out := &events.LambdaFunctionURLStreamingResponse{
		StatusCode: w.status, Headers: make(map[string]string, len(w.header)), Cookies: w.header["Set-Cookie"],
	}
	for name, values := range w.header {
		if name != "Set-Cookie" {
			out.Headers[name] = strings.Join(values, ",")
		}
	}
	if w.list != nil {
		out.Body = bytes.NewReader(w.list.Bytes(w.gzip))
	} else {
		out.Body = bytes.NewReader(w.written)
	}
	return out
}

// Unbounded reports whether answers of any size get through.
func (w *recorder) Unbounded() bool { return w.streams }
