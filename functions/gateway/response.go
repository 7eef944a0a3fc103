package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"github.com/eurekaless/registry/core/view"
)

// recorder takes an answer and makes the envelope for the gateway of it, with
// the manners of a net/http server: a handler that writes nothing answers 200,
// the first status counts, and HEAD, 204 and 304 have no body (TestManners).
//
// Envelopes of answers without a body and of lists are made here (see
// envelope); for all others the api-proxy's writers choose between text and
// base64 and keep several cookies apart.
type recorder struct {
	payload  payload
	header   http.Header
	status   int
	bodyless bool
	written  []byte
	// list is the body when it is a list's, in one of its codings.
	list *view.Body
	gzip bool
}

func newRecorder(p payload) *recorder {
	w := &recorder{payload: p}
	w.reset()
	return w
}

// reset forgets what was written.
func (w *recorder) reset() {
	w.header, w.status, w.written, w.list = make(http.Header, 16), 0, nil, nil
}

// Header returns the answer's headers.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader sets the status, once.
func (w *recorder) WriteHeader(status int) {
	informational := status >= 100 && status <= 199
	if w.status != 0 || informational {
		return
	}
	w.status = status
}

// Write adds to the body, where the answer may have one.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.status == http.StatusNoContent || w.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case w.bodyless:
		return len(b), nil
	}
	w.materialize()
	w.written = append(w.written, b...)
	return len(b), nil
}

// WriteBody is Write for a list's body, of which it keeps no copy.
func (w *recorder) WriteBody(b *view.Body, gzip bool) {
	w.WriteHeader(http.StatusOK)
	if w.status != http.StatusOK || w.list != nil || w.written != nil {
		_, _ = w.Write(b.Bytes(gzip)) // whether it may have a body, Write knows
		return
	}
	w.list, w.gzip = b, gzip
}

// size returns the fewest bytes that the response takes, as far as can be told
// without making a text: that of 100,000 instances would take a container's
// memory.
func (w *recorder) size() int {
	switch {
	case w.list == nil:
		return len(w.written)
	case w.gzip:
		return base64.StdEncoding.EncodedLen(len(w.list.Gzip()))
	}
	return int(w.list.PlainSize())
}

// materialize turns a list's body into written bytes, for a handler that
// writes more after it.
func (w *recorder) materialize() {
	if w.list != nil {
		w.written, w.list = bytes.Clone(w.list.Bytes(w.gzip)), nil
	}
}

// envelope ends the answer and returns it as JSON, which the caller must not
// change. The length is left to the gateway, which knows it after decoding
// base64.
func (w *recorder) envelope() ([]byte, error) {
	w.WriteHeader(http.StatusOK)
	w.header.Del("Content-Length")
	cookies := w.header["Set-Cookie"] != nil
	if w.bodyless {
		w.list = nil
	}
	switch {
	case w.list != nil && !cookies:
		return w.ready(), nil
	case w.list == nil && len(w.written) == 0 && !cookies:
		return append(w.appendHead(nil), emptyTail...), nil
	}
	w.materialize()
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

// proxyWriter is one of the api-proxy's writers.
type proxyWriter[R any] interface {
	http.ResponseWriter
	GetProxyResponse() (R, error)
}

// response returns the answer in the form of the request's payload format.
func (w *recorder) response() (any, error) {
	switch w.payload {
	case payload2:
		return through(w, core.NewProxyResponseWriterV2())
	case balancerLists:
		return through(w, core.NewProxyResponseWriterALB())
	case balancer:
		return w.singleValues()
	}
	return through(w, core.NewProxyResponseWriter())
}

// singleValues is the response to a load balancer whose target group has no
// lists of values: it ignores those. Cookies cannot be joined; the first counts.
func (w *recorder) singleValues() (any, error) {
	made, err := through(w, core.NewProxyResponseWriterALB())
	if err != nil {
		return nil, err
	}
	response := made.(events.ALBTargetGroupResponse)
	response.Headers = make(map[string]string, len(response.MultiValueHeaders))
	for name, values := range response.MultiValueHeaders {
		if name == "Set-Cookie" {
			values = values[:1]
		}
		response.Headers[name] = strings.Join(values, ",")
	}
	response.MultiValueHeaders = nil
	return response, nil
}

// through writes the answer to one of the api-proxy's writers.
func through[R any](w *recorder, to proxyWriter[R]) (any, error) {
	maps.Copy(to.Header(), w.header)
	to.WriteHeader(w.status)
	if len(w.written) > 0 {
		if _, err := to.Write(w.written); err != nil {
			return nil, err
		}
	}
	return to.GetProxyResponse()
}

// writeError answers as the API does: JSON with one member, error.
func writeError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Nothing here can fail: text is a string and the recorder keeps it.
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}
