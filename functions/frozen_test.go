//go:build unix

package functions_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/fulltest"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/local/eventsource"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// Views turn over with the wall clock, so freezing takes its time: a reader is
// frozen for longer than the interval of its view and the shorter retention of
// deltas, and thawed when a boundary lies behind the last delta.
const (
	interval       = time.Second
	shortRetention = 2 * interval
	frozenFor      = 2500 * time.Millisecond
	boundaryIn     = interval + interval/5 + 100*time.Millisecond
)

// TestFrozenReader: the first answer of a read function that was frozen is what
// the table held at the last boundary, whether the deltas reach back to its view
// or no longer do; connections that died meanwhile are no error to anybody.
func TestFrozenReader(t *testing.T) {
	fulltest.Only(t, "it builds a function")
	binary, endpoint := build(t, "read"), enginetest.Kumo(t).Endpoint
	for _, tt := range []struct {
		name      string
		retention time.Duration
		// losing says that no delta tells of the changes, which only a load
		// anew then finds.
		losing bool
	}{
		{"for longer than the interval", time.Minute, false},
		{"for longer than deltas are kept", shortRetention, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newFrozenRegistry(t, endpoint, tt.retention, tt.losing)
			c := launch(t, binary, r.env)
			require.Equal(t, r.scan(), listed(t, c.invoke(list)))

			require.NoError(t, c.cmd.Process.Signal(syscall.SIGSTOP))
			thaw := time.After(frozenFor)
			r.do("POST", "/eureka/apps/APP-9", fmt.Sprintf(registration, 9, 9))
			r.do("PUT", "/eureka/apps/APP-0/app-0-1/status?value=OUT_OF_SERVICE", "")
			r.do("DELETE", "/eureka/apps/APP-0/app-0-2", "")
			if !tt.losing {
				r.awaitDeltas("app-9-9", "app-0-1", "app-0-2")
				<-time.After(boundaryIn)
			}
			<-thaw
			r.proxy.reset()
			require.NoError(t, c.cmd.Process.Signal(syscall.SIGCONT))
			first := c.invoke(list)

			want := r.scan()
			require.Equal(t, "OUT_OF_SERVICE", want["app-0-1"])
			require.Equal(t, "UP", want["app-9-9"])
			require.NotContains(t, want, "app-0-2")
			assert.Equal(t, want, listed(t, first))
			assert.NotContains(t, first.body, "Registry-Age", "it is no stale view")
			assert.NotContains(t, c.out.String(), "view not refreshed")
		})
	}
}

// TestFrozenWriter: the first heartbeat after a thaw is renewed, also when the
// connection that it takes has died without a word, which costs one try's
// timeout.
func TestFrozenWriter(t *testing.T) {
	fulltest.Only(t, "it builds a function")
	binary, endpoint := build(t, "write"), enginetest.Kumo(t).Endpoint
	heartbeat := event("PUT", "/eureka/apps/APP-0/app-0-1", "")
	for _, tt := range []struct {
		name   string
		die    func(*proxy)
		atMost time.Duration
	}{
		{"connections were reset", (*proxy).reset, 3 * time.Second},
		{"connections are silent", (*proxy).silence, 6 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newFrozenRegistry(t, endpoint, time.Minute, false)
			c := launch(t, binary, r.env)
			require.Contains(t, c.invoke(heartbeat).body, `"statusCode":200`)
			before := r.proxy.accepted()

			require.NoError(t, c.cmd.Process.Signal(syscall.SIGSTOP))
			tt.die(r.proxy)
			require.NoError(t, c.cmd.Process.Signal(syscall.SIGCONT))
			thawed := time.Now()
			got := c.invoke(heartbeat)

			assert.Contains(t, got.body, `"statusCode":200`)
			assert.Less(t, got.at.Sub(thawed), tt.atMost)
			assert.Equal(t, before+1, r.proxy.accepted(), "it tries once more, on a new connection")
		})
	}
}

// frozenRegistry is what a frozen container finds changed: a registry in tables
// of its own, which the container reaches through a proxy.
type frozenRegistry struct {
	t     *testing.T
	parts *boot.Parts
	write *handlers.HTTP
	proxy *proxy
	// env is the container's.
	env map[string]string
}

