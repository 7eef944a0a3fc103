package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHealthCommand: its exit code is what a container's health check looks at,
// and its reason is for the person who looks into the container's log.
func TestHealthCommand(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/health", r.URL.Path)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(strings.Repeat("no view\x1b[2J ", 100)))
	}))
	defer server.Close()
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	for _, address := range []string{"127.0.0.1:" + port, "0.0.0.0:" + port, "[::]:" + port, ":" + port, "localhost:" + port} {
		code, out, errOut := execute(t, map[string]string{"REGISTRY_LISTEN": address, "REGISTRY_ANONYMOUS": "true", "HTTP_PROXY": "http://127.0.0.1:1"}, "health")
		assert.Zero(t, code, "%s: %s", address, errOut)
		assert.Empty(t, out)
	}
	status = http.StatusServiceUnavailable
	code, _, errOut := execute(t, map[string]string{"REGISTRY_LISTEN": "127.0.0.1:" + port}, "health")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "503 Service Unavailable: no view")
	assert.NotContains(t, errOut, "\x1b")
	assert.Less(t, len(errOut), 400)

	server.Close()
	code, _, errOut = execute(t, map[string]string{"REGISTRY_LISTEN": "127.0.0.1:" + port}, "health")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "connection refused")
}
