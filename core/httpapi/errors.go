package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// statuses is the one table from sentinel errors to HTTP statuses. What it
// does not name is 500. retry says that the client may try again later.
var statuses = []struct {
	err    error
	status int
	retry  bool
}{
	{eureka.ErrUnauthenticated, http.StatusUnauthorized, false},
	{eureka.ErrForbidden, http.StatusForbidden, false},
	{eureka.ErrRateLimited, http.StatusTooManyRequests, true},
	{eureka.ErrInvalid, http.StatusBadRequest, false},
	{eureka.ErrTooLarge, http.StatusRequestEntityTooLarge, false},
	{errMediaType, http.StatusUnsupportedMediaType, false},
	{eureka.ErrLeaseNotFound, http.StatusNotFound, false},
	{eureka.ErrNotFound, http.StatusNotFound, false},
	{eureka.ErrConflict, http.StatusServiceUnavailable, true},
	{eureka.ErrThrottled, http.StatusServiceUnavailable, true},
	{eureka.ErrUnavailable, http.StatusServiceUnavailable, true},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, true},
	{context.Canceled, http.StatusServiceUnavailable, true},
}

// errMediaType is returned for a body in a format that the protocol lacks.
var errMediaType = errors.New("send application/json or application/xml")

// retryAfterSeconds is what clients are told to wait where nothing says better.
const retryAfterSeconds = "1"

// retryAfter returns the whole seconds after which to try again.
func retryAfter(err error) string {
	var limited *eureka.RateLimitedError
	if errors.As(err, &limited) && limited.After > time.Second {
		return strconv.Itoa(int(math.Ceil(limited.After.Seconds())))
	}
	return retryAfterSeconds
}

// statusOf returns the HTTP status of an error, and whether to try again.
func statusOf(err error) (status int, retry bool) {
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			return s.status, s.retry
		}
	}
	return http.StatusInternalServerError, false
}

// writeError answers an error.
func (h *Handler) writeError(w http.ResponseWriter, r *http.Request, t target, err error) {
	status, retry := statusOf(err)
	if status >= http.StatusInternalServerError && r.Context().Err() != context.Canceled {
		h.cfg.Logger.ErrorContext(r.Context(), "request failed",
			"method", r.Method, "path", r.URL.Path, "status", status, "error", err)
	}
	if retry {
		w.Header().Set("Retry-After", retryAfter(err))
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="eureka", charset="UTF-8"`)
		w.Header().Set("Cache-Control", "no-store")
	}
	if wordless(status, r, t) {
		w.WriteHeader(status)
		return
	}
	writeMessage(w, status, message(status, err))
}

// wordless reports whether an error must have no body. Java clients decode what
// answers a heartbeat or a fetch whatever its status, and fail on a document:
// after a heartbeat's 404 they would never register again (TestH6), and instead
// of a status that refuses them they would tell of a document that they cannot
// read (TestRefusalsThatJavaDecodes). Java clients name the type of document that
// they want; who does not, as a person with curl, is told why.
func wordless(status int, r *http.Request, t target) bool {
	heartbeat := t.resource == resourceInstance && r.Method == http.MethodPut
	switch status {
	case http.StatusNotFound:
		return heartbeat
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return heartbeat || r.Method == http.MethodGet && !t.page() && namesDocument(r)
	}
	return false
}

// namesDocument reports whether Accept names JSON or XML, and no page.
func namesDocument(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return !strings.Contains(accept, "html") && (strings.Contains(accept, "json") || strings.Contains(accept, "xml"))
}

// message is what an error's body says. A fault of the server shows nothing of
// its inside.
func message(status int, err error) string {
	var invalid *eureka.InvalidError
	switch {
	case errors.As(err, &invalid):
		return invalid.Error()
	case status == http.StatusInternalServerError:
		return "internal error"
	case errors.Is(err, eureka.ErrConflict):
		return "others keep changing this instance; try again"
	case status == http.StatusServiceUnavailable:
		return "the registry's store does not answer; try again"
	case status == http.StatusNotFound:
		return "not found"
	}
	return err.Error()
}

// writeMessage answers {"error": text}.
func writeMessage(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(struct { // a struct of one text always encodes
		Error string `json:"error"`
	}{text})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(append(body, '\n')) // a client that is gone needs no answer
}
