package dynamodb_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
)

// failure is what happens to the n-th try of a write, under the SDK, which
// tries again on its own.
type failure func(n int, r *http.Request, send transport) (*http.Response, error)

func unreachable(int, *http.Request, transport) (*http.Response, error) {
	return nil, syscall.ECONNRESET
}

// answerLost has the engine do what it is asked, and nobody hear of it.
func answerLost(_ int, r *http.Request, send transport) (*http.Response, error) {
	if response, err := send(r); err == nil {
		_ = response.Body.Close() // nobody reads it
	}
	return nil, io.ErrUnexpectedEOF
}

// failedAfter is an engine that does what it is asked and answers 500.
func failedAfter(n int, r *http.Request, send transport) (*http.Response, error) {
	_, _ = answerLost(n, r, send) // its error is what answerLost is for
	return answer(http.StatusInternalServerError, ""), nil
}

func throttledAlways(_ int, r *http.Request, _ transport) (*http.Response, error) { return throttle(r) }

func hang(_ int, r *http.Request, _ transport) (*http.Response, error) { return silent(r) }

func hangAfter(n int, r *http.Request, send transport) (*http.Response, error) {
	_, _ = answerLost(n, r, send) // its error is what answerLost is for
	return silent(r)
}

// once is a failure of the first try alone.
func once(f failure) failure {
	return func(n int, r *http.Request, send transport) (*http.Response, error) {
		if n > 0 {
			return send(r)
		}
		return f(n, r, send)
	}
}

// after is a failure of the tries that come after one that met another.
func after(first, then failure) failure {
	return func(n int, r *http.Request, send transport) (*http.Response, error) {
		if n == 0 {
			return first(n, r, send)
		}
		return then(n, r, send)
	}
}

// network is the SDK's HTTP client with failures of writes.
type network struct {
	next httpClient

	// mu guards what follows.
	mu      sync.Mutex
	failure failure
	writes  int
}

// fail makes the writes from now on meet a failure; nil: none.
func (n *network) fail(f failure) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failure, n.writes = f, 0
}

// Do implements the SDK's HTTPClient.
func (n *network) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch operation {
	case "UpdateItem", "PutItem", "BatchWriteItem":
	default:
		return n.next.Do(r)
	}
	n.mu.Lock()
	f, try := n.failure, n.writes
	n.writes++
	n.mu.Unlock()
	if f == nil {
		return n.next.Do(r)
	}
	return f(try, r, n.next.Do)
}
