package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
)

// scripted is a gate that says the same to everybody, and remembers what it was
// asked last.
type scripted struct {
	err  error
	need access.Level
	app  string
	// asked counts.
	asked int
}

func (g *scripted) Admit(_ *http.Request, need access.Level, app string) error {
	g.need, g.app = need, app
	g.asked++
	return g.err
}

func gated(t *testing.T, err error) (*server, *scripted) {
	g := &scripted{err: err}
	return newServer(t, func(c *httpapi.Config) { c.Gate = g }), g
}

// sample returns a path of a route, with names in place of its parameters.
func sample(r httpapi.Route) string {
	return strings.NewReplacer("{app}", "shop", "{id}", "shop-1", "{vip}", "shop", "{svip}", "shop").Replace(r.Pattern)
}

// TestTheGateIsAskedForEveryRoute: with what the table says, and the
// application in upper case where the path has one; for HEAD too.
func TestTheGateIsAskedForEveryRoute(t *testing.T) {
	for _, route := range httpapi.Routes() {
		methods := []string{route.Method}
		if route.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		for _, method := range methods {
			for _, prefix := range []string{"/eureka", "/eureka/v2", "//eureka/"} {
				t.Run(method+prefix+route.Pattern, func(t *testing.T) {
					s, g := gated(t, eureka.ErrForbidden)
					w := s.do(method, prefix+sample(route), "")
					if route.Access == access.LevelNone {
						assert.Zero(t, g.asked)
						assert.Equal(t, http.StatusOK, w.Code)
						return
					}
					assert.Equal(t, http.StatusForbidden, w.Code)
					assert.Equal(t, 1, g.asked)
					assert.Equal(t, route.Access, g.need)
					assert.Equal(t, strings.Contains(route.Pattern, "{app}"), g.app == "SHOP", g.app)
				})
			}
		}
	}
}

// TestOnlyHealthIsOpen: no route is open by oversight.
func TestOnlyHealthIsOpen(t *testing.T) {
	for _, route := range httpapi.Routes() {
		assert.Equal(t, route.Pattern == "/health", route.Access == access.LevelNone, route.Pattern)
	}
}

// TestStrangersLearnNothing: what is not there, or cannot be understood, is
// refused before that is said.
func TestStrangersLearnNothing(t *testing.T) {
	for _, r := range [][2]string{
		{"GET", "/nothing"}, {"GET", "/eureka/nothing"}, {"PATCH", "/eureka/apps"}, {"POST", "/eureka/apps"}, {"OPTIONS", "/eureka/apps"},
		{"TRACE", "/health"}, {"POST", "/health"}, {"GET", "/EUREKA/health"}, {"GET", "/Health"},
	} {
		s, g := gated(t, eureka.ErrUnauthenticated)
		w := s.do(r[0], r[1], "")
		assert.Equal(t, http.StatusUnauthorized, w.Code, r)
		assert.Equal(t, access.LevelRead, g.need)
	}
	s, _ := gated(t, nil)
	assert.Equal(t, http.StatusNotFound, s.do("GET", "/nothing", "").Code)
	assert.Equal(t, http.StatusMethodNotAllowed, s.do("PATCH", "/eureka/apps", "").Code)
}

func TestRefusedByTheGate(t *testing.T) {
	for _, c := range []struct {
		err        error
		status     int
		retryAfter string
	}{
		{eureka.ErrUnauthenticated, 401, ""},
		{eureka.ErrForbidden, 403, ""},
		{&eureka.RateLimitedError{}, 429, "1"},
		{&eureka.RateLimitedError{After: 2100 * time.Millisecond}, 429, "3"},
		{eureka.ErrUnavailable, 503, "1"},
	} {
		s, _ := gated(t, c.err)
		w := s.must(c.status, s.do("DELETE", "/eureka/apps/SHOP/shop-1", ""))
		assert.Equal(t, c.status == 401, w.Header().Get("WWW-Authenticate") != "")
		assert.Equal(t, c.retryAfter, w.Header().Get("Retry-After"))
		assert.NotEmpty(t, decode(t, w)["error"])
		assert.Empty(t, s.store.Records(0))
	}
}

