package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
)

// TestThousandsOfSilentConnectionsKeepNobodyOut: whoever opens connections and
// says nothing, or sends a body a byte at a time, costs memory and no more.
func TestThousandsOfSilentConnectionsKeepNobodyOut(t *testing.T) {
	fulltest.Only(t, "10,000 connections")
	const silent, slow = 10000, 100
	r := startRegistry(t)
	before := r.resident(t)
	body := instance("SHOP", "shop-1", 90)
	for range slow {
		r.begin(t, body)
	}
	for range silent {
		conn, err := net.Dial("tcp", r.address)
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
	}

	start := time.Now()
	r.register(t, "SHOP", "shop-2", 90)
	status, _, err := ask(t.Context(), http.MethodGet, r.url("/eureka/apps"), "")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	assert.Less(t, time.Since(start), 5*time.Second)
	t.Logf("memory %d MiB, then %d MiB", before, r.resident(t))
	assert.Less(t, r.resident(t), before+bearable(200))
}

// hostile returns what bad neighbours send, each with a name.
func hostile() map[string]neighbour {
	metadata := strings.Builder{}
	for n := range 10_000 {
		fmt.Fprintf(&metadata, `"key-%d": "value-%d",`, n, n)
	}
	good := instance("SHOP", "shop-1", 90)
	bomb := `<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">`
	for n := range 9 {
		bomb += fmt.Sprintf(`<!ENTITY a%d "%s">`, n, strings.Repeat(fmt.Sprintf("&a%d;", n-1), 10))
	}
	bomb = strings.ReplaceAll(bomb, "&a-1;", "&a;") + `]><instance><hostName>&a8;</hostName></instance>`
	const json, xml = "application/json", "application/xml"
	return map[string]neighbour{
		"10 MB of text":           {json, strings.Replace(good, "192.0.2.10", strings.Repeat("x", 10<<20), 1)},
		"10 MB of nothing":        {json, strings.Repeat(" ", 10<<20)},
		"10,000 metadata entries": {json, strings.Replace(good, `"status"`, `"metadata": {`+metadata.String()+`"last": ""}, "status"`, 1)},
		"a long id":               {json, instance("SHOP", strings.Repeat("x", 1025), 90)},
		"deep JSON":               {json, `{"instance":` + strings.Repeat("[", 500_000)},
		"deep XML":                {xml, "<instance>" + strings.Repeat("<a>", 300_000)},
		"an XML bomb":             {xml, bomb},
	}
}

// neighbour is a body and its type.
type neighbour struct{ kind, body string }

// TestBadNeighbours: whatever they send is refused by a 4xx, costs bounded
// memory, and everyone else is served meanwhile.
func TestBadNeighbours(t *testing.T) {
	const each, duration = 3, 5 * time.Second
	r := startRegistry(t, "REGISTRY_LOG_LEVEL=error", "REGISTRY_CACHE_REFRESH=0s")
	r.register(t, "SHOP", "shop-1", 3600)
	before := r.resident(t)
	end := time.Now().Add(duration)
	var group sync.WaitGroup
	var refused atomic.Int64
	for name, n := range hostile() {
		for range each {
			group.Go(func() {
				for time.Now().Before(end) {
					resp, err := http.Post(r.url("/eureka/apps/SHOP"), n.kind, strings.NewReader(n.body))
					if err != nil {
						continue // cut off before all of it was sent
					}
					resp.Body.Close()
					assert.True(t, resp.StatusCode >= 400 && resp.StatusCode < 500, "%s: %s", name, resp.Status)
					refused.Add(1)
				}
			})
		}
	}
	served, longest, most := 0, time.Duration(0), 0
	for time.Now().Before(end) {
		got := r.do(t, http.MethodPut, shopHeartbeat)
		assert.Equal(t, http.StatusOK, got.status)
		served++
		longest = max(longest, got.took)
		most = max(most, r.resident(t))
	}
	group.Wait()
	t.Logf("%d refused, %d heartbeats served, the longest in %s; memory %d MiB, at most %d MiB", refused.Load(), served, longest, before, most)
	assert.Positive(t, refused.Load())
	assert.Less(t, longest, 5*time.Second)
	assert.Less(t, most, before+bearable(200))
	assert.Len(t, listed(t, r), 1, "nothing of theirs is stored")
}

// listed returns what the registry lists.
func listed(t *testing.T, r *registry) []seen {
	t.Helper()
	var list []seen
	for _, a := range r.get(t, "/eureka/apps").all.Applications.Application {
		list = append(list, a.Instance...)
	}
	return list
}
