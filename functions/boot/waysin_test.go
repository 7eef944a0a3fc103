package boot_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/functions/boot"
)

// encodings are ids and values of a query with how a client may encode them.
var encodings = []struct{ sent, means string }{
	{"plain", "plain"},
	{"a%2Fb", "a/b"},
	{"a%3Fb", "a?b"},
	{"50%25", "50%"},
	{"50%2525", "50%25"},
	{"%252F", "%2F"},
	{"a%2Bb", "a+b"},
	{"a%20b", "a b"},
	{"a%23b", "a#b"},
	{"a%26b%3Dc", "a&b=c"},
	{"host:shop:8080", "host:shop:8080"},
	{"host%3Ashop%3A8080", "host:shop:8080"},
	{"Z%C3%BCrich%E6%9D%B1", "Zürich東"},
}

// cutsPaths reports whether a way in cuts a path at an encoded question mark.
func cutsPaths(form string) bool { return form == "http" }

// TestOneInstanceThroughEveryWayIn: an id in the path and a value in the query
// mean the same through every way in, for each operation.
func TestOneInstanceThroughEveryWayIn(t *testing.T) {
	cfg, err := boot.Load(lookup(map[string]string{"REGISTRY_CACHE_REFRESH": "0s"}), boot.Local)
	require.NoError(t, err)
	p, _, _ := partsOf(t, cfg)
	ways := entrances(t, p)
	local := ways["local"]
	headers := map[string]string{"Content-Type": "application/json", "Accept": "application/json"}
	for form, enter := range ways {
		for _, tt := range encodings {
			t.Run(form+" "+tt.sent, func(t *testing.T) {
				if cutsPaths(form) && strings.Contains(tt.means, "?") {
					t.Skip("an HTTP API cuts a path there: infra/README.md says so")
				}
				ask := func(enter entrance, want int, method, path, query, body string) reply {
					t.Helper()
					got, ok := enter(t, call{method: method, path: path, query: query, body: body, headers: headers})
					require.True(t, ok)
					require.Equal(t, want, got.status, "%s %s%s: %s", method, path, query, got.body)
					return got
				}
				one := "/eureka/apps/SHOP/" + tt.sent
				ask(enter, 204, "POST", "/eureka/apps/SHOP", "", registrationOf("SHOP", tt.means))
				ask(enter, 200, "PUT", one, "", "")
				ask(enter, 200, "PUT", one+"/status", "?value=OUT_OF_SERVICE", "")
				ask(enter, 200, "PUT", one+"/metadata", "?note="+tt.sent+"&"+tt.sent+"=name", "")
				for name, reader := range map[string]entrance{"the same way in": enter, "the process": local} {
					var document struct {
						Instance struct {
							InstanceID, Status string
							Metadata           map[string]string
						}
					}
					path := one
					if name == "the process" { // one spelling of the id, the strictest
						path = "/eureka/apps/SHOP/" + url.PathEscape(tt.means)
					}
					require.NoError(t, json.Unmarshal([]byte(ask(reader, 200, "GET", path, "", "").body), &document))
					assert.Equal(t, tt.means, document.Instance.InstanceID, name)
					assert.Equal(t, "OUT_OF_SERVICE", document.Instance.Status, name)
					assert.Equal(t, map[string]string{"note": tt.means, tt.means: "name"}, document.Instance.Metadata, name)
				}
				ask(enter, 200, "GET", "/eureka/instances/"+tt.sent, "", "")
				ask(enter, 200, "DELETE", one+"/status", "?value=UP", "")
				ask(enter, 200, "DELETE", one, "", "")
				ask(local, 404, "GET", "/eureka/apps/SHOP/"+url.PathEscape(tt.means), "", "")
			})
		}
	}
}

// TestPlusInAQueryIsASpace: as in every form, while one in a path stays a plus.
func TestPlusInAQueryIsASpace(t *testing.T) {
	p, _, _ := parts(t, boot.Local, map[string]string{"REGISTRY_CACHE_REFRESH": "0s"})
	headers := map[string]string{"Content-Type": "application/json", "Accept": "application/json"}
	for form, enter := range entrances(t, p) {
		for _, c := range []call{
			{method: "POST", path: "/eureka/apps/SHOP", body: registrationOf("SHOP", "a+b")},
			{method: "PUT", path: "/eureka/apps/SHOP/a+b/metadata", query: "?note=c+d"},
			{method: "GET", path: "/eureka/apps/SHOP/a%2Bb"},
		} {
			c.headers = headers
			got, ok := enter(t, c)
			require.True(t, ok)
			require.Less(t, got.status, 300, "%s %s: %s", form, c.path, got.body)
			if c.method == "GET" {
				assert.Contains(t, got.body, `"note":"c d"`, form)
			}
		}
	}
}