// TestPeersNeedMore: who says to be a peer needs what a peer needs.
func TestPeersNeedMore(t *testing.T) {
	s, g := gated(t, nil)
	s.do("PUT", "/eureka/apps/SHOP/shop-1", "", "X-Netflix-Discovery-Replication", "true")
	assert.Equal(t, access.LevelAdmin, g.need)
	s.do("PUT", "/eureka/apps/SHOP/shop-1", "", "X-Netflix-Discovery-Replication", "false")
	assert.Equal(t, access.LevelRegister, g.need)
	s.do("GET", "/eureka/apps", "", "X-Netflix-Discovery-Replication", "true")
	assert.Equal(t, access.LevelRead, g.need)
}

// TestRefusalsThatJavaDecodes have no body, where the client would tell of the
// body instead of the status; all others say why.
func TestRefusalsThatJavaDecodes(t *testing.T) {
	decodes := map[string]bool{"PUT /apps/{app}/{id}": true}
	for _, route := range httpapi.Routes() {
		name := route.Method + " " + route.Pattern
		if route.Method == http.MethodGet && !route.Page {
			decodes[name] = true
		}
		for _, refusal := range []error{eureka.ErrUnauthenticated, eureka.ErrForbidden, &eureka.RateLimitedError{}} {
			if route.Access == access.LevelNone {
				continue
			}
			s, _ := gated(t, refusal)
			w := s.do(route.Method, "/eureka"+sample(route), "")
			assert.Equal(t, decodes[name], w.Body.Len() == 0, name)
			if decodes[name] {
				assert.Empty(t, w.Header().Get("Content-Type"), name)
			}
		}
	}
}

// TestRefusalsSayWhy: to whoever names no document, GET and POST alike. (Case
// H41.)
func TestRefusalsSayWhy(t *testing.T) {
	for _, refusal := range []error{eureka.ErrUnauthenticated, eureka.ErrForbidden, &eureka.RateLimitedError{}} {
		s, _ := gated(t, refusal)
		post := s.do("POST", "/eureka/apps/SHOP", "{}", "Accept", "*/*")
		for _, accept := range []string{"*/*", "", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/plain"} {
			got := s.do("GET", "/eureka/apps", "", "Accept", accept)
			assert.Equal(t, post.Code, got.Code)
			assert.Equal(t, "application/json", got.Header().Get("Content-Type"), accept)
			assert.Equal(t, post.Body.String(), got.Body.String(), accept)
		}
		for _, accept := range []string{"application/json", "application/xml", "application/json, application/*+json"} {
			assert.Empty(t, s.do("GET", "/eureka/apps", "", "Accept", accept).Body.String(), accept)
		}
	}
}

// TestLimiter: it is asked after the gate, and not about what is open.
func TestLimiter(t *testing.T) {
	gate, limiter := &scripted{}, &scripted{err: &eureka.RateLimitedError{}}
	s := newServer(t, func(c *httpapi.Config) { c.Gate, c.Limiter = gate, limiter })
	s.must(429, s.do("GET", "/eureka/apps", ""))
	s.must(200, s.do("GET", "/health", ""))
	assert.Equal(t, 1, limiter.asked)
	gate.err = eureka.ErrUnauthenticated
	s.must(401, s.do("GET", "/eureka/apps", ""))
	assert.Equal(t, 1, limiter.asked)
	assert.Equal(t, 2, gate.asked)
	alone := newServer(t, func(c *httpapi.Config) { c.Limiter = limiter })
	alone.must(429, alone.do("GET", "/eureka/apps", ""))
}

// TestAnotherApplicationInTheBody: the Kelvin sign is equal to a K but for its
// case, and yet another application.
func TestAnotherApplicationInTheBody(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("kiosk", shop(object{"app": "Kiosk"})))
	stored := len(s.store.Records(0))
	s.must(400, s.post("KIOSK", shop(object{"app": "\u212Aiosk"})))
	s.must(400, s.post("KIOSK", shop(object{"app": "KIOS\u212A"})))
	s.must(400, s.post("KIOSK", shop(object{"app": "KIOSK2"})))
	assert.Len(t, s.store.Records(0), stored, "nothing is stored")
}

