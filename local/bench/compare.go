package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/eurekaless/registry/local/bench/process"
)

// compare measures two servers phase by phase, a while the one and a while the
// other, so that whatever else the machine does falls on both. Each has a turn
// that does not count before, and a long one: what a server does while it is
// still compiling or growing is not what it holds.
func compare(ctx context.Context, o options, f fleet, this, other *server, out io.Writer) error {
	for _, p := range phases(o, f) {
		if err := allList(ctx, o, p.sees, this, other); err != nil {
			return err
		}
		sums := map[*server]result{}
		for round := range o.rounds + 1 {
			turn := o
			if round == 0 {
				turn.phase *= 3
			}
			for _, s := range []*server{this, other} {
				r, err := measure(ctx, turn, p, s)
				if err != nil {
					return fmt.Errorf("%s of %s: %w", p.name, s.base, err)
				}
				if round > 0 {
					sums[s] = r.plus(sums[s])
				}
			}
		}
		fmt.Fprintf(out, "this   %v\nother  %v\n       %s\n", sums[this], sums[other], ratios(sums[this], sums[other]))
	}
	return nil
}

// plus adds an earlier turn of the same phase.
func (r result) plus(earlier result) result {
	r.times = append(slices.Clone(r.times), earlier.times...)
	slices.Sort(r.times)
	r.took += earlier.took
	r.failed += earlier.failed
	if r.firstFailed == nil {
		r.firstFailed = earlier.firstFailed
	}
	if r.server != nil && earlier.server != nil {
		r.server = &process.Usage{Processor: r.server.Processor + earlier.server.Processor, Resident: r.server.Resident}
	}
	return r
}

// ratios says how a server compares with another in the same phase.
func ratios(this, other result) string {
	line := fmt.Sprintf("%-10s rate %.2fx  p50 %.2fx  p99 %.2fx", this.name,
		this.rate()/other.rate(), this.quantile(0.5)/other.quantile(0.5), this.quantile(0.99)/other.quantile(0.99))
	if this.server != nil && other.server != nil {
		line += fmt.Sprintf("  processor %.2fx  memory %.2fx",
			this.processor()/other.processor(), float64(this.server.Resident)/float64(other.server.Resident))
	}
	return line
}

// allList waits until the servers list the fleet's last instance at a path: lists
// are served from views that turn over at intervals, and deltas may trail them.
func allList(ctx context.Context, o options, path string, servers ...*server) error {
	if path == "" {
		return nil
	}
	const patience, pause = 2 * time.Minute, 500 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, id := fleet{perApp: o.perApp}.names(o.instances - 1)
	for _, s := range servers {
		for {
			text, err := s.read(ctx, path)
			if err == nil && strings.Contains(text, id) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s does not list %s at %s: %w", s.base, id, path, ctx.Err())
			case <-time.After(pause):
			}
		}
	}
	return nil
}

// read returns an answer's body, uncompressed.
func (s *server) read(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
