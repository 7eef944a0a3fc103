package migration_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/fulltest"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/local/migration"
)

// patience is how long things may take on a busy machine.
const patience = 90 * time.Second

const stockFolder = "../bench/stock"

// stockJar returns the stock Eureka server, built if it is not there.
func stockJar(t *testing.T) string {
	t.Helper()
	fulltest.Tool(t, "java")
	fulltest.Tool(t, "mvn")
	jar, err := filepath.Abs(stockFolder + "/target/stock-eureka-server-1.jar")
	require.NoError(t, err)
	if _, err := os.Stat(jar); err == nil {
		return jar
	}
	build := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "package")
	build.Dir, build.Stdout, build.Stderr = stockFolder, t.Output(), t.Output()
	require.NoError(t, build.Run())
	return jar
}

// start starts a program and returns what ends it.
func start(t *testing.T, name string, args, settings []string) (end func()) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), settings...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s:\n%s", filepath.Base(name), text[max(0, len(text)-4000):])
		}
	})
	t.Cleanup(end)
	return end
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// peerAt waits until a registry answers.
func peerAt(t *testing.T, port string) *migration.Peer {
	t.Helper()
	peer, err := migration.NewPeer("http://127.0.0.1:"+port+"/eureka", 0)
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, err := peer.Applications(t.Context()); return err == nil }, patience, 200*time.Millisecond)
	return peer
}

// program builds the registry's program.
func program(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "registry")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "..").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return binary
}

// startRegistry starts this registry's process, whose lists are refreshed every
// second.
func startRegistry(t *testing.T, port string) *migration.Peer {
	t.Helper()
	binary := program(t)
	start(t, binary, nil, []string{"REGISTRY_LISTEN=127.0.0.1:" + port, "REGISTRY_CACHE_REFRESH=1s", "REGISTRY_EVICTION_INTERVAL=1s"})
	return peerAt(t, port)
}

// startStock starts the reference server, with a peer if one is named.
func startStock(t *testing.T, peer string) (*migration.Peer, string, func()) {
	t.Helper()
	port := freePort(t)
	end := launchStock(t, port, peer)
	return peerAt(t, port), port, end
}

// launchStock starts the reference server on a port and does not wait for it.
func launchStock(t *testing.T, port, peer string) (end func()) {
	t.Helper()
	args := []string{
		"-Xmx384m", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8", "-jar", stockJar(t), "--server.port=" + port, "--eureka.instance.hostname=localhost",
		"--eureka.server.enable-self-preservation=false", "--eureka.server.eviction-interval-timer-in-ms=1000",
		"--eureka.server.response-cache-update-interval-ms=1000",
		// A list that was being made while something changed stays for this long, three minutes by default.
		"--eureka.server.response-cache-auto-expiration-in-seconds=1",
	}
	if peer != "" {
		args = append(args, "--eureka.client.service-url.defaultZone="+peer)
	}
	return start(t, "java", args, nil)
}

// equal waits until two registries hold the same, and that many instances.
func equal(t *testing.T, a, b *migration.Peer, want int) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		here, err := migration.List(t.Context(), a)
		require.NoError(c, err)
		there, err := migration.List(t.Context(), b)
		require.NoError(c, err)
		assert.Len(c, here, want)
		assert.Empty(c, migration.Compare(here, there))
	}, patience, 200*time.Millisecond)
}

