package boot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/dashboard"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/storage/memory"
)

// document has a user of every kind; their passwords are passwordOf their names.
var document = sync.OnceValue(func() []byte {
	type user struct {
		Role         string   `json:"role"`
		Applications []string `json:"applications,omitempty"`
		Passwords    []string `json:"passwords"`
	}
	users := map[string]user{
		"reader":   {Role: "read"},
		"shop":     {Role: "register", Applications: []string{"SHOP", "SHOP-*"}},
		"billing":  {Role: "register", Applications: []string{"BILLING*"}},
		"services": {Role: "register"},
		"operator": {Role: "admin"},
	}
	for name, u := range users {
		hash, err := access.Hash(passwordOf(name))
		if err != nil {
			panic(err)
		}
		u.Passwords = []string{hash}
		users[name] = u
	}
	text, err := json.Marshal(map[string]any{"users": users})
	if err != nil {
		panic(err)
	}
	return text
})

func passwordOf(user string) string { return "password of " + user }

// closedParts are parts that ask for the document's credentials.
func closedParts(t testing.TB) (*boot.Parts, *memory.Store, *clock) {
	t.Helper()
	cfg, err := boot.Load(lookup(map[string]string{"REGISTRY_CREDENTIALS_FILE": "given", "REGISTRY_CACHE_REFRESH": "0s"}), boot.Local)
	require.NoError(t, err)
	p, store, c := partsOf(t, cfg)
	p.Guard = access.New(access.Config{
		Source: func(context.Context) ([]byte, error) { return document(), nil }, Logger: slog.New(slog.DiscardHandler),
	})
	return p, store, c
}

// A caller is somebody who sends requests.
type caller struct {
	name string
	// header is the value of Authorization; empty: none.
	header string
	// may is the greatest access that the caller has to SHOP.
	may access.Level
}

func callers() []caller {
	known := func(name string, may access.Level) caller { return caller{name, basic(name, passwordOf(name)), may} }
	return []caller{
		{"nobody", "", access.LevelNone},
		{"no credentials at all", "Basic", access.LevelNone},
		{"another scheme", "Bearer " + strings.TrimPrefix(basic("operator", passwordOf("operator")), "Basic "), access.LevelNone},
		{"unknown user", basic("root", passwordOf("operator")), access.LevelNone},
		{"wrong password", basic("operator", "password of nobody"), access.LevelNone},
		{"no password", basic("operator", ""), access.LevelNone},
		known("reader", access.LevelRead),
		known("billing", access.LevelRead),
		known("shop", access.LevelRegister),
		known("services", access.LevelRegister),
		known("operator", access.LevelAdmin),
	}
}

// registrationOf is a complete registration.
func registrationOf(app, id string) string {
	return fmt.Sprintf(`{"instance": {"instanceId": %q, "hostName": %q, "app": %q, "ipAddr": "192.0.2.10", "status": "UP",
		"vipAddress": "shop", "secureVipAddress": "shop",
		"dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`, id, id+".example.org", app)
}

// callOf returns a request of a route that goes well when SHOP/shop-1 is there.
func callOf(prefix string, method string, route httpapi.Route) call {
	c := call{
		method:  method,
		path:    prefix + strings.NewReplacer("{app}", "shop", "{id}", "shop-1", "{vip}", "shop", "{svip}", "shop").Replace(route.Pattern),
		headers: map[string]string{"Content-Type": "application/json", "Accept": "application/json"},
	}
	switch {
	case route.Pattern == "/apps/{app}" && method == http.MethodPost:
		c.body = registrationOf("SHOP", "shop-1")
	case strings.HasSuffix(route.Pattern, "/status") && route.Access == access.LevelRegister:
		c.query = "?value=UP"
	case strings.HasSuffix(route.Pattern, "/metadata"):
		c.query = "?a=b"
	case route.Pattern == "/peerreplication/batch":
		c.body = `{"replicationList": [{"appName": "SHOP", "id": "shop-1", "action": "Cancel"}]}`
	case route.Pattern == "/action":
		c.headers["Content-Type"], c.headers["Sec-Fetch-Site"] = "application/x-www-form-urlencoded", "same-origin"
		c.body = url.Values{"do": {dashboard.TakeOut}, "app": {"SHOP"}, "id": {"shop-1"}}.Encode()
	}
	return c
}

// leases returns all that is stored.
func leases(t testing.TB, store *memory.Store) []eureka.Lease {
	t.Helper()
	all, err := store.Scan(t.Context())
	require.NoError(t, err)
	return all
}

// TestMatrix: every route and method, under every prefix, for every kind of
// caller, by every way in: 401 with WWW-Authenticate, 403, or through; whoever
// does not get through changes nothing. The routes are the handler's own.
func TestMatrix(t *testing.T) {
	p, store, c := closedParts(t)
	register := call{method: "POST", path: "/eureka/apps/SHOP", body: registrationOf("SHOP", "shop-1"),
		headers: map[string]string{"Content-Type": "application/json", "Authorization": basic("operator", passwordOf("operator"))}}
	local := entrances(t, p)["local"]
	seen := map[string]int{}
	for form, enter := range entrances(t, p) {
		for _, route := range httpapi.Routes() {
			for _, way := range waysTo(route) {
				for _, who := range callers() {
					t.Run(strings.Join([]string{form, way.method, way.prefix + route.Pattern, who.name}, " "), func(t *testing.T) {
						_, _ = local(t, register)
						c.now = c.now.Add(time.Second)
						before := leases(t, store)
						request := callOf(way.prefix, way.method, route)
						if who.header != "" {
							request.headers["Authorization"] = who.header
						}
						got, ok := enter(t, request)
						require.True(t, ok)
						want := verdict(who, route)
						seen[want]++
						assertVerdict(t, want, got)
						if want != "through" {
							assert.Equal(t, before, leases(t, store), "nothing is changed")
							assert.NotContains(t, got.body, "example.org", "nothing is read")
						}
					})
				}
			}
		}
	}
	for _, want := range []string{"401", "403", "through"} {
		assert.Greater(t, seen[want], 100, want)
	}
}

