package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/eurekaless/registry/core/fulltest"
)

// load is what many clients saw.
type load struct {
	mu sync.Mutex
	// statuses counts answers, 0 those that did not come.
	statuses map[int]int
	// silent counts 503 without a word on when to try again.
	silent int
	times  []time.Duration
	// acknowledged are the ids that were answered 204.
	acknowledged []string
}

func (l *load) note(status int, header http.Header, took time.Duration, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statuses[status]++
	l.times = append(l.times, took)
	if status == http.StatusServiceUnavailable && header.Get("Retry-After") == "" {
		l.silent++
	}
	if status == http.StatusNoContent {
		l.acknowledged = append(l.acknowledged, id)
	}
}

// slowest returns a quantile of the times.
func (l *load) slowest(q float64) time.Duration {
	slices.Sort(l.times)
	return l.times[int(q*float64(len(l.times)-1))]
}

// press has clients send heartbeats, and every tenth time a registration, one
// request after another, for a time.
func (r *registry) press(t *testing.T, clients int, duration time.Duration) *load {
	t.Helper()
	l := &load{statuses: map[int]int{}}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	end := time.Now().Add(duration)
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				method, path, body, id := http.MethodPut, shopHeartbeat, "", ""
				if n%10 == 9 {
					id = fmt.Sprintf("new-%d-%d", c, n)
					method, path, body = http.MethodPost, "/eureka/apps/SHOP", instance("SHOP", id, 3600)
				}
				start := time.Now()
				status, header := sendOne(client, method, r.url(path), body)
				l.note(status, header, time.Since(start), id)
			}
		})
	}
	group.Wait()
	return l
}

// sendOne returns status 0 when there is no answer.
func sendOne(client *http.Client, method, url, body string) (int, http.Header) {
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // only so that the connection can be used again
	return resp.StatusCode, resp.Header
}

// resident is the process's memory in MiB, as Linux counts it.
func (r *registry) resident(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmRSS:" {
			kib, err := strconv.Atoi(fields[1])
			require.NoError(t, err)
			return kib >> 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// bearable is how many MiB more a process may take; the race detector takes
// several times what the process does.
func bearable(mib int) int {
	if raceDetector {
		return 8 * mib
	}
	return mib
}

// TestOverload: the database takes 20 writes a second and throttles the rest,
// and its clients want many more. Nobody waits longer than a function
// may take, who is not served is told when to try again, as much is done as
// the database takes, and nothing acknowledged is lost. REGISTRY_TEST_SOAK makes
// it a minute.
func TestOverload(t *testing.T) {
	fulltest.Only(t, "it takes 10 seconds")
	const capacity, clients = 20, 150
	duration := 10 * time.Second
	if os.Getenv(envSoak) != "" {
		duration = time.Minute
	}
	gate := newEngineGate(t)
	r := startRegistry(t, gate.settings("REGISTRY_CACHE_REFRESH=1s", "REGISTRY_LOG_LEVEL=error")...)
	r.register(t, "SHOP", "shop-1", 3600)
	r.press(t, clients, time.Second) // connections and buffers
	before := r.resident(t)

	gate.limit.SetBurst(capacity / 10)
	gate.limit.SetLimit(capacity)
	l := r.press(t, clients, duration)
	gate.limit.SetLimit(rate.Inf)

	served := l.statuses[http.StatusOK] + l.statuses[http.StatusNoContent]
	t.Logf("%v in %s, %d served; p50 %s, p99 %s, longest %s; memory %d MiB, then %d MiB", l.statuses, duration, served,
		l.slowest(0.5), l.slowest(0.99), l.slowest(1), before, r.resident(t))
	assert.Equal(t, served+l.statuses[http.StatusServiceUnavailable], len(l.times), "200, 204 or 503: %v", l.statuses)
	assert.NotZero(t, l.statuses[http.StatusServiceUnavailable], "that was no overload")
	assert.Zero(t, l.silent, "503 without Retry-After")
	assert.Greater(t, served, int(duration.Seconds())*capacity/2, "served at half of what the database takes or more")
	assert.Less(t, l.slowest(1), 2*writeTime, "the deadline, and what a busy machine adds")
	assert.Less(t, r.resident(t), before+bearable(150))

	after := r.press(t, 4, 2*time.Second)
	assert.Len(t, after.statuses, 2, "200 and 204 alone: %v", after.statuses)
	assert.Less(t, after.slowest(0.99), 2*time.Second)
	for _, id := range l.acknowledged {
		status, _, err := ask(t.Context(), http.MethodGet, r.url("/eureka/apps/SHOP/"+id), "")
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status, "acknowledged: %s", id)
	}
}
