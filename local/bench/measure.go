package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eurekaless/registry/local/bench/process"
)

// server is a server that is measured, and the connections to it.
type server struct {
	base string
	// pid is its process; 0: not known.
	pid  int
	http *http.Client
}

func newServer(base string, pid, workers int) *server {
	return &server{strings.TrimSuffix(base, "/"), pid, &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: workers, DisableCompression: true},
		Timeout:   30 * time.Second,
	}}
}

// ask sends a request and returns the length of the answer's body.
func (s *server) ask(ctx context.Context, r request) (int, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, s.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "gzip")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != r.want {
		err = fmt.Errorf("%s %s: %s", r.method, r.path, resp.Status)
	}
	return int(n), err
}

// result is what a phase showed.
type result struct {
	name        string
	took        time.Duration
	times       []time.Duration // sorted
	failed      int
	firstFailed error
	// body is the length of the last answer's body, in bytes.
	body int
	// server is what its process used in the phase; nil where that is not
	// known.
	server *process.Usage
}

func (r result) String() string {
	line := fmt.Sprintf("%-10s %8.0f/s  p50 %7.2f ms  p99 %7.2f ms  failed %d  body %d bytes",
		r.name, r.rate(), r.quantile(0.5), r.quantile(0.99), r.failed, r.body)
	if r.server != nil {
		line += "  server: " + r.server.Each(len(r.times))
	}
	if r.firstFailed != nil {
		line += "  first failure: " + r.firstFailed.Error()
	}
	return line
}

// rate is in requests a second.
func (r result) rate() float64 { return float64(len(r.times)) / r.took.Seconds() }

// processor is the server's time for a request, in microseconds.
func (r result) processor() float64 {
	return float64(r.server.Processor.Microseconds()) / float64(len(r.times))
}

// quantile is in milliseconds.
func (r result) quantile(q float64) float64 {
	return float64(r.times[int(q*float64(len(r.times)-1))].Microseconds()) / 1000
}

var errAllFailed = errors.New("every request failed")

// measure runs a phase. Reads and heartbeats are asked once before: what a
// server does at the first of them is not what it holds.
func measure(ctx context.Context, o options, p phase, s *server) (result, error) {
	if p.count == 0 {
		if _, err := s.ask(ctx, p.request(0)); err != nil {
			return result{}, fmt.Errorf("the first request: %w", err)
		}
	}
	before, err := s.usage()
	if err != nil {
		return result{}, err
	}
	r := askAll(ctx, o, p, s)
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if len(r.times) == 0 {
		return r, fmt.Errorf("%w: %w", errAllFailed, r.firstFailed)
	}
	after, err := s.usage()
	if err != nil {
		return r, err
	}
	if s.pid != 0 {
		used := after.Since(before)
		r.server = &used
	}
	return r, nil
}

// usage returns what the server's process has used so far; nothing where that
// is not known.
func (s *server) usage() (process.Usage, error) {
	if s.pid == 0 {
		return process.Usage{}, nil
	}
	return process.Of(s.pid)
}

// askAll lets the workers ask until the phase is over.
func askAll(ctx context.Context, o options, p phase, s *server) result {
	var (
		next    atomic.Int64
		workers sync.WaitGroup
		all     = tally{result: result{name: p.name}}
		start   = time.Now()
	)
	over := func(i int) bool {
		return ctx.Err() != nil || p.count > 0 && i >= p.count || p.count == 0 && time.Since(start) > o.phase
	}
	for range o.workers {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; !over(i); i = int(next.Add(1)) - 1 {
				at := time.Now()
				n, err := s.ask(ctx, p.request(i))
				all.add(time.Since(at), n, err)
			}
		})
	}
	workers.Wait()
	all.took = time.Since(start)
	slices.Sort(all.times)
	return all.result
}

// tally collects what the workers see.
type tally struct {
	mu sync.Mutex
	result
}

func (t *tally) add(took time.Duration, body int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.failed++
		if t.firstFailed == nil {
			t.firstFailed = err
		}
		return
	}
	t.times = append(t.times, took)
	t.body = body
}