type way struct{ method, prefix string }

// waysTo returns the methods and prefixes of a route.
func waysTo(route httpapi.Route) []way {
	methods, prefixes := []string{route.Method}, []string{"/eureka", "/eureka/v2"}
	if route.Method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	if route.Page {
		prefixes = append(prefixes, "")
	}
	var out []way
	for _, m := range methods {
		for _, p := range prefixes {
			out = append(out, way{m, p})
		}
	}
	return out
}

// verdict is what the rules say, in words of their own.
func verdict(who caller, route httpapi.Route) string {
	switch {
	case route.Pattern == "/health":
		return "through"
	case who.may == access.LevelNone:
		return "401"
	case (route.Pattern == "/peerreplication/batch" || route.Pattern == "/action") && who.may < access.LevelAdmin:
		return "403"
	case route.Method != http.MethodGet && who.may < access.LevelRegister:
		return "403"
	}
	return "through"
}

func assertVerdict(t *testing.T, want string, got reply) {
	t.Helper()
	switch want {
	case "401":
		assert.Equal(t, http.StatusUnauthorized, got.status)
		assert.Equal(t, `Basic realm="eureka", charset="UTF-8"`, got.header.Get("WWW-Authenticate"))
	case "403":
		assert.Equal(t, http.StatusForbidden, got.status)
		assert.Empty(t, got.header.Get("WWW-Authenticate"), "another password would not help")
	default:
		assert.Less(t, got.status, 400, got.body)
	}
}

// TestWrongAnswersAreTheSame: an unknown user and a wrong password are told the
// very same.
func TestWrongAnswersAreTheSame(t *testing.T) {
	p, _, _ := closedParts(t)
	for form, enter := range entrances(t, p) {
		var answers []reply
		for _, header := range []string{basic("operator", "wrong"), basic("root", "wrong"), basic("operator", "wrong"), ""} {
			got, _ := enter(t, call{method: "GET", path: "/eureka/apps", headers: map[string]string{"Authorization": header}})
			answers = append(answers, got)
		}
		for _, other := range answers[1:] {
			assert.Equal(t, answers[0], other, form)
		}
	}
}

// TestPeersNeedToBeAdmin: the header that peers send opens nothing.
func TestPeersNeedToBeAdmin(t *testing.T) {
	p, _, _ := closedParts(t)
	for form, enter := range entrances(t, p) {
		for user, want := range map[string]int{"services": 403, "operator": 404} {
			got, _ := enter(t, call{method: "PUT", path: "/eureka/apps/SHOP/none", headers: map[string]string{
				"X-Netflix-Discovery-Replication": "true", "Authorization": basic(user, passwordOf(user)),
			}})
			assert.Equal(t, want, got.status, "%s %s", form, user)
		}
	}
}

// TestVIPsOfOthers: clients find instances by VIP, so a team may use no VIP
// that its applications are not called.
func TestVIPsOfOthers(t *testing.T) {
	p, store, _ := closedParts(t)
	for form, enter := range entrances(t, p) {
		for _, c := range []struct {
			user, vip, secure string
			status            int
		}{
			{"shop", "shop", "shop-eu,shop", 204},
			{"shop", "", "", 204},
			{"shop", ",shop,", "", 204},
			{"shop", "billing", "shop", 403},
			{"shop", "shop", "Billing", 403},
			{"shop", "shop,billing", "", 403},
			{"shop", "shop, billing", "", 403},
			{"services", "billing", "anything", 204},
		} {
			body := strings.NewReplacer(`"vipAddress": "shop"`, fmt.Sprintf(`"vipAddress": %q`, c.vip),
				`"secureVipAddress": "shop"`, fmt.Sprintf(`"secureVipAddress": %q`, c.secure)).Replace(registrationOf("SHOP", "x"))
			got, _ := enter(t, call{method: "POST", path: "/eureka/apps/SHOP", body: body, headers: map[string]string{
				"Content-Type": "application/json", "Authorization": basic(c.user, passwordOf(c.user)),
			}})
			assert.Equal(t, c.status, got.status, "%s %+v: %s", form, c, got.body)
			for _, l := range leases(t, store) {
				taken := c.status == http.StatusNoContent
				assert.Equal(t, taken, l.Instance != nil && l.Instance.VIPAddress == c.vip, "%+v", c)
			}
		}
		cancelled, _ := enter(t, call{method: "DELETE", path: "/eureka/apps/SHOP/x", headers: map[string]string{"Authorization": basic("shop", passwordOf("shop"))}})
		require.Equal(t, http.StatusOK, cancelled.status)
	}
}

// TestAnotherApplicationInTheBody: what the path is allowed, the body is not.
func TestAnotherApplicationInTheBody(t *testing.T) {
	p, store, _ := closedParts(t)
	for form, enter := range entrances(t, p) {
		for _, app := range []string{"BILLING", "SHOP2", "shop ", "\u017fHOP2"} {
			got, _ := enter(t, call{method: "POST", path: "/eureka/apps/SHOP", body: registrationOf(app, "x"), headers: map[string]string{
				"Content-Type": "application/json", "Authorization": basic("shop", passwordOf("shop")),
			}})
			assert.Equal(t, http.StatusBadRequest, got.status, "%s %s", form, app)
			assert.Empty(t, leases(t, store))
		}
	}
}
