package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/awslabs/aws-lambda-go-api-proxy/core"
)

// recorder takes an answer and makes the envelope for the gateway of it. The
// api-proxy's writers collect the answer, choose between text and base64, and
// keep several cookies apart; the recorder gives them the manners of a
// net/http server, which they lack: a handler that writes nothing answers
// 200, the first status counts, and HEAD, 204 and 304 have no body (TestManners).
type recorder struct {
	payload  payload
	inner    http.ResponseWriter
	status   int
	bodyless bool
}

func newRecorder(p payload) *recorder {
	w := &recorder{payload: p}
	w.reset()
	return w
}

// reset forgets what was written.
func (w *recorder) reset() {
	w.status = 0
	if w.payload == payload2 {
		w.inner = core.NewProxyResponseWriterV2()
		return
	}
	w.inner = core.NewProxyResponseWriter()
}

// Header returns the answer's headers.
func (w *recorder) Header() http.Header { return w.inner.Header() }

// WriteHeader sets the status, once.
func (w *recorder) WriteHeader(status int) {
	informational := status >= 100 && status <= 199
	if w.status != 0 || informational {
		return
	}
	w.status = status
	w.inner.WriteHeader(status)
}

// Write adds to the body, where the answer may have one.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.status == http.StatusNoContent || w.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case w.bodyless || len(b) == 0:
		return len(b), nil
	}
	return w.inner.Write(b)
}

// envelope ends the answer and returns it as JSON. The length is left to the
// gateway, which knows it after decoding base64.
func (w *recorder) envelope() ([]byte, error) {
	w.WriteHeader(http.StatusOK)
	w.Header().Del("Content-Length")
	response, err := w.response()
	if err != nil {
		return nil, fmt.Errorf("make the gateway's answer: %w", err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	// XML is half angle brackets; as \u003c it would be three times as long.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(response); err != nil {
		return nil, fmt.Errorf("encode the gateway's answer: %w", err)
	}
	return out.Bytes(), nil
}

// response returns the answer in the form of the request's payload format.
func (w *recorder) response() (any, error) {
	switch inner := w.inner.(type) {
	case *core.ProxyResponseWriterV2:
		return inner.GetProxyResponse()
	case *core.ProxyResponseWriter:
		return inner.GetProxyResponse()
	}
	return nil, fmt.Errorf("no such writer: %T", w.inner)
}

// writeError answers as the API does: JSON with one member, error.
func writeError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Nothing here can fail: text is a string and the recorder keeps it.
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}
