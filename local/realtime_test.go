package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// answer is a list answer as clients read it.
type answer struct {
	Applications struct {
		Hash        string `json:"apps__hashcode"`
		Application []struct {
			Name     string `json:"name"`
			Instance []seen `json:"instance"`
		} `json:"application"`
	} `json:"applications"`
}

type seen struct {
	ID     string `json:"instanceId"`
	Status string `json:"status"`
	Action string `json:"actionType"`
}

// hash is the code that the answer's own instances give.
func (a answer) hash() string {
	counts := map[string]int{}
	for _, app := range a.Applications.Application {
		for _, i := range app.Instance {
			counts[i.Status]++
		}
	}
	var out strings.Builder
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		out.WriteString(status + "_" + strconv.Itoa(counts[status]) + "_")
	}
	return out.String()
}

// find returns an instance of the answer.
func (a answer) find(id string) (seen, bool) {
	for _, app := range a.Applications.Application {
		for _, i := range app.Instance {
			if i.ID == id {
				return i, true
			}
		}
	}
	return seen{}, false
}

// reader reads the registry again and again and checks each reading.
type reader struct {
	t *testing.T
	r *registry
}

func (r reader) read(path string) answer {
	r.t.Helper()
	status, body, err := ask(r.t.Context(), http.MethodGet, r.r.url("/eureka/apps"+path), "")
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, status, string(body))
	var a answer
	require.NoError(r.t, json.Unmarshal(body, &a))
	return a
}

// both reads full and delta answers. A full answer's hash must be its body's,
// and a delta's that of the full answer just before or just after it, since
// the view may turn over in between.
func (r reader) both() (full, delta answer) {
	r.t.Helper()
	before, delta, full := r.read(""), r.read("/delta"), r.read("")
	assert.Equal(r.t, before.hash(), before.Applications.Hash)
	assert.Equal(r.t, full.hash(), full.Applications.Hash)
	assert.Contains(r.t, []string{before.hash(), full.hash()}, delta.Applications.Hash)
	return full, delta
}

// within reads until something is so and fails when that takes longer.
func (r reader) within(limit time.Duration, what string, so func(full, delta answer) bool) {
	r.t.Helper()
	start := time.Now()
	for !so(r.both()) {
		require.Less(r.t, time.Since(start), limit, what)
		<-time.After(20 * time.Millisecond)
	}
	r.t.Logf("%s after %s", what, time.Since(start).Round(time.Millisecond))
}

// TestRealTime waits for real: refresh and evictions every second.
func TestRealTime(t *testing.T) {
	fulltest.Only(t, "it waits for real time, 10 seconds each way")
	for _, way := range []string{"false", "true"} {
		t.Run("events="+way, func(t *testing.T) { realTimeOn(t, "REGISTRY_LOCAL_EVENTS="+way) })
	}
}

// TestRealTimeOnDynoxide does so on an engine that is more like DynamoDB.
func TestRealTimeOnDynoxide(t *testing.T) {
	realTimeOn(t, "AWS_ENDPOINT_URL_DYNAMODB="+enginetest.Dynoxide(t).Endpoint)
}

func realTimeOn(t *testing.T, setting string) {
	t.Helper()
	r := startRegistry(t, "REGISTRY_CACHE_REFRESH=1s", "REGISTRY_EVICTION_INTERVAL=1s", setting)
	testRealTime(t, r, reader{t, r})
}

func testRealTime(t *testing.T, r *registry, reads reader) {
	reads.both()
	r.register(t, "SHOP", "shop-1", 90)
	reads.within(2500*time.Millisecond, "a registration is read", func(full, delta answer) bool {
		a, inFull := full.find("shop-1")
		b, inDelta := delta.find("shop-1")
		return inFull && inDelta && a.Status == "UP" && b.Action == "ADDED"
	})

	status, _, err := ask(t.Context(), http.MethodPut, r.url("/eureka/apps/SHOP/shop-1/status?value=OUT_OF_SERVICE"), "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	reads.within(2500*time.Millisecond, "an override is read", func(full, delta answer) bool {
		a, _ := full.find("shop-1")
		b, _ := delta.find("shop-1")
		return a.Status == "OUT_OF_SERVICE" && b.Status == "OUT_OF_SERVICE" && b.Action == "MODIFIED"
	})

	r.register(t, "SHOP", "shop-2", 3)
	for range 4 {
		<-time.After(time.Second)
		status, _, err := ask(t.Context(), http.MethodPut, r.url("/eureka/apps/SHOP/shop-2?lastDirtyTimestamp=1700000000000"), "")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
	}
	// The last renewal is a moment ago.
	reads.within(5500*time.Millisecond, "a lease that is not renewed is gone", func(full, delta answer) bool {
		_, there := full.find("shop-2")
		b, _ := delta.find("shop-2")
		return !there && b.Action == "DELETED"
	})
	status, body, err := ask(t.Context(), http.MethodPut, r.url("/eureka/apps/SHOP/shop-2?lastDirtyTimestamp=1700000000000"), "")
	require.NoError(t, err)
	assert.Equal(t, http.StatusNotFound, status)
	assert.Empty(t, body)
}