// fleet starts real clients that know both servers, the old one first.
func fleet(t *testing.T, n int, old, own string) []*discovery.Client {
	t.Helper()
	clients := make([]*discovery.Client, n)
	for at := range clients {
		client, err := discovery.New(discovery.Config{
			ZoneURLs: map[string][]string{
				"old": {"http://127.0.0.1:" + old + "/eureka"}, "own": {"http://127.0.0.1:" + own + "/eureka"},
			},
			Zones: []string{"old", "own"}, RegisterAtStart: true, DisableFetch: true, ReplicationInterval: time.Second,
			Instance: &discovery.Instance{
				App: fmt.Sprintf("app-%d", at%5), ID: fmt.Sprintf("client-%02d", at), HostName: "h.example.org", IPAddr: "192.0.2.1", Port: 8080,
				RenewalInterval: 2 * time.Second, LeaseDuration: 40 * time.Second, Metadata: map[string]string{"n": strconv.Itoa(at)},
			},
			Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		require.NoError(t, client.Start(t.Context()))
		clients[at] = client
		t.Cleanup(func() { _ = client.Stop(context.Background()) }) // which may have been stopped
	}
	return clients
}

// watch reads a registry until it is stopped and returns for how long any of
// the instances was missing at most, by readings that followed each other.
func watch(t *testing.T, p *migration.Peer, keys []eureka.Key) (stop func() time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	longest := make(chan time.Duration, 1)
	go func() {
		var worst time.Duration
		seen := map[eureka.Key]time.Time{}
		for ctx.Err() == nil {
			if all, err := migration.List(ctx, p); err == nil {
				now := time.Now()
				for _, key := range keys {
					if all[key] != nil || seen[key].IsZero() {
						seen[key] = now
					}
					worst = max(worst, now.Sub(seen[key]))
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
		longest <- worst
	}()
	return func() time.Duration { cancel(); return <-longest }
}

// TestStockServerWithThisRegistryAsPeer moves clients over from a real Spring
// Cloud Eureka server that has this registry among its peers.
func TestStockServerWithThisRegistryAsPeer(t *testing.T) {
	ownPort := freePort(t)
	own := startRegistry(t, ownPort)
	old, oldPort, endOld := startStock(t, "http://127.0.0.1:"+ownPort+"/eureka/")
	ctx := t.Context()

	clients := fleet(t, 45, oldPort, ownPort)
	equal(t, old, own, 45)
	for n := range 5 { // which send no heartbeat, and must be seen by both before they end
		silent := clients[0].Instance()
		silent.App, silent.InstanceID, silent.Lease.Duration = "SILENT", fmt.Sprintf("silent-%d", n), 20*time.Second
		require.NoError(t, old.Register(ctx, silent))
	}
	var stay []eureka.Key
	for _, c := range clients[5:] {
		stay = append(stay, c.Instance().Key())
	}
	equal(t, old, own, 50)
	missing := watch(t, own, stay)

	for n, c := range clients[5:15] {
		if n%2 == 0 {
			require.NoError(t, c.SetStatus(eureka.Down))
		} else {
			require.NoError(t, c.SetMetadata(map[string]string{"more": "ümlaut & <b>"}))
		}
	}
	for _, c := range clients[15:20] {
		require.NoError(t, old.SetStatus(ctx, c.Instance().Key(), eureka.OutOfService, time.Time{}))
	}
	for _, c := range clients[:5] {
		require.NoError(t, c.Stop(ctx))
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		all, err := migration.List(ctx, own)
		require.NoError(c, err)
		counts := eureka.StatusCounts{}
		for _, i := range all {
			counts.Count(i)
		}
		assert.Equal(c, "DOWN_5_OUT_OF_SERVICE_5_UP_30_", counts.HashCode(), "the silent ones are evicted here too")
	}, patience, 200*time.Millisecond)
	equal(t, old, own, 40)
	for _, c := range clients[15:18] {
		require.NoError(t, old.RemoveOverride(ctx, c.Instance().Key(), eureka.Up, time.Time{}))
	}
	equal(t, old, own, 40)

	endOld()
	// Longer than a lease: heartbeats come here now.
	require.Never(t, func() bool { all, err := migration.List(ctx, own); return err == nil && len(all) != 40 }, 45*time.Second, 500*time.Millisecond)
	gap := missing()
	t.Logf("longest time for which an instance was missing: %s", gap)
	assert.LessOrEqual(t, gap, time.Second, "one refresh")
}

// TestStockServer compares the two where one server of each is enough.
func TestStockServer(t *testing.T) {
	old, oldPort, _ := startStock(t, "")
	ownPort := freePort(t)
	own := startRegistry(t, ownPort)
	t.Run("replicated heartbeats", func(t *testing.T) { replicatedHeartbeats(t, old, own, oldPort, ownPort) })
	t.Run("import", func(t *testing.T) { importFromStock(t, old, own) })
}

// replicatedHeartbeats with another dirty timestamp are answered as the stock
// server answers them.
func replicatedHeartbeats(t *testing.T, old, own *migration.Peer, oldPort, ownPort string) {
	i := instance(1)
	i.InstanceID = "plain"
	statuses := func(p *migration.Peer, port string) []int {
		require.NoError(t, p.Register(t.Context(), i))
		var out []int
		for _, millis := range []int64{0, -1, 1} {
			query := url.Values{"lastDirtyTimestamp": {strconv.FormatInt(dirty.UnixMilli()+millis, 10)}, "status": {"UP"}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut,
				"http://127.0.0.1:"+port+"/eureka/apps/"+i.App+"/plain?"+query.Encode(), nil)
			require.NoError(t, err)
			req.Header.Set("X-Netflix-Discovery-Replication", "true")
			req.Header.Set("Accept", "application/json")
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			out = append(out, resp.StatusCode)
		}
		return out
	}
	want := statuses(old, oldPort)
	assert.Equal(t, []int{200, 409, 404}, want)
	assert.Equal(t, want, statuses(own, ownPort))
	for _, p := range []*migration.Peer{old, own} {
		require.NoError(t, p.Cancel(t.Context(), i.Key()))
	}
}

// importFromStock mirrors 1,000 instances of the stock server.
func importFromStock(t *testing.T, old, own *migration.Peer) {
	ctx := t.Context()
	var items []wire.ReplicationItem
	for n := range 1000 {
		i := instance(n)
		i.InstanceID, i.Lease = fmt.Sprintf("i-%d", n), eureka.LeaseInfo{RenewalInterval: time.Second, Duration: time.Hour}
		items = append(items, wire.ReplicationItem{App: i.App, ID: i.ID(), Action: registry.ActionRegister, LastDirty: dirty, Status: i.Status, Instance: i})
	}
	for batch := range slices.Chunk(items, 250) {
		_, err := old.Replicate(ctx, batch)
		require.NoError(t, err)
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		all, err := migration.List(ctx, old)
		require.NoError(c, err)
		assert.Len(c, all, 1000)
	}, patience, 200*time.Millisecond)

	interrupted, cancel := context.WithCancel(ctx)
	half := migration.NewImporter(old, own, false, time.Now, func(done, _ int) {
		if done >= 400 {
			cancel()
		}
	})
	_, err := half.Pass(interrupted)
	require.ErrorIs(t, err, context.Canceled)

	importer := migration.NewImporter(old, own, false, time.Now, func(int, int) {})
	report, err := importer.Pass(ctx)
	require.NoError(t, err)
	assert.Equal(t, "1000 read: 600 registered, 0 changed, 0 cancelled, 400 only renewed, 0 newer there, 0 gone, 0 failed", report.String())
	equal(t, old, own, 1000)
	versions := updated(t, own)

	report, err = importer.Pass(ctx)
	require.NoError(t, err)
	assert.Equal(t, 1000, report.Renewed)
	key := eureka.NewKey("APP-3", "i-3")
	require.NoError(t, old.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
	require.NoError(t, old.Cancel(ctx, eureka.NewKey("APP-4", "i-4")))
	changed, cancelled := 0, 0
	require.Eventually(t, func() bool {
		report, err = importer.Pass(ctx)
		require.NoError(t, err)
		changed, cancelled = changed+report.Changed, cancelled+report.Cancelled
		return changed > 0 && cancelled > 0
	}, patience, time.Second)
	equal(t, old, own, 999)
	after := updated(t, own)
	delete(versions, key)
	for k, at := range after {
		if k != key {
			assert.Equal(t, versions[k], at, "%s was changed again", k)
		}
	}
}

// updated returns when the registry says that its instances changed last.
func updated(t *testing.T, p *migration.Peer) map[eureka.Key]time.Time {
	t.Helper()
	all, err := migration.List(t.Context(), p)
	require.NoError(t, err)
	out := map[eureka.Key]time.Time{}
	for key, i := range all {
		out[key] = i.LastUpdated
	}
	return out
}
