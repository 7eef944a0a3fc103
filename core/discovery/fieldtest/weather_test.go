package fieldtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// weather disturbs what goes between clients and the registry.
type weather struct {
	mu   sync.Mutex
	rule func(n int) disturbance
	sent int
}

// disturbance is what happens to one request.
type disturbance struct {
	// refused: it does not arrive.
	refused bool
	// lost: it arrives, but its answer does not come back.
	lost bool
	// slow is by how much the answer is late.
	slow time.Duration
}

// fair is how things usually are.
func fair(int) disturbance { return disturbance{} }

func newWeather() *weather { return &weather{rule: fair} }

// change changes what happens to requests from now on; the rule gets their
// number.
func (w *weather) change(rule func(n int) disturbance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rule = rule
}

func (w *weather) next() disturbance {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent++
	return w.rule(w.sent)
}

// line is one client's way to the registry, in that weather.
type line struct {
	to      http.RoundTripper
	weather *weather
	// requests counts all that were sent, registrations and fulls some kinds
	// of them.
	requests, registrations, fulls atomic.Int64
}

var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(req *http.Request) (*http.Response, error) {
	l.count(req)
	d := l.weather.next()
	if d.refused {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, errRefused
	}
	// What is lost is the answer alone: the registry does its work.
	sent := req
	if d.lost {
		sent = req.WithContext(context.WithoutCancel(req.Context()))
	}
	resp, err := l.to.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	var late <-chan time.Time
	if !d.lost {
		late = time.After(d.slow)
	}
	select {
	case <-late:
		return resp, nil
	case <-req.Context().Done():
		resp.Body.Close()
		return nil, req.Context().Err()
	}
}

func (l *line) count(req *http.Request) {
	l.requests.Add(1)
	switch {
	case req.Method == http.MethodPost:
		l.registrations.Add(1)
	case req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/apps"):
		l.fulls.Add(1)
	}
}
