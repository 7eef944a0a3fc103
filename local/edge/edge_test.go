// Package edge holds how a cache before the registry is set up, and proves by
// a real one that the answers' headers are right for it.
package edge

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/fulltest"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/memory"
)

// envEdge is for how long the readers of [TestEdge] read, such as "30s", with
// views of the default interval; `make edge` sets it. Without it both are shorter.
const envEdge = "REGISTRY_TEST_EDGE"

const readers = 1000

// pace is the interval of the views, and how long the readers read.
type pace struct {
	refresh, length time.Duration
}

func newPace(t *testing.T) pace {
	t.Helper()
	text := os.Getenv(envEdge)
	if text == "" {
		return pace{refresh: 3 * time.Second, length: 9 * time.Second}
	}
	length, err := time.ParseDuration(text)
	require.NoError(t, err, envEdge)
	return pace{refresh: 30 * time.Second, length: length}
}

// representation is one way to ask for the list, and how its answer shows.
type representation struct {
	accept, encoding, compact, user string
}

// representations are all, for two users.
func representations() []representation {
	var out []representation
	for _, accept := range []string{"application/json", "application/xml"} {
		for _, encoding := range []string{"gzip", "identity"} {
			for _, compact := range []string{"", "compact"} {
				for _, user := range []string{"reader", "operator"} {
					out = append(out, representation{accept, encoding, compact, user})
				}
			}
		}
	}
	return out
}

func (r representation) request(t testing.TB, base string) *http.Request {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/eureka/apps", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", r.accept)
	req.Header.Set("Accept-Encoding", r.encoding)
	if r.compact != "" {
		req.Header.Set("X-Eureka-Accept", r.compact)
	}
	if r.user != "" {
		req.SetBasicAuth(r.user, "password of "+r.user)
	}
	return req
}

// origin is the registry behind the cache; it counts what it is asked.
type origin struct {
	registry http.Handler
	mu       sync.Mutex
	reads    map[representation]int
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if password != "password of "+user {
		user = "a stranger"
	}
	o.mu.Lock()
	o.reads[representation{r.Header.Get("Accept"), r.Header.Get("Accept-Encoding"), r.Header.Get("X-Eureka-Accept"), user}]++
	o.mu.Unlock()
	o.registry.ServeHTTP(w, r)
}

// newOrigin is a registry with credentials and one instance.
func newOrigin(t *testing.T, refresh time.Duration) *origin {
	t.Helper()
	cfg, err := boot.Load(func(name string) (string, bool) {
		value, ok := map[string]string{
			"REGISTRY_CREDENTIALS_FILE": "given", "REGISTRY_EDGE_CACHING": "true", "REGISTRY_CACHE_REFRESH": fmt.Sprintf("%dms", refresh.Milliseconds()),
		}[name]
		return value, ok
	}, boot.Local)
	require.NoError(t, err)
	store, log := memory.New(memory.Config{}), slog.New(slog.DiscardHandler)
	document := credentials(t)
	parts := &boot.Parts{
		Config: cfg, Tables: storage.Tables{LeaseTable: store, DeltaTable: store}, Log: log, Meter: handlers.Unmetered{}, Now: time.Now,
		Guard: access.New(access.Config{Source: func(context.Context) ([]byte, error) { return document, nil }, Logger: log}),
	}
	o := &origin{registry: parts.API(), reads: map[representation]int{}}
	register := httptest.NewRequest(http.MethodPost, "/eureka/apps/SHOP", strings.NewReader(`{"instance": {
		"instanceId": "shop-1", "hostName": "shop-1.example.org", "app": "SHOP", "ipAddr": "192.0.2.10", "status": "UP", "vipAddress": "shop",
		"homePageUrl": "http://shop-1.example.org/", "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`))
	register.Header.Set("Content-Type", "application/json")
	register.SetBasicAuth("operator", "password of operator")
	w := httptest.NewRecorder()
	o.registry.ServeHTTP(w, register)
	require.Equal(t, http.StatusNoContent, w.Code, w.Body)
	return o
}

func credentials(t *testing.T) []byte {
	t.Helper()
	users := map[string]any{}
	for name, role := range map[string]string{"reader": "read", "operator": "admin"} {
		hash, err := access.Hash("password of " + name)
		require.NoError(t, err)
		users[name] = map[string]any{"role": role, "passwords": []string{hash}}
	}
	document, err := json.Marshal(map[string]any{"users": users})
	require.NoError(t, err)
	return document
}

