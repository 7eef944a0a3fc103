package boot_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/dashboard"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/memory"
)

// oddPaths are paths that gateways, servers and handlers have been known to
// understand differently.
var oddPaths = []string{
	// Dots.
	"/health/../eureka/apps/BILLING/b-1", "/eureka/apps/SHOP/../BILLING/b-1", "/eureka/apps/SHOP/../../apps/BILLING/b-1",
	"/eureka/apps/SHOP/%2e%2e/BILLING/b-1", "/eureka/apps/SHOP/%2e%2e%2fBILLING%2fb-1", "/eureka/apps/SHOP/..%2FBILLING/b-1",
	"/eureka/apps/SHOP%2F..%2FBILLING/b-1", "/eureka/apps/./BILLING/b-1", "/eureka/./apps/BILLING/b-1", "/./eureka/apps/BILLING/b-1",
	"/eureka/apps/SHOP/%252e%252e/BILLING/b-1", "/eureka/apps/SHOP/..;/BILLING/b-1", "/health/..%2feureka%2fapps", "/health%2f..%2feureka/apps",
	// Nothing and what ends texts elsewhere.
	"/eureka/apps/BILLING%00/b-1", "/eureka/apps/SHOP%00BILLING/b-1", "/eureka/apps/BILLING/b-1%00", "/health%00", "/health%00/eureka/apps", "/%00/eureka/apps",
	"/eureka/apps/SHOP%0d%0aBILLING/b-1", "/eureka/apps/BILLING%20/b-1", "/eureka/apps/%20BILLING/b-1", "/eureka/apps/BILLING%09/b-1",
	// Overlong and other forms of slashes and dots.
	"/eureka/apps/SHOP%c0%afBILLING/b-1", "/eureka/apps/SHOP/%c0%ae%c0%ae/BILLING/b-1", "/eureka/apps/SHOP/%e0%80%af/BILLING/b-1", "/health%c0%af..%c0%afeureka/apps",
	"/eureka/apps/SHOP%5c..%5cBILLING/b-1", `/eureka/apps/SHOP%ef%bc%8fBILLING/b-1`, "/eureka/apps/%ef%bc%a2ILLING/b-1", "/eureka/apps/SHOP/%u002e%u002e/BILLING",
	// Parameters of path parts.
	"/eureka/apps/SHOP;x=/BILLING/b-1", "/eureka/apps/BILLING;x=SHOP/b-1", "/eureka;x/apps/BILLING/b-1", "/eureka/apps;x/BILLING/b-1", "/health;/../eureka/apps", "/eureka/apps/;/BILLING/b-1",
	// Slashes.
	"//eureka/apps/BILLING/b-1", "/eureka//apps//BILLING//b-1", "/eureka/apps/BILLING/b-1//", "///eureka///apps///BILLING///b-1///status//", "/eureka/apps//BILLING/b-1/status", "//health//eureka/apps",
	"/eureka%2fapps%2fBILLING%2fb-1", "/eureka/apps%2fBILLING/b-1", "/eureka/apps/%2fBILLING/b-1", "/eureka/apps/%2f%2fBILLING/b-1", "/%2feureka/apps/BILLING/b-1",
	// Cases and look-alikes.
	"/EUREKA/apps/BILLING/b-1", "/Eureka/Apps/BILLING/b-1", "/eureka/APPS/BILLING/b-1", "/eureka/V2/apps/BILLING/b-1", "/eureka/apps/billing/b-1", "/eureka/apps/bIlLiNg/b-1",
	"/eureka/apps/b%C4%B1lling/b-1", "/eureka/apps/%C5%BFHOP/b-1", "/HEALTH", "/Health/", "/eureka/health/", "/eureka/v2/health/",
	// Prefixes more than once, and names of the API as names of applications.
	"/eureka/eureka/apps/BILLING/b-1", "/eureka/v2/eureka/apps/BILLING/b-1", "/prod/eureka/apps/BILLING/b-1", "/eureka/v2/v2/apps/BILLING/b-1", "/health/eureka/apps/BILLING/b-1",
	"/eureka/apps/health", "/eureka/apps/delta/b-1", "/eureka/apps/BILLING/b-1/status/", "/eureka/apps/BILLING/b-1/metadata", "/eureka/apps/SHOP/b-1/status/status", "/eureka/apps/BILLING/status", "/eureka/apps/BILLING/metadata/status",
	// Queries and fragments that are none.
	"/health%3f/eureka/apps", "/eureka/apps/SHOP%3f/../BILLING/b-1", "/eureka/apps/SHOP%23/BILLING/b-1", "/health%23/../eureka/apps", "/eureka/apps/BILLING%3fSHOP/b-1",
	// Others.
	"/eureka/peerreplication/batch/", "/eureka/peerreplication//batch", "/eureka/peerreplication/./batch", "/eureka/peerreplication/batch%2f", "/eureka/peerreplication/batch;x", "/eureka/PeerReplication/batch",
	"/action", "/action/", "/eureka//action", "/eureka/v2/action", "/ACTION", "/action;x", "/./action", "/health/../action", "/action%00", "/eureka/action%2f", "/eureka/apps/../action",
	"/", "/eureka", "/eureka/", "/eureka/v2", "/eureka/lastn/", "/status/", "/%", "/eureka/apps/%", "/eureka/apps/%zz/b-1", "/eureka/apps/BILLING/%GG",
}

