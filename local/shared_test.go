package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/fulltest"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// sharedFleet is a fleet of clients that fail over between registries.
type sharedFleet struct {
	client *http.Client
	urls   []string
	// lost counts heartbeats answered 404, failedOver those that another
	// registry answered than the first one asked.
	lost, failedOver, renewed atomic.Int64
}

const sharedInstances = 1000

// ask asks the registries in turn, beginning with one, until one answers.
func (f *sharedFleet) ask(first int, method, path, body string) (status int) {
	for i := range f.urls {
		r, err := http.NewRequest(method, f.urls[(first+i)%len(f.urls)]+path, bytes.NewReader([]byte(body)))
		if err != nil {
			return 0
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := f.client.Do(r)
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode >= http.StatusInternalServerError {
			continue
		}
		if i > 0 {
			f.failedOver.Add(1)
		}
		return answer.StatusCode
	}
	return 0
}

const sharedRegistration = `{"instance": {"instanceId": "shop-%[1]d", "hostName": "h%[1]d", "app": "SHOP-%[2]d", "ipAddr": "192.0.2.1", "status": "UP",
	"lastDirtyTimestamp": "1700000000000", "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`

// live is one instance: it registers and sends heartbeats every 30 s.
func (f *sharedFleet) live(ctx context.Context, n int) {
	for f.ask(n, http.MethodPost, fmt.Sprintf("/eureka/apps/SHOP-%d", n%20), fmt.Sprintf(sharedRegistration, n, n%20)) != http.StatusNoContent {
		if ctx.Err() != nil {
			return
		}
	}
	next := time.Now().Add(rand.N(30 * time.Second))
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next)):
		}
		next = next.Add(30 * time.Second)
		switch f.ask(n, http.MethodPut, fmt.Sprintf("/eureka/apps/SHOP-%d/shop-%d?lastDirtyTimestamp=1700000000000", n%20, n), "") {
		case http.StatusNotFound:
			f.lost.Add(1)
		case http.StatusOK:
			f.renewed.Add(1)
		}
	}
}

// TestTwoRegistriesOnTheSameTables: the stream and the passes are a third
// process's. One registry is killed and replaced, the other is frozen for a
// minute: no instance lapses, and both show what the table has.
func TestTwoRegistriesOnTheSameTables(t *testing.T) {
	fulltest.Only(t, "takes three minutes")
	t.Parallel()
	engine := enginetest.Dynoxide(t)
	at := "AWS_ENDPOINT_URL_DYNAMODB=" + engine.Endpoint
	shared := []string{at, "REGISTRY_BACKGROUND=false", "REGISTRY_RENEWAL_WRITE_INTERVAL=75s"}
	first, second := startUntilKilled(t, shared...), startRegistry(t, shared...)
	// Self-preservation would hide a lease that ends.
	background := launch(t, []string{"background"}, at, "REGISTRY_SELF_PRESERVATION=false", "REGISTRY_EVICTION_INTERVAL=5s")
	f := &sharedFleet{
		client: &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: sharedInstances}},
		urls:   []string{first.url(""), second.url("")},
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for n := range sharedInstances {
		group.Go(func() { f.live(ctx, n) })
	}
	defer func() { cancel(); group.Wait(); f.client.CloseIdleConnections() }()

	time.Sleep(35 * time.Second)
	first.kill()
	time.Sleep(10 * time.Second)
	replaced := launch(t, nil, append(shared, "REGISTRY_LISTEN="+first.address)...)
	replaced.address = first.address
	time.Sleep(15 * time.Second)
	second.signal(t, syscall.SIGSTOP)
	time.Sleep(time.Minute)
	second.signal(t, syscall.SIGCONT)
	time.Sleep(35 * time.Second)

	table := dynamodb.New(engine.Client(t), dynamodb.Config{})
	leases, err := table.Scan(t.Context())
	require.NoError(t, err)
	counts, statuses := eureka.StatusCounts{}, map[string]string{}
	for i := range leases {
		require.False(t, leases[i].Tombstone(), leases[i].Key)
		counts.Count(leases[i].Effective())
		statuses[leases[i].Key.ID] = string(leases[i].Status)
	}
	t.Logf("heartbeats answered: %d, by the other registry: %d; lost: %d; leases: %d", f.renewed.Load(), f.failedOver.Load(), f.lost.Load(), len(leases))
	assert.Zero(t, f.lost.Load())
	assert.Len(t, leases, sharedInstances)
	assert.Positive(t, f.failedOver.Load())
	for _, r := range []*registry{replaced, second} {
		var hash string
		r.await(t, func() bool {
			hash = r.get(t, "/eureka/apps").all.Applications.Hash
			return hash == counts.HashCode()
		})
		assert.Equal(t, counts.HashCode(), hash)
		shown := map[string]string{}
		for _, i := range listed(t, r) {
			shown[i.ID] = i.Status
		}
		assert.Equal(t, statuses, shown)
	}
	assert.NotRegexp(t, `evicted=[1-9]`, background.output.String())
}
