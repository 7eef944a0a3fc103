package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOwnNames(t *testing.T) {
	const hostname = "Laptop.example.org"
	for _, host := range []string{
		"", "localhost", "localhost:8761", "LocalHost:8761", "localhost.", "localhost.:8761", "registry.localhost:8761",
		"127.0.0.1", "127.0.0.1:8761", "127.1.2.3:80", "[::1]:8761", "[::1]", "::1",
		"192.0.2.1:8761", "[2001:db8::1]:8761", "[fe80::1%25eth0]:8761", // by a proxy or tunnel: a page cannot move from an address
		"eureka", "eureka:8761", "eureka-peer1:8761", "eureka.local:8761", "eureka.test", "localhost.localdomain:8761",
		"host.docker.internal:8761", "host.containers.internal:8761", // what containers call the machine
		"laptop.example.org:8761", "laptop.EXAMPLE.org.",
	} {
		assert.True(t, ownName(host, hostname), host)
	}
	for _, host := range []string{
		"evil.example.org", "evil.example.org:8761", "evil.example.org.", "evil.example.org:", "laptop.example.org.evil.example.org",
		"127.0.0.1.example.org", "localhost.example.org", "local.example.org", "host.docker.internal.example.org", "notlocalhost.org",
		"evil.example.org:.local", "[evil.example.org]:8761", "evil.example.org:8761:80", "a.b", "a..", "example.org",
	} {
		assert.False(t, ownName(host, hostname), host)
	}
	assert.False(t, ownName("evil.example.org", ""), "a machine without a name")
}

// TestARebindingPageIsRefused, whose name leads here meanwhile, with a text that
// says what to do; unless there are credentials, or open access is asked for by
// hand.
func TestARebindingPageIsRefused(t *testing.T) {
	file := credentials(t, map[string]testUser{"team": {Role: "read", Passwords: []string{teamPassword}}})
	for settings, want := range map[string]int{
		"":                                  http.StatusMisdirectedRequest,
		"REGISTRY_ANONYMOUS=true":           http.StatusOK,
		"REGISTRY_CREDENTIALS_FILE=" + file: http.StatusUnauthorized,
	} {
		for _, events := range []string{"false", "true"} {
			r := startRegistry(t, settings, "REGISTRY_LOCAL_EVENTS="+events)
			for _, path := range []string{"/eureka/apps", "/"} {
				status, body := r.askAs(t, "registry.example.org:8761", path)
				assert.Equal(t, want, status, "%s events=%s %s", settings, events, path)
				if want == http.StatusMisdirectedRequest {
					assert.Contains(t, body, "REGISTRY_CREDENTIALS_FILE")
					assert.Contains(t, body, "REGISTRY_ANONYMOUS=true")
					r.await(t, func() bool { return strings.Contains(r.output.String(), "host=registry.example.org:8761") })
				}
			}
			if want == http.StatusMisdirectedRequest {
				hostname, err := os.Hostname()
				require.NoError(t, err)
				status, _ := r.askAs(t, hostname, "/")
				assert.Equal(t, http.StatusOK, status, "the machine's own name")
			}
		}
	}
}

// askAs reads under a host name.
func (r *registry) askAs(t *testing.T, host, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url(path), nil)
	require.NoError(t, err)
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}