// world is a registry with an instance of two teams, and what is stored of it.
type world struct {
	store *memory.Store
	clock *clock
	ways  map[string]entrance
	api   http.Handler
}

func newWorld(t testing.TB) *world {
	t.Helper()
	p, store, c := closedParts(t)
	w := &world{store, c, entrances(t, p), p.API()}
	for _, key := range [][2]string{{"BILLING", "b-1"}, {"SHOP", "shop-1"}} {
		got, _ := w.ways["local"](t, call{method: "POST", path: "/eureka/apps/" + key[0], body: registrationOf(key[0], key[1]), headers: map[string]string{
			"Content-Type": "application/json", "Authorization": basic("operator", passwordOf("operator")),
		}})
		require.Equal(t, http.StatusNoContent, got.status)
	}
	return w
}

// foreign returns the leases that the team shop has no business with.
func foreign(all []eureka.Lease) []eureka.Lease {
	var out []eureka.Lease
	for _, l := range all {
		if l.Key.App != "SHOP" && !strings.HasPrefix(l.Key.App, "SHOP-") {
			out = append(out, l)
		}
	}
	return out
}

// assertContained sends a request as a stranger, a reader and a team, and
// asserts that no more comes of it than the matrix says, whatever the path is
// taken for: a stranger learns nothing but health, a reader changes nothing,
// a team nothing of another team.
func (w *world) assertContained(t testing.TB, enter entrance, c call) {
	t.Helper()
	for _, user := range []string{"", "reader", "shop"} {
		if delete(c.headers, "Authorization"); user != "" {
			c.headers["Authorization"] = basic(user, passwordOf(user))
		}
		w.clock.now = w.clock.now.Add(time.Second)
		before := leases(t, w.store)
		got, ok := enter(t, c)
		after := leases(t, w.store)
		if !ok {
			continue
		}
		assert.Less(t, got.status, 500, "%s %s: %s", c.method, c.path, got.body)
		switch user {
		case "":
			if c.method == http.MethodHead && got.status == http.StatusOK {
				c.method = http.MethodGet // shows what HEAD was about
				got, _ = enter(t, c)
				c.method = http.MethodHead
			}
			if got.status == http.StatusOK {
				assert.JSONEq(t, `{"status": "UP"}`, got.body, "%s %s", c.method, c.path)
			} else {
				assert.Contains(t, []int{400, 401}, got.status, "%s %s: %s", c.method, c.path, got.body)
			}
			assert.NotContains(t, got.body, "example.org")
			assert.Equal(t, before, after, "%s %s", c.method, c.path)
		case "reader":
			assert.Equal(t, before, after, "%s %s", c.method, c.path)
		case "shop":
			assert.Equal(t, foreign(before), foreign(after), "%s %s", c.method, c.path)
		}
	}
}

var smugglingMethods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}

// request returns a request that would change something if it could.
func smuggled(method, path string) call {
	c := call{method: method, path: path, headers: map[string]string{"Content-Type": "application/json", "Accept": "application/json"}}
	switch {
	case method == http.MethodPost && strings.Contains(strings.ToLower(path), "batch"):
		c.body = `{"replicationList": [{"appName": "BILLING", "id": "b-1", "action": "Cancel"}]}`
	case method == http.MethodPost && strings.Contains(strings.ToLower(path), "action"):
		c.headers["Content-Type"], c.headers["Sec-Fetch-Site"] = "application/x-www-form-urlencoded", "same-origin"
		c.body = url.Values{"do": {dashboard.TakeOut}, "app": {"BILLING"}, "id": {"b-1"}}.Encode()
	case method == http.MethodPost:
		c.body = registrationOf("BILLING", "b-1")
	default:
		c.query = "?value=DOWN"
	}
	return c
}

