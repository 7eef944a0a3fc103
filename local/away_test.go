package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
)

// reply is an answer with what the tests of bad times look at.
type reply struct {
	status     int
	retryAfter string
	// age is what Registry-Age says; -1 where it is missing.
	age  int
	took time.Duration
	all  answer
}

// get asks for a list.
func (r *registry) get(t *testing.T, path string) reply { return r.do(t, http.MethodGet, path) }

func (r *registry) do(t *testing.T, method, path string) reply {
	t.Helper()
	start := time.Now()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url(path), nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	out := reply{status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After"), age: -1}
	if age := resp.Header.Get("Registry-Age"); age != "" {
		out.age, err = strconv.Atoi(age)
		require.NoError(t, err)
	}
	if resp.StatusCode == http.StatusOK && method == http.MethodGet {
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&out.all))
	}
	out.took = time.Since(start)
	return out
}

const shopHeartbeat = "/eureka/apps/SHOP/shop-1?lastDirtyTimestamp=1700000000000"

// startCold starts a registry that nobody has read a list from yet; /health
// would be a reading.
func startCold(t *testing.T, settings ...string) *registry {
	t.Helper()
	address := freeAddress(t)
	r := launch(t, nil, append(settings, "REGISTRY_LISTEN="+address)...)
	r.address = address
	r.await(t, func() bool { return strings.Contains(r.output.String(), "Ctrl-C") })
	return r
}

// TestEngineAway: without the database, writes are 503 with a time to try
// again, warm readers go on with the view that they have and say how old it is,
// cold ones are 503; and all is well by itself when it is back, what was
// acknowledged before included.
func TestEngineAway(t *testing.T) {
	fulltest.Only(t, "it takes 20 seconds")
	for name, mode := range map[string]int32{"unreachable": gateAway, "hangs": gateHangs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := newEngineGate(t)
			settings := gate.settings("REGISTRY_CACHE_REFRESH=1s", "REGISTRY_EVICTION_INTERVAL=5s")
			warm, cold := startRegistry(t, settings...), startCold(t, settings...)
			warm.register(t, "SHOP", "shop-1", 90)
			reader{t, warm}.within(10*time.Second, "a registration is read", func(full, _ answer) bool {
				_, there := full.find("shop-1")
				return there
			})

			gate.mode.Store(mode)
			write := warm.do(t, http.MethodPut, shopHeartbeat)
			assert.Equal(t, http.StatusServiceUnavailable, write.status)
			assert.NotEmpty(t, write.retryAfter)
			assert.Less(t, write.took, writeTime+5*time.Second)

			for _, path := range []string{"/eureka/apps", "/eureka/apps/delta"} {
				var stale reply
				warm.await(t, func() bool { // the view may have been made just before
					stale = warm.get(t, path)
					return stale.age > 0 || stale.status != http.StatusOK
				})
				assert.Equal(t, http.StatusOK, stale.status, path)
				assert.Less(t, stale.took, 10*time.Second, path)
			}
			_, there := warm.get(t, "/eureka/apps").all.find("shop-1")
			assert.True(t, there, "stale is better than empty")
			first := cold.get(t, "/eureka/apps")
			assert.Equal(t, http.StatusServiceUnavailable, first.status)
			assert.NotEmpty(t, first.retryAfter)
			assert.Less(t, first.took, readTime+5*time.Second)

			gate.mode.Store(gateOpen)
			back := time.Now()
			for _, r := range []*registry{warm, cold} {
				r.await(t, func() bool {
					got := r.get(t, "/eureka/apps")
					_, there := got.all.find("shop-1")
					return got.status == http.StatusOK && got.age < 0 && there
				})
			}
			assert.Equal(t, http.StatusOK, warm.do(t, http.MethodPut, shopHeartbeat).status)
			t.Logf("healed %s after the engine was back", time.Since(back).Round(time.Millisecond))
		})
	}
}
