package migration_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/fulltest"
	"github.com/eurekaless/registry/local/migration"
)

// startClient starts a real client that knows the servers at these ports, the
// first one first.
func startClient(t *testing.T, id string, ports ...string) *discovery.Client {
	t.Helper()
	cfg := discovery.Config{
		ZoneURLs: map[string][]string{}, RegisterAtStart: true, DisableFetch: true, ReplicationInterval: time.Second,
		QuarantineTime: 5 * time.Second,
		Instance: &discovery.Instance{
			App: "app-" + id[len(id)-1:], ID: id, HostName: "h.example.org", IPAddr: "192.0.2.1", Port: 8080,
			RenewalInterval: 2 * time.Second,
		},
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, port := range ports {
		cfg.ZoneURLs[port] = []string{"http://127.0.0.1:" + port + "/eureka"}
		cfg.Zones = append(cfg.Zones, port)
	}
	client, err := discovery.New(cfg)
	require.NoError(t, err)
	require.NoError(t, client.Start(t.Context()))
	t.Cleanup(func() { vanish(client) })
	return client
}

// vanish ends a client without a cancel.
func vanish(c *discovery.Client) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Stop(ended) // which tells that the context ended, or that it was stopped before
}

// TestReferenceServerRestartsUnderImport restarts a real Spring Cloud Eureka
// server three times while `import --every` mirrors it and clients move over:
// nobody is missing at the target. A cancel at the source still arrives.
func TestReferenceServerRestartsUnderImport(t *testing.T) {
	fulltest.Only(t, "a server in Java, for a minute and more")
	ctx := t.Context()
	ownPort := freePort(t)
	own := startRegistry(t, ownPort)
	old, oldPort, endOld := startStock(t, "")
	start(t, program(t), []string{"import", "http://127.0.0.1:" + oldPort + "/eureka", "http://127.0.0.1:" + ownPort + "/eureka", "--every", "1s"}, nil)

	var keys []eureka.Key
	clients := map[string]*discovery.Client{}
	for n := range 30 {
		ports := []string{oldPort}
		if n >= 10 {
			ports = append(ports, ownPort)
		}
		id := fmt.Sprintf("client-%02d", n)
		clients[id] = startClient(t, id, ports...)
		keys = append(keys, clients[id].Instance().Key())
	}
	equal(t, old, own, 30)
	missing := watch(t, own, keys)
	for restart := range 3 {
		endOld()
		endOld = launchStock(t, oldPort, "")
		for n := range 3 { // move over: a new process takes the place of one that vanishes
			id := fmt.Sprintf("client-%02d", 20+3*restart+n)
			vanish(clients[id])
			clients[id] = startClient(t, id, ownPort, oldPort)
		}
		old = peerAt(t, oldPort)
		for n := range 2 { // evicted or cancelled at the source while their heartbeats go to the target
			key := keys[10+3*restart+n]
			_ = old.Cancel(ctx, key) // not found where it did not come back to the source
		}
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			all, err := migration.List(ctx, old)
			require.NoError(c, err)
			assert.GreaterOrEqual(c, len(all), 10, "those that know no other server came back")
		}, patience, 200*time.Millisecond)
	}
	require.Never(t, func() bool { all, err := migration.List(ctx, own); return err == nil && len(all) != 30 }, 20*time.Second, 500*time.Millisecond)
	gap := missing()
	t.Logf("longest time for which an instance was missing: %s", gap)
	assert.LessOrEqual(t, gap, time.Second)

	require.NoError(t, clients["client-00"].Stop(ctx))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		all, err := migration.List(ctx, own)
		require.NoError(c, err)
		assert.Nil(c, all[keys[0]], "cancelled at the source, and silent")
	}, 40*time.Second, 200*time.Millisecond, "before its lease ends")
}
