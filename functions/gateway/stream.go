package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// Stream answers as Invoke does, and events of function URLs in the form of
// response streaming: such a response may have 200 MB instead of the 6 MB that a
// function can otherwise give, and is not in base64. An event does not say
// whether its sender streams, so the function has to be told.
func (h *Handler) Stream(ctx context.Context, payload []byte) (io.Reader, error) {
	ev, err := decode(payload)
	if err != nil {
		return nil, err
	}
	if !ev.functionURL() {
		response, err := h.invoke(ctx, ev)
		return bytes.NewReader(response), err
	}
	w := newRecorder(ev.payload)
	h.answer(ctx, ev, w)
	return w.stream(), nil
}

// stream ends the answer and returns it in the form of response streaming.
func (w *recorder) stream() io.Reader {
	w.WriteHeader(http.StatusOK)
	w.header.Del("Content-Length")
	out := &events.LambdaFunctionURLStreamingResponse{
		StatusCode: w.status, Headers: make(map[string]string, len(w.header)), Cookies: w.header["Set-Cookie"],
	}
	for name, values := range w.header {
		if name != "Set-Cookie" {
			out.Headers[name] = strings.Join(values, ",")
		}
	}
	if w.list != nil && !w.bodyless {
		out.Body = bytes.NewReader(w.list.Bytes(w.gzip))
	} else {
		out.Body = bytes.NewReader(w.written)
	}
	return out
}