// TestEveryWayInAnswersHeadAndOptions: HEAD is GET without a body, and OPTIONS
// tells the same methods, on every path and through every way in.
func TestEveryWayInAnswersHeadAndOptions(t *testing.T) {
	p, _, _ := parts(t, boot.Local, map[string]string{"REGISTRY_CACHE_REFRESH": "0s"})
	ways := entrances(t, p)
	local := ways["local"]
	register := call{method: "POST", path: "/eureka/apps/SHOP", body: registrationOf("SHOP", "shop-1"), headers: map[string]string{"Content-Type": "application/json"}}
	got, _ := local(t, register)
	require.Equal(t, http.StatusNoContent, got.status)
	for form, enter := range ways {
		for _, route := range httpapi.Routes() {
			for _, way := range waysTo(route) {
				if way.method == http.MethodHead {
					continue
				}
				t.Run(form+" "+way.method+" "+way.prefix+route.Pattern, func(t *testing.T) {
					c := callOf(way.prefix, way.method, route)
					ask := func(enter entrance, method string) reply {
						t.Helper()
						got, ok := enter(t, call{method: method, path: c.path, headers: map[string]string{"Accept": "application/json"}})
						require.True(t, ok)
						return got
					}
					options := ask(enter, http.MethodOptions)
					assert.Equal(t, http.StatusOK, options.status)
					assert.NotEmpty(t, options.header.Get("Allow"))
					assert.Equal(t, ask(local, http.MethodOptions).header.Get("Allow"), options.header.Get("Allow"))
					if way.method != http.MethodGet {
						return
					}
					full, head := ask(enter, http.MethodGet), ask(enter, http.MethodHead)
					assert.Equal(t, http.StatusOK, full.status, full.body)
					assert.Equal(t, full.status, head.status)
					assert.Equal(t, full.header.Get("Content-Type"), head.header.Get("Content-Type"))
					if form != "local" { // where net/http's server drops it
						assert.Empty(t, head.body)
					}
				})
			}
		}
	}
}

// TestOnlyLoadBalancersPassOneMegabyte: a list between 1 MB and 6 MB is 406 with
// a text that says what to do behind a load balancer, for GET and HEAD, and
// passes every other way in. One application fits everywhere.
func TestOnlyLoadBalancersPassOneMegabyte(t *testing.T) {
	p, store, c := parts(t, boot.Local, nil)
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 3000 { // 4.5 MB as text, 1.2 MB in gzip and base64
		l := largeLease(n, rng)
		l.Dirty, l.Updated, l.Registered, l.Renewed = c.now, c.now, c.now, c.now
		require.NoError(t, store.Register(t.Context(), registry.Registration{Lease: l}))
	}
	for form, enter := range entrances(t, p) {
		for encoding, advice := range map[string]string{"identity": "send Accept-Encoding: gzip", "gzip": "X-Eureka-Accept: compact"} {
			want := http.StatusOK
			if strings.HasPrefix(form, "balancer") {
				want = http.StatusNotAcceptable
			}
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				headers := map[string]string{"Accept": "application/json", "Accept-Encoding": encoding}
				got, ok := enter(t, call{method: method, path: "/eureka/apps", headers: headers})
				require.True(t, ok)
				assert.Equal(t, want, got.status, "%s %s %s", form, method, encoding)
				if want == http.StatusNotAcceptable && method == http.MethodGet {
					assert.Less(t, len(got.body), 1000)
					assert.Contains(t, got.body, advice, form)
					assert.Contains(t, got.body, "1000000", form)
				}
			}
		}
		got, _ := enter(t, call{method: http.MethodGet, path: "/eureka/apps/SHOP-00", headers: map[string]string{"Accept": "application/json"}})
		assert.Equal(t, http.StatusOK, got.status, form)
	}
}
