package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// containersFleet renews every 30 s with leases of 90 s.
	containersFleet    = 1000
	containersInterval = 30 * time.Second
	containersLease    = 90
	// frozenTime is for how long a process stands still.
	frozenTime = time.Minute
)

// TestContainers runs two processes on the same tables, as infra/containers.yaml
// does, and the functions' handlers in a third: one process is killed, the other
// is frozen for a minute. Clients fail over between the two, no lease lapses,
// and both processes agree with the table in the end. It takes four minutes;
// `make soak` runs it.
func TestContainers(t *testing.T) {
	if os.Getenv(envSoak) == "" {
		t.Skip("SKIPPED: it takes minutes, make soak runs it")
	}
	engine := newFileEngine(t)
	settings := []string{"AWS_ENDPOINT_URL_DYNAMODB=" + engine.url(), "REGISTRY_LOG_LEVEL=error", "REGISTRY_RENEWAL_WRITE_INTERVAL=75s"}
	background := launch(t, []string{"pump"}, settings...)
	background.await(t, func() bool { return strings.Contains(background.output.String(), "evictions every") })
	settings = append(settings, "REGISTRY_BACKGROUND=false")
	c := &containersRun{t: t, client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	first, second := startUntilKilled(t, settings...), startUntilKilled(t, settings...)
	c.addresses = [2]string{first.address, second.address}

	ctx, stop := context.WithCancel(t.Context())
	var fleet sync.WaitGroup
	for n := range containersFleet {
		fleet.Go(func() { c.live(ctx, n) })
	}
	require.True(t, wait(ctx, 45*time.Second))
	first.kill()
	require.True(t, wait(ctx, 15*time.Second))
	again := launch(t, nil, append(settings, "REGISTRY_LISTEN="+first.address)...)
	again.address = first.address
	second.signal(t, syscall.SIGSTOP)
	require.True(t, wait(ctx, frozenTime))
	second.signal(t, syscall.SIGCONT)
	require.True(t, wait(ctx, 100*time.Second))
	stop()
	fleet.Wait()

	t.Logf("%d registrations, %d heartbeats, %d requests failed over, %d leases lapsed", c.registrations.Load(), c.heartbeats.Load(), c.failedOver.Load(), c.lapsed.Load())
	assert.EqualValues(t, containersFleet, c.registrations.Load())
	assert.Zero(t, c.lapsed.Load())
	for _, r := range []*registry{again, second} {
		r.await(t, func() bool { return c.listed(r) == containersFleet })
		_, body := c.send(r.address, http.MethodGet, "/eureka/apps", "")
		var all answer
		require.NoError(t, json.Unmarshal(body, &all))
		assert.Equal(t, all.hash(), all.Applications.Hash)
	}
}

// containersRun is a fleet whose clients know both processes.
type containersRun struct {
	t         *testing.T
	client    *http.Client
	addresses [2]string

	registrations, heartbeats, failedOver, lapsed atomic.Int64
}

// send makes a request; status 0: no answer.
func (c *containersRun) send(address, method, path, body string) (int, []byte) {
	req, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
	require.NoError(c.t, err)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 500 {
		return 0, nil
	}
	return resp.StatusCode, data
}

// either sends to the process that the client used last, then to the other.
func (c *containersRun) either(last *int, method, path, body string) (int, []byte) {
	for range 4 {
		status, data := c.send(c.addresses[*last], method, path, body)
		if status != 0 {
			return status, data
		}
		c.failedOver.Add(1)
		*last = 1 - *last
	}
	return 0, nil
}

// live registers an instance and renews it until the context ends.
func (c *containersRun) live(ctx context.Context, n int) {
	last := n % 2
	if !wait(ctx, containersInterval*time.Duration(n)/containersFleet) {
		return
	}
	app, id := fmt.Sprintf("APP-%d", n%20), fmt.Sprintf("task-%d", n)
	status, text := c.either(&last, http.MethodPost, "/eureka/apps/"+app, instance(app, id, containersLease))
	assert.Equal(c.t, http.StatusNoContent, status, string(text))
	c.registrations.Add(1)
	for wait(ctx, containersInterval) {
		status, _ := c.either(&last, http.MethodPut, "/eureka/apps/"+app+"/"+id+"?status=UP&lastDirtyTimestamp=1700000000000", "")
		c.heartbeats.Add(1)
		if status == http.StatusNotFound {
			c.lapsed.Add(1)
		}
	}
}

// listed counts the instances of a process's list.
func (c *containersRun) listed(r *registry) int {
	_, body := c.send(r.address, http.MethodGet, "/eureka/apps", "")
	return strings.Count(string(body), `"instanceId"`)
}
