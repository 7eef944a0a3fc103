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
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
)

// fleet are instances that heartbeat.
type fleet struct {
	registry *registry
	client   *http.Client
	size     int
	// password returns the one that a client has now.
	password func(client int) string

	mu        sync.Mutex // guards all below
	latencies []time.Duration
	failures  []string
}

const newPassword = "next-password-of-the-team"

// newFleet registers the instances.
func newFleet(t *testing.T, r *registry, size int, password func(int) string) *fleet {
	t.Helper()
	f := &fleet{registry: r, size: size, password: password, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: size},
	}}
	t.Cleanup(f.client.CloseIdleConnections)
	for i := range size {
		status, body, err := ask(t.Context(), http.MethodPost, r.as("team", password(i), "/eureka/apps/SHOP"), instance("SHOP", fmt.Sprint("shop-", i), 90))
		require.NoError(t, err)
		require.Equal(t, http.StatusNoContent, status, string(body))
	}
	return f
}

// beat lets each instance renew every so often until the context ends.
func (f *fleet) beat(ctx context.Context, pace time.Duration) {
	var all sync.WaitGroup
	for i := range f.size {
		all.Go(func() {
			ticker := time.NewTicker(pace)
			defer ticker.Stop()
			// Spread out, as heartbeats are.
			for late := time.After(pace * time.Duration(i) / time.Duration(f.size)); ; late = nil {
				select {
				case <-late:
				case <-ticker.C:
				case <-ctx.Done():
					return
				}
				f.renew(i)
			}
		})
	}
	all.Wait()
}

func (f *fleet) renew(i int) {
	url := f.registry.as("team", f.password(i), fmt.Sprint("/eureka/apps/SHOP/shop-", i))
	req, err := http.NewRequest(http.MethodPut, url, nil)
	if err != nil {
		panic(err)
	}
	begin := time.Now()
	resp, err := f.client.Do(req)
	took := time.Since(begin)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latencies = append(f.latencies, took)
	if err != nil {
		f.failures = append(f.failures, err.Error())
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		f.failures = append(f.failures, resp.Status)
	}
}

// taken returns how long renewals took since the last call; none may have
// failed.
func (f *fleet) taken(t *testing.T) []time.Duration {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	latencies := f.latencies
	assert.Empty(t, f.failures)
	f.latencies, f.failures = nil, nil
	return latencies
}

// TestRotationUnderHeartbeats: a hundred clients heartbeat while their password
// is changed; with either one none fails as long as both are in the file, and
// the old one is refused when it is there no longer.
func TestRotationUnderHeartbeats(t *testing.T) {
	fulltest.Only(t, "a hundred clients for some seconds")
	const clients = 100
	team := func(passwords ...string) map[string]testUser {
		return map[string]testUser{"team": {Role: "register", Applications: []string{"SHOP"}, Passwords: passwords}}
	}
	file := credentials(t, team(teamPassword))
	r := startRegistry(t, "REGISTRY_CREDENTIALS_FILE="+file)
	var moved atomic.Int32 // how many clients have the new password
	f := newFleet(t, r, clients, func(client int) string {
		if client < int(moved.Load()) {
			return newPassword
		}
		return teamPassword
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var beating sync.WaitGroup
	beating.Go(func() { f.beat(ctx, 200*time.Millisecond) })
	quiet := func(phase string) {
		t.Helper()
		t.Log(phase)
		renewals := 0
		r.await(t, func() bool {
			renewals += len(f.taken(t))
			return renewals >= 3*clients
		})
	}
	quiet("the old password")
	writeCredentials(t, file, team(teamPassword, newPassword))
	moved.Store(clients / 2)
	quiet("half of the clients at once with the new one, nobody has told the process")
	for n := clients / 2; n <= clients; n += 5 {
		moved.Store(int32(n))
		<-time.After(50 * time.Millisecond)
	}
	quiet("all clients")
	writeCredentials(t, file, team(newPassword))
	quiet("the old one taken away")

	// The process notices by age, in minutes, or when it is shown credentials
	// that it does not know.
	status, _, err := ask(t.Context(), http.MethodGet, r.as("team", "something-else", "/eureka/apps"), "")
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnauthorized, status)
	status, _, err = ask(t.Context(), http.MethodGet, r.as("team", teamPassword, "/eureka/apps"), "")
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnauthorized, status, "the old password")
	quiet("the new password alone")
	cancel()
	beating.Wait()
}

// TestBruteForce: a thousand wrong tries, each another password, are told 401
// or to come later, cost no more hashes than the guard allows in that time, and
// leave those who have credentials alone. What they cost in time is told, not
// judged.
func TestBruteForce(t *testing.T) {
	fulltest.Only(t, "it takes 20 seconds")
	const tries, seconds, clients = 1000, 10, 20
	file := credentials(t, map[string]testUser{"team": {Role: "register", Passwords: []string{teamPassword}}})
	r := startRegistry(t, "REGISTRY_CREDENTIALS_FILE="+file)
	f := newFleet(t, r, clients, func(int) string { return teamPassword })
	// Calm and attack take turns, so that what else the machine does is in both.
	var calm, attacked []time.Duration
	var calmTime, attackTime time.Duration
	answers, guess := map[int]int{}, 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var beating sync.WaitGroup
	beating.Go(func() { f.beat(ctx, 100*time.Millisecond) })
	began := time.Now()
	for range seconds {
		before := processorTime(t, r)
		<-time.After(time.Second)
		calm, calmTime = append(calm, f.taken(t)...), calmTime+processorTime(t, r)-before

		before = processorTime(t, r)
		end, ticker := time.After(time.Second), time.NewTicker(seconds*time.Second/tries)
		for range tries / seconds {
			guess++
			status, _, err := ask(t.Context(), http.MethodGet, r.as("team", fmt.Sprint("guess-number-", guess), "/eureka/apps"), "")
			assert.NoError(t, err)
			answers[status]++
			<-ticker.C
		}
		<-end
		ticker.Stop()
		attacked, attackTime = append(attacked, f.taken(t)...), attackTime+processorTime(t, r)-before
	}
	took := time.Since(began)
	cancel()
	beating.Wait()
	calmP99, p99 := percentile99(calm), percentile99(attacked)
	t.Logf("p99 of %d heartbeats %s, of %d under attack %s; processor time %s, and %s; answers %v",
		len(calm), calmP99, len(attacked), p99, calmTime, attackTime, answers)
	assert.Equal(t, tries, answers[http.StatusUnauthorized]+answers[http.StatusTooManyRequests], "%v", answers)
	// An address has ten tries at once, and one more each second.
	assert.LessOrEqual(t, answers[http.StatusUnauthorized], 10+int(took.Seconds())+1, "hashes that were computed")
}

func percentile99(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*99/100]
}

// processorTime returns what a process has used so far.
func processorTime(t *testing.T, r *registry) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
	if err != nil {
		t.Skip("only Linux tells it this way")
	}
	// After the command's name in parentheses: user and system time are the
	// twelfth and thirteenth field, in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	require.Greater(t, len(fields), 13)
	var hundredths int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(t, err)
		hundredths += n
	}
	return time.Duration(hundredths) * 10 * time.Millisecond
}