// TestEdge: behind a real cache readers of one representation cost the
// registry one read while a view lasts; nobody gets another's format; and
// nobody without credentials, or with wrong ones, gets anything.
func TestEdge(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some ten seconds")
	}
	nginx, pace := requireNginx(t), newPace(t)
	for name, key := range map[string]string{"by the key": wholeKey, "by Vary alone": "$request_uri"} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t, pace.refresh)
			server := httptest.NewServer(o)
			defer server.Close()
			base := startNginx(t, nginx, server.Listener.Addr().String(), key)

			boundaries := readAll(t, base, pace)

			o.mu.Lock()
			defer o.mu.Unlock()
			for _, r := range representations() {
				assert.NotZero(t, o.reads[r], "%v was read", r)
				// By Vary alone nginx tells representations apart, but lets
				// them push each other out.
				if key == wholeKey {
					assert.LessOrEqual(t, o.reads[r], boundaries, "%v: one read for each view", r)
				}
			}
			t.Logf("%d readers in %s, %d views, reads of the registry by representation: %v", readers, pace.length, boundaries, o.reads)
		})
	}
}

// wholeKey is the key in the configuration.
const wholeKey = `"$request_uri|$http_accept|$http_accept_encoding|$http_x_eureka_accept|$http_authorization"`

// readAll lets the readers read, spread over the time, every tenth of them a
// stranger, and returns how many views there may have been.
func readAll(t *testing.T, base string, pace pace) int {
	t.Helper()
	all := representations()
	strangers := []string{"", "Basic b3BlcmF0b3I6d3Jvbmc=", "Basic"}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
	start := time.Now()
	var group sync.WaitGroup
	for i := range readers {
		at := start.Add(pace.length * time.Duration(i) / readers)
		group.Go(func() {
			time.Sleep(time.Until(at)) // the cache's clock is a real one
			r := all[i%len(all)]
			req := r.request(t, base)
			if i%10 == 9 {
				req.Header.Del("Authorization")
				if s := strangers[i/10%len(strangers)]; s != "" {
					req.Header.Set("Authorization", s)
				}
				assertRefused(t, client, req)
				return
			}
			assertRight(t, client, req, r)
		})
	}
	group.Wait()
	return int(time.Since(start)/pace.refresh) + 2 // the one at the start and the one at the end are in part
}

func assertRefused(t *testing.T, client *http.Client, req *http.Request) {
	resp, err := client.Do(req)
	if !assert.NoError(t, err) {
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	assert.Contains(t, []int{http.StatusUnauthorized, http.StatusTooManyRequests}, resp.StatusCode)
	assert.NotContains(t, string(body), "shop-1")
}

// assertRight holds that an answer is of the representation that was asked for.
func assertRight(t *testing.T, client *http.Client, req *http.Request, r representation) {
	resp, err := client.Do(req)
	if !assert.NoError(t, err) {
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	assert.NoError(t, err)
	if !assert.Equal(t, http.StatusOK, resp.StatusCode, string(body)) {
		return
	}
	assert.Equal(t, r.accept, strings.Split(resp.Header.Get("Content-Type"), ";")[0])
	assert.Equal(t, r.encoding, cmp.Or(resp.Header.Get("Content-Encoding"), "identity"))
	if r.encoding == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if !assert.NoError(t, err) {
			return
		}
		body, err = io.ReadAll(z)
		assert.NoError(t, err)
	}
	assert.Equal(t, map[string]byte{"application/json": '{', "application/xml": '<'}[r.accept], body[0])
	assert.Contains(t, string(body), "SHOP")
	assert.Equal(t, r.compact == "", strings.Contains(string(body), "homePageUrl"), "the compact form has no pages' addresses")
}

// requireNginx finds nginx (Debian: apt-get install nginx-light).
func requireNginx(t *testing.T) string {
	t.Helper()
	return fulltest.Tool(t, "nginx", "/usr/sbin/nginx")
}

// startNginx runs the configuration beside this file before a registry and
// returns where it listens.
func startNginx(t *testing.T, nginx, registry, key string) string {
	t.Helper()
	conf, err := os.ReadFile("nginx.conf")
	require.NoError(t, err)
	address := freeAddress(t)
	text := string(conf)
	for from, to := range map[string]string{wholeKey: key, "127.0.0.1:8761": registry, "127.0.0.1:8080": address} {
		require.Contains(t, text, from)
		text = strings.ReplaceAll(text, from, to)
	}
	if os.Getuid() == 0 {
		text = "user root;\n" + text // the directory is this user's
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "nginx.conf")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var said bytes.Buffer
	cmd := exec.Command(nginx, "-p", dir, "-c", file)
	cmd.Stderr = &said
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 20*time.Second, 50*time.Millisecond, "nginx: %s", &said)
	return "http://" + address
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