// TestSmugglingByPaths: through every gateway.
func TestSmugglingByPaths(t *testing.T) {
	w := newWorld(t)
	for form, enter := range w.ways {
		for _, path := range oddPaths {
			t.Run(form+" "+path, func(t *testing.T) {
				for _, method := range smugglingMethods {
					w.assertContained(t, enter, smuggled(method, path))
				}
			})
		}
	}
}

// TestTheSmugglersCanBeSeen: the assertions above fail when a path does reach
// what it must not, and a team can do what is its own.
func TestTheSmugglersCanBeSeen(t *testing.T) {
	w := newWorld(t)
	before := leases(t, w.store)
	c := smuggled("PUT", "/eureka/apps/BILLING/b-1/status")
	c.headers["Authorization"] = basic("billing", passwordOf("billing"))
	got, _ := w.ways["rest"](t, c)
	assert.Equal(t, http.StatusOK, got.status)
	assert.NotEqual(t, foreign(before), foreign(leases(t, w.store)))

	before = leases(t, w.store)
	c = smuggled("PUT", "/eureka//apps/SHOP/shop-1/status/")
	c.headers["Authorization"] = basic("shop", passwordOf("shop"))
	got, _ = w.ways["http"](t, c)
	assert.Equal(t, http.StatusOK, got.status)
	assert.NotEqual(t, before, leases(t, w.store))
}

// TestSmugglingByRequestLines: what only a request line can say, through a
// server of net/http.
func TestSmugglingByRequestLines(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.api)
	defer server.Close()
	lines := []string{
		"GET http://registry.example.org/eureka/apps HTTP/1.1", "GET http://evil.example.org/eureka/apps HTTP/1.1",
		"GET http://user:password@registry.example.org/eureka/apps HTTP/1.1", "GET eureka:/eureka/apps HTTP/1.1",
		"GET //registry.example.org/eureka/apps HTTP/1.1", "GET http:///eureka/apps HTTP/1.1", "GET http:eureka/apps HTTP/1.1",
		"OPTIONS * HTTP/1.1", "GET * HTTP/1.1", "GET eureka/apps HTTP/1.1", "GET /eureka/apps HTTP/1.0", "GET /eureka/apps", "CONNECT /eureka/apps HTTP/1.1",
		"CONNECT registry.example.org:443 HTTP/1.1", "get /eureka/apps HTTP/1.1", "GET\t/eureka/apps\tHTTP/1.1", "GET  /eureka/apps HTTP/1.1",
		"DELETE http://registry.example.org/eureka/apps/BILLING/b-1 HTTP/1.1", "DELETE /eureka/apps/BILLING/b-1#/health HTTP/1.1",
		"GET /health HTTP/1.1\r\nX-Original-URL: /eureka/apps", "GET /health HTTP/1.1\r\nX-Rewrite-URL: /eureka/apps", "GET /health HTTP/1.1\r\nX-HTTP-Method-Override: DELETE",
		"POST /health HTTP/1.1\r\nX-HTTP-Method-Override: GET", "GET /health HTTP/1.1\r\nX-Forwarded-Prefix: /eureka/apps",
	}
	before := leases(t, w.store)
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			status, body := sendLine(t, server.Listener.Addr().String(), line)
			assert.Contains(t, []int{0, 200, 400, 401, 501, 505}, status)
			if status == http.StatusOK && line != "OPTIONS * HTTP/1.1" { // net/http's own answer, of nothing
				assert.Contains(t, line, "GET /health ")
			}
			assert.NotContains(t, body, "example.org")
			assert.Equal(t, before, leases(t, w.store))
		})
	}
}

// sendLine sends a request that begins with a line; status 0 is no answer.
func sendLine(t *testing.T, address, line string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "%s\r\nHost: registry.example.org\r\nConnection: close\r\n\r\n", line)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(data)
}

// FuzzSmuggling looks for further paths.
func FuzzSmuggling(f *testing.F) {
	for i, path := range oddPaths {
		f.Add(uint8(i), uint8(i), path)
	}
	w := newWorld(f)
	forms := []string{"local", "rest", "http", "url", "local_rest", "local_http", "streaming url"}
	f.Fuzz(func(t *testing.T, form, method uint8, path string) {
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		if _, err := url.PathUnescape(path); err != nil || strings.ContainsAny(path, "?#") {
			return // no path that reaches a server
		}
		w.assertContained(t, w.ways[forms[int(form)%len(forms)]], smuggled(smugglingMethods[int(method)%len(smugglingMethods)], path))
	})
}
