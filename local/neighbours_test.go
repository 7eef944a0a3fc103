package main

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestThousandsOfSilentConnectionsKeepNobodyOut: whoever opens connections and
// says nothing, or sends a body a byte at a time, costs memory and no more.
func TestThousandsOfSilentConnectionsKeepNobodyOut(t *testing.T) {
	const silent, slow = 10000, 100
	r := startRegistry(t)
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
}
