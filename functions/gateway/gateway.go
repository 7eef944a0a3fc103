// Package gateway lets a net/http handler answer the events of API Gateway,
// function URLs and load balancers. It tells the forms of one request apart
// (see event) and gives the handler the same *http.Request for all of them:
// every part decoded exactly once, and without what a gateway put in front of
// the path.
//
// The translation itself is github.com/awslabs/aws-lambda-go-api-proxy's. What
// that gets wrong is put right around it; the comments say what, the tests
// named in them hold it.
package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// MaxAnswer is the size in bytes of the largest response that Lambda takes from
// a function: the whole envelope, base64 and escapes counted.
const MaxAnswer = 6_291_556

// MaxBalancerAnswer is the same for a load balancer, which documents 1 MB.
const MaxBalancerAnswer = 1_000_000

// MaxBalancerBody is the largest body that a load balancer passes to a function,
// in bytes and as it is in the event. A load balancer itself answers 413 without
// a text to what is larger, so the check here is for others that send its events.
const MaxBalancerBody = 1 << 20

// Config is what a [Handler] works with.
type Config struct {
	// HTTP answers the requests; required.
	HTTP http.Handler
	// Log takes panics and answers that were too large; default slog.Default.
	Log *slog.Logger
	// MaxAnswer is the largest envelope in bytes; default [MaxAnswer].
	MaxAnswer int
	// AccessLog logs a line per request.
	AccessLog bool
}

// Handler answers gateway events, JSON in and JSON out, as a lambda.Handler
// does. It is safe for concurrent use.
type Handler struct {
	http      http.Handler
	log       *slog.Logger
	maxAnswer int
	accessLog bool
}

// New returns a handler of events on cfg.HTTP.
func New(cfg Config) *Handler {
	h := &Handler{http: cfg.HTTP, log: cfg.Log, maxAnswer: cfg.MaxAnswer, accessLog: cfg.AccessLog}
	if h.log == nil {
		h.log = slog.Default()
	}
	if h.maxAnswer == 0 {
		h.maxAnswer = MaxAnswer
	}
	return h
}

// Invoke answers one event. An error means that the payload is no gateway's
// event; whatever is wrong with the request itself is a response.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	ev, err := decode(payload)
	if err != nil {
		return nil, err
	}
	return h.invoke(ctx, ev)
}

func (h *Handler) invoke(ctx context.Context, ev *event) ([]byte, error) {
	w := newRecorder(ev.payload)
	r := h.answer(ctx, ev, w)
	limit := h.limit(ev)
	if size := w.size(); size > limit && r != nil {
		return h.tooLarge(ev, w, r, size)
	}
	response, err := w.envelope()
	if err != nil || r == nil || len(response) <= limit {
		return response, err
	}
	return h.tooLarge(ev, w, r, len(response))
}

// limit returns the size of the largest envelope that gets through.
func (h *Handler) limit(ev *event) int {
	if ev.payload.isBalancer() {
		return min(h.maxAnswer, MaxBalancerAnswer)
	}
	return h.maxAnswer
}

// answer lets the HTTP handler answer the request that an event is, which it
// returns; nil when the event makes none.
func (h *Handler) answer(ctx context.Context, ev *event, w *recorder) *http.Request {
	if ev.payload.isBalancer() && len(ev.Body) > MaxBalancerBody {
		writeError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf(
			"the request body takes %d bytes and a load balancer passes at most %d, base64 included: "+
				"send it with Content-Encoding: gzip, or fewer operations in one request", len(ev.Body), MaxBalancerBody))
		return nil
	}
	r, err := ev.request(ctx)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return nil
	}
	h.serve(w, r)
	if h.accessLog {
		h.log.InfoContext(ctx, "request",
			"method", r.Method, "path", r.URL.EscapedPath(), "status", w.status, "source", r.RemoteAddr, "agent", r.UserAgent())
	}
	return r
}

// serve lets the HTTP handler answer. A panic becomes a 500, as it would end
// the container otherwise.
func (h *Handler) serve(w *recorder, r *http.Request) {
	w.bodyless = r.Method == http.MethodHead
	defer func() {
		if cause := recover(); cause != nil {
			h.log.ErrorContext(r.Context(), "panic while answering",
				"method", r.Method, "path", r.URL.EscapedPath(), "cause", cause, "stack", string(debug.Stack()))
			w.reset()
			writeError(w, http.StatusInternalServerError, "internal error")
		}
	}()
	h.http.ServeHTTP(w, r)
}

// tooLarge answers 406 in place of a response that Lambda or the load balancer
// would refuse, which the client would see as a bare 502 (TestH24).
func (h *Handler) tooLarge(ev *event, refused *recorder, r *http.Request, size int) ([]byte, error) {
	limit := h.limit(ev)
	zipped := refused.header.Get("Content-Encoding") == "gzip"
	h.log.WarnContext(r.Context(), "response too large",
		"method", r.Method, "path", r.URL.EscapedPath(), "bytes", size, "limit", limit, "gzip", zipped)
	advice := "send Accept-Encoding: gzip"
	if zipped {
		advice = "ask for the compact form (X-Eureka-Accept: compact), or read /apps/delta, single applications or VIPs, " +
			"or deploy with Entry=url, which streams responses"
	}
	through := "a function"
	if ev.payload.isBalancer() {
		through = "a load balancer"
	}
	w := newRecorder(ev.payload)
	w.bodyless = r.Method == http.MethodHead
	writeError(w, http.StatusNotAcceptable, fmt.Sprintf("the response takes %d bytes and %s passes %d: %s", size, through, limit, advice))
	return w.envelope()
}