// newFrozenRegistry returns a registry with ten instances. A losing one brings
// no change to the deltas.
func newFrozenRegistry(t *testing.T, endpoint string, retention time.Duration, losing bool) *frozenRegistry {
	t.Helper()
	name := strings.ToLower(rand.Text())
	r := &frozenRegistry{t: t, proxy: newProxy(t, strings.TrimPrefix(endpoint, "http://"))}
	r.env = map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "REGISTRY_ANONYMOUS": "true",
		"REGISTRY_CACHE_REFRESH": setting(interval), "REGISTRY_DELTA_RETENTION": setting(retention),
		"REGISTRY_LEASE_TABLE": "leases-" + name, "REGISTRY_DELTA_TABLE": "deltas-" + name,
	}
	r.parts = fill(t, r.env, 10)
	r.write = r.parts.Write()
	if !losing {
		r.pump(endpoint)
	}
	r.env["AWS_ENDPOINT_URL_DYNAMODB"] = "http://" + r.proxy.listener.Addr().String()
	return r
}

// pump brings changes to the deltas until the test ends.
func (r *frozenRegistry) pump(endpoint string) {
	r.t.Helper()
	sdk := boot.LambdaConfig(func(name string) (string, bool) { value, ok := r.env[name]; return value, ok })
	p, err := eventsource.New(eventsource.Config{
		Table:   r.parts.Config.LeaseTable,
		Tables:  dynamodb.ClientFrom(sdk, dynamodb.ClientConfig{Endpoint: endpoint}),
		Streams: dynamodbstreams.NewFromConfig(sdk, func(o *dynamodbstreams.Options) { o.BaseEndpoint = &endpoint }),
		Handler: r.parts.Stream().Handle, Filters: []string{dynamodb.FilterChange, dynamodb.FilterRemoval},
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	r.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// do makes a change by another container's handler.
func (r *frozenRegistry) do(method, pathAndQuery, body string) {
	r.t.Helper()
	path, query, _ := strings.Cut(pathAndQuery, "?")
	payload := strings.Replace(event(method, path, body), `"version"`, fmt.Sprintf(`"rawQueryString": %q, "version"`, query), 1)
	answer, err := r.write.Invoke(r.t.Context(), []byte(payload))
	require.NoError(r.t, err)
	require.Contains(r.t, string(answer), `"statusCode":20`)
}

// awaitDeltas waits for the rows of instances.
func (r *frozenRegistry) awaitDeltas(ids ...string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		rows, err := r.parts.Tables.Deltas(r.t.Context(), time.Now().Add(-frozenFor), time.Now())
		return err == nil && !slices.ContainsFunc(ids, func(id string) bool {
			return !slices.ContainsFunc(rows, func(row delta.Row) bool { return row.Key.ID == id })
		})
	}, 20*time.Second, 20*time.Millisecond)
}

// scan returns the status of each instance in the lease table.
func (r *frozenRegistry) scan() map[string]string {
	r.t.Helper()
	leases, err := r.parts.Tables.Scan(r.t.Context())
	require.NoError(r.t, err)
	found := map[string]string{}
	for _, l := range leases {
		if !l.Tombstone() {
			found[l.Key.ID] = string(l.Status)
		}
	}
	return found
}

// list asks for all applications.
var list = strings.Replace(event("GET", "/eureka/apps", ""), "gzip", "identity", 1)

// listed returns the status of each instance in an answer to list.
func listed(t *testing.T, a answer) map[string]string {
	t.Helper()
	var reply struct {
		StatusCode int
		Body       string
	}
	require.NoError(t, json.Unmarshal([]byte(a.body), &reply))
	require.Equal(t, 200, reply.StatusCode, a.body)
	var document struct {
		Applications struct {
			Application []struct {
				Instance []struct{ InstanceID, Status string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(reply.Body), &document), reply.Body)
	found := map[string]string{}
	for _, app := range document.Applications.Application {
		for _, i := range app.Instance {
			found[i.InstanceID] = i.Status
		}
	}
	return found
}

// setting is a duration as settings have it: one number and one unit.
func setting(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