// TestForgedRequests: what a page of another origin makes a browser send
// changes nothing, with or without a gate, and is not even asked for its
// credentials; programs and pages of the registry itself get through.
func TestForgedRequests(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		forged  bool
	}{
		"another site":           {[]string{"Sec-Fetch-Site", "cross-site"}, true},
		"another host of it":     {[]string{"Sec-Fetch-Site", "same-site"}, true},
		"old browser":            {[]string{"Origin", "https://evil.example.com"}, true},
		"sandboxed frame":        {[]string{"Origin", "null"}, true},
		"same host, other port":  {[]string{"Origin", "http://registry.example.org:8080"}, true},
		"the registry's page":    {[]string{"Sec-Fetch-Site", "same-origin", "Origin", "http://registry.example.org"}, false},
		"old browser, own page":  {[]string{"Origin", "http://registry.example.org"}, false},
		"typed by the user":      {[]string{"Sec-Fetch-Site", "none"}, false},
		"a program":              {nil, false},
		"a program with fetch()": {[]string{"Sec-Fetch-Mode", "cors"}, false},
	} {
		for _, route := range httpapi.Routes() {
			t.Run(name+" "+route.Method+route.Pattern, func(t *testing.T) {
				s, g := gated(t, nil)
				s.must(204, s.post("shop", shop(nil)))
				before, asked := len(s.store.Records(0)), g.asked
				w := s.do(route.Method, "/eureka"+sample(route), shop(nil), append(c.headers, "Content-Type", "application/json")...)
				if !c.forged || route.Method == http.MethodGet {
					assert.NotEqual(t, http.StatusForbidden, w.Code)
					return
				}
				assert.Equal(t, http.StatusForbidden, w.Code)
				assert.Equal(t, asked, g.asked)
				assert.Len(t, s.store.Records(0), before, "nothing is changed")

				open := newServer(t)
				assert.Equal(t, http.StatusForbidden, open.do(route.Method, "/eureka"+sample(route), "", c.headers...).Code)
			})
		}
	}
}

// TestBrowsersAreRestrained: every answer that a browser may show says that it
// is no page with scripts, in no frame, of no other type; and none says what
// software answers.
func TestBrowsersAreRestrained(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(object{"metadata": object{
		"a": "<script>alert(1)</script>", `script xmlns="http://www.w3.org/1999/xhtml"`: "alert(1)",
	}})))
	paths := []string{"/nothing", "/", "/eureka/apps/NONE"}
	for _, route := range httpapi.Routes() {
		paths = append(paths, "/eureka"+sample(route))
	}
	for _, path := range paths {
		for _, accept := range []string{"application/json", "text/html,application/xhtml+xml,application/xml;q=0.9"} {
			w := s.do("GET", path, "", "Accept", accept)
			header := w.Header()
			assert.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'", path)
			assert.Contains(t, header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
			assert.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
			assert.Equal(t, "DENY", header.Get("X-Frame-Options"), path)
			page := header.Get("Content-Type") == "text/html; charset=utf-8"
			if page { // with a style and forms of its own
				assert.Equal(t, pages.Policy(), header.Get("Content-Security-Policy"), path)
				assert.Equal(t, "same-origin", header.Get("Referrer-Policy"), path)
			} else {
				assert.Equal(t, "no-referrer", header.Get("Referrer-Policy"), path)
			}
			assert.Equal(t, "same-origin", header.Get("Cross-Origin-Resource-Policy"), path)
			if w.Body.Len() > 0 && !page {
				assert.Contains(t, []string{"application/json", "application/xml"}, header.Get("Content-Type"), path)
			}
			if header.Get("Content-Type") == "application/xml" {
				assert.NotRegexp(t, `<script[ >]|xmlns=`, w.Body.String(), path)
			}
			for _, banner := range []string{"Server", "X-Powered-By", "Access-Control-Allow-Origin"} {
				assert.Empty(t, header.Get(banner), path)
			}
		}
	}
	w := s.must(400, s.post("SHOP", "{"))
	assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
}

// brokenPublications are a table that does not answer.
type brokenPublications struct{}

func (brokenPublications) Statistics(context.Context) (delta.Statistics, error) {
	return delta.Statistics{}, errBroken
}

func (brokenPublications) Recent(context.Context) (delta.Recent, error) {
	return delta.Recent{}, errBroken
}

// TestHealthSaysNoMoreToStrangers than up or down.
func TestHealthSaysNoMoreToStrangers(t *testing.T) {
	broken := func(c *httpapi.Config) { c.Publications = brokenPublications{} }
	open := newServer(t, broken)
	assert.Contains(t, open.must(503, open.do("GET", "/health", "")).Body.String(), "table")
	closed := newServer(t, broken, func(c *httpapi.Config) { c.Gate = &scripted{err: eureka.ErrUnauthenticated} })
	assert.JSONEq(t, `{"status": "DOWN"}`, closed.must(503, closed.do("GET", "/health", "")).Body.String())
}
