package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/dashboard"
	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
)

// browse asks as a browser does.
func (s *server) browse(path string) string {
	s.t.Helper()
	w := s.must(200, s.do("GET", path, "", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8"))
	assert.Equal(s.t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	assert.Equal(s.t, pages.Policy(), w.Header().Get("Content-Security-Policy"))
	assert.Equal(s.t, "same-origin", w.Header().Get("Referrer-Policy"))
	assert.Equal(s.t, "no-store", w.Header().Get("Cache-Control"))
	return w.Body.String()
}

// act sends the form of an action from a page of the registry itself.
func (s *server) act(do, app, id string, headers ...string) *http.Response {
	s.t.Helper()
	form := url.Values{"do": {do}, "app": {app}, "id": {id}}
	headers = append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}, headers...)
	return s.do("POST", "/eureka/action", form.Encode(), headers...).Result()
}

// follow asks for the page that an action sends the browser to.
func (s *server) follow(status int, resp *http.Response) string {
	s.t.Helper()
	require.Equal(s.t, http.StatusSeeOther, resp.StatusCode)
	path := "/eureka/" + strings.TrimPrefix(resp.Header.Get("Location"), "./")
	return s.must(status, s.do("GET", path, "", "Accept", "text/html")).Body.String()
}

func TestDashboard(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	for _, path := range []string{"/", "/eureka", "/eureka/", "/eureka/v2/"} {
		page := s.browse(path)
		assert.Contains(t, page, `<a href="?app=SHOP&amp;id=shop-1">`)
		assert.Contains(t, page, ">1 instance.<")
		assert.Contains(t, page, "192.0.2.10:8080")
		assert.NotContains(t, page, "Self-preservation is on")
	}
	assert.Contains(t, s.browse("/?q=nothing"), "No match among 1 instance.")
	assert.Contains(t, s.browse("/?status=DOWN"), "No match among 1 instance.")
	head := s.must(200, s.do("HEAD", "/", ""))
	assert.Empty(t, head.Body.String())
}

func TestDashboardShowsAnInstance(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(object{"homePageUrl": "http://192.0.2.10/", "statusPageUrl": "javascript:alert(1)"})))
	s.now = s.now.Add(12 * time.Second)
	page := s.browse("/?app=shop&id=shop-1")
	assert.Contains(t, page, "12 s ago</time>")
	assert.Contains(t, page, `<a href="http://192.0.2.10/" rel="noreferrer">`)
	assert.Contains(t, page, "javascript:alert(1)")
	assert.NotContains(t, page, `href="javascript:`)
	assert.NotContains(t, page, "#ZgotmplZ")

	w := s.must(404, s.do("GET", "/?app=SHOP&id=none", "", "Accept", "text/html"))
	assert.Contains(t, w.Body.String(), "No such instance")
}

// TestTimesOfAnyYear: a client's clock may say anything, and every page and
// document still tells its time.
func TestTimesOfAnyYear(t *testing.T) {
	for _, millis := range []string{
		"253402300800000", "1700000000000000", "1700000000000000000", "9223372036854775807", // the year 10000 and later
	} {
		s := newServer(t)
		s.must(204, s.post("SHOP", shop(object{"lastDirtyTimestamp": millis, "lastUpdatedTimestamp": millis})))
		s.pump()
		s.must(200, s.do("PUT", "/eureka/apps/SHOP/shop-1?status=UP&lastDirtyTimestamp="+millis, ""))
		for _, path := range []string{"/", "/?app=SHOP&id=shop-1", "/status", "/lastn", "/eureka/apps", "/eureka/apps/delta", "/eureka/apps/SHOP/shop-1", "/health"} {
			for _, media := range []string{"application/json", "application/xml", "text/html"} {
				if media == "text/html" && strings.HasPrefix(path, "/eureka") || media != "text/html" && strings.HasPrefix(path, "/?") {
					continue
				}
				w := s.must(200, s.do("GET", path, "", "Accept", media))
				if strings.Contains(path, "shop-1") || strings.HasPrefix(path, "/eureka") {
					assert.Contains(t, w.Body.String(), millis, path)
				}
				assert.NotRegexp(t, `\d{5,}-\d\d-\d\d`, w.Body.String(), path)
			}
		}
		assert.Contains(t, s.browse("/?app=SHOP&id=shop-1"), "in the future</time>")
	}
}

// TestActions: what an administrator's forms do, and what the pages offer.
func TestActions(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	page := s.browse("/?app=SHOP&id=shop-1")
	assert.Contains(t, page, "do=out")
	assert.NotContains(t, page, "do=remove")

	status := func() (string, string) {
		i := s.read("/apps/SHOP/shop-1")
		return i["status"].(string), i["overriddenStatus"].(string)
	}
	steps := []struct{ do, status, overridden string }{
		{dashboard.TakeOut, "OUT_OF_SERVICE", "OUT_OF_SERVICE"},
		{dashboard.BringBack, "UP", "UNKNOWN"},
		{dashboard.TakeOut, "OUT_OF_SERVICE", "OUT_OF_SERVICE"},
		{dashboard.RemoveOverride, "UNKNOWN", "UNKNOWN"},
	}
	for _, step := range steps {
		question := s.browse("/eureka/?app=SHOP&id=shop-1&do=" + step.do)
		assert.Contains(t, question, `<form class="actions" method="post" action="action">`)
		assert.Contains(t, question, `name="do" value="`+step.do+`"`)

		resp := s.act(step.do, "SHOP", "shop-1")
		require.Equal(t, http.StatusSeeOther, resp.StatusCode, step.do)
		assert.Equal(t, "./?app=SHOP&done="+step.do+"&id=shop-1", resp.Header.Get("Location"))
		gotStatus, gotOverridden := status()
		assert.Equal(t, step.status, gotStatus, step.do)
		assert.Equal(t, step.overridden, gotOverridden, step.do)
	}
	cancelled := s.act(dashboard.Cancel, "SHOP", "shop-1")
	assert.Contains(t, s.follow(200, cancelled), "The registration is cancelled.")
	s.must(404, s.do("GET", "/eureka/apps/SHOP/shop-1", ""))
	again := s.act(dashboard.Cancel, "SHOP", "shop-1")
	assert.Contains(t, s.follow(404, again), "No such instance", "it is gone")
	assert.Equal(t, 400, s.act("destroy", "SHOP", "shop-1").StatusCode)
}

// TestActionsKeepTheInstancesWord: an action gives no dirty timestamp, which
// would make the instance's next registration look older than what is stored.
func TestActionsKeepTheInstancesWord(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	s.act(dashboard.TakeOut, "SHOP", "shop-1")
	s.act(dashboard.BringBack, "SHOP", "shop-1")
	s.must(204, s.post("SHOP", shop(object{"lastDirtyTimestamp": "1700000000001", "metadata": object{"zone": "b"}})))
	assert.Equal(t, "b", s.read("/apps/SHOP/shop-1")["metadata"].(map[string]any)["zone"])
}

// TestBringBackFromItsOwnWord: without an override it takes one to bring an
// instance back that says itself that it is out of service.
func TestBringBackFromItsOwnWord(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(object{"status": "OUT_OF_SERVICE"})))
	require.Equal(t, http.StatusSeeOther, s.act(dashboard.BringBack, "SHOP", "shop-1").StatusCode)
	assert.Equal(t, "UP", s.read("/apps/SHOP/shop-1")["status"])
}

// TestForgedActions: forms of other pages, and of whoever does not say where
// they come from, change nothing.
func TestForgedActions(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	cases := map[string][]string{
		"another site":    {"Sec-Fetch-Site", "cross-site"},
		"a sibling":       {"Sec-Fetch-Site", "same-site"},
		"another origin":  {"Sec-Fetch-Site", "", "Origin", "http://evil.example.org"},
		"a hidden origin": {"Sec-Fetch-Site", "", "Origin", "null"},
	}
	for name, headers := range cases {
		assert.Equal(t, 403, s.act(dashboard.Cancel, "SHOP", "shop-1", headers...).StatusCode, name)
	}
	assert.Equal(t, 400, s.act(dashboard.Cancel, "SHOP", "shop-1", "Sec-Fetch-Site", "").StatusCode, "no word of where it is from")
	assert.Equal(t, 400, s.act(dashboard.Cancel, "SHOP", "shop-1", "Content-Type", "text/plain").StatusCode)
	s.must(200, s.do("GET", "/eureka/apps/SHOP/shop-1", ""))
	own := s.act(dashboard.TakeOut, "SHOP", "shop-1", "Sec-Fetch-Site", "", "Origin", "http://registry.example.org")
	assert.Equal(t, 303, own.StatusCode, "an older browser on the page itself")
}

// levelGate admits up to a level.
type levelGate access.Level

func (g levelGate) Admit(_ *http.Request, need access.Level, _ string) error {
	if need > access.Level(g) {
		return eureka.ErrForbidden
	}
	return nil
}

// TestOnlyAdminsAreOfferedActions, and their forms are taken.
func TestOnlyAdminsAreOfferedActions(t *testing.T) {
	for level, admin := range map[access.Level]bool{access.LevelRegister: false, access.LevelAdmin: true} {
		s := newServer(t, func(c *httpapi.Config) { c.Gate = levelGate(level) })
		s.must(204, s.post("SHOP", shop(nil)))
		assert.Equal(t, admin, strings.Contains(s.browse("/?app=SHOP&id=shop-1"), "do=out"))
		assert.Equal(t, admin, strings.Contains(s.browse("/?app=SHOP&id=shop-1&do=out"), `action="action"`))
		want := map[bool]int{false: 403, true: 303}[admin]
		assert.Equal(t, want, s.act(dashboard.TakeOut, "SHOP", "shop-1").StatusCode)
	}
}

func TestPagesForPeople(t *testing.T) {
	s := newServer(t)
	now := s.now
	require.NoError(t, s.store.PutStatistics(t.Context(), delta.Statistics{
		Pass: now, Leases: 20, Expected: 20, Seen: 3, Threshold: 17, SelfPreservation: true, Enabled: true, HashCode: "UP_20_",
	}))
	require.NoError(t, s.store.PutRecent(t.Context(), delta.Recent{
		Cancelled: []delta.Event{{Time: now, Key: eureka.NewKey("SHOP", "<b>shop-1</b>"), What: "evicted"}},
		Changed:   []delta.Event{{Time: now, Key: eureka.NewKey("SHOP", "shop-2"), What: "overridden, DOWN"}},
	}))
	for _, path := range []string{"/", "/status"} {
		assert.Contains(t, s.browse(path), "Only 3 of 20 leases that should have renewed did", path)
	}
	recent := s.browse("/eureka/lastn")
	assert.Contains(t, recent, "&lt;b&gt;shop-1&lt;/b&gt;")
	for _, what := range []string{"evicted", "overridden, DOWN"} {
		assert.Contains(t, recent, `<span class="what">`+what+`</span>`, "the page says what happened")
		assert.Contains(t, s.do("GET", "/lastn", "").Body.String(), `"what": "`+what+`"`)
	}
	assert.Contains(t, recent, `href="./?app=SHOP&amp;id=%3cb%3eshop-1%3c%2fb%3e"`)
	assert.Contains(t, s.do("GET", "/status", "", "Accept", "*/*").Header().Get("Content-Type"), "json")
}

// TestAudit: one line for each change, whoever made it, and nothing in it
// that could deceive a reader.
func TestAudit(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, func(c *httpapi.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Gate = levelGate(access.LevelAdmin)
	})
	lines := func() []string {
		text := strings.TrimSpace(log.String())
		log.Reset()
		if text == "" {
			return nil
		}
		return strings.Split(text, "\n")
	}
	// The header of "ops:secret-word".
	who := []string{"Authorization", "Basic b3BzOnNlY3JldC13b3Jk", "DiscoveryIdentity-Name", "tool\x1b[2J"}
	ask := func(method, path, body string) {
		s.do(method, "/eureka"+path, body, append([]string{"Content-Type", "application/json"}, who...)...)
	}
	replicated := `{"replicationList":[{"appName":"SHOP","id":"shop-1","action":"StatusUpdate","status":"UP","lastDirtyTimestamp":1},` +
		`{"appName":"SHOP","id":"shop-1","action":"Heartbeat","lastDirtyTimestamp":1700000000000}]}`
	cases := []struct {
		name   string
		do     func()
		action string
	}{
		{"registration", func() { ask("POST", "/apps/SHOP", shop(nil)) }, `action=register`},
		{"heartbeat", func() { ask("PUT", "/apps/SHOP/shop-1", "") }, ""},
		{"read", func() { ask("GET", "/apps/SHOP/shop-1", "") }, ""},
		{"override", func() { ask("PUT", "/apps/SHOP/shop-1/status?value=OUT_OF_SERVICE", "") }, `action="set status"`},
		{"by a peer", func() { ask("POST", "/peerreplication/batch", replicated) }, `action="set status"`},
		{"its end", func() { ask("DELETE", "/apps/SHOP/shop-1/status?value=UP", "") }, `action="remove override"`},
		{"metadata", func() { ask("PUT", "/apps/SHOP/shop-1/metadata?token=secret-word", "") }, `action="add metadata"`},
		{"dashboard", func() { s.act(dashboard.TakeOut, "SHOP", "shop-1", who...) }, `action="set status"`},
		{"cancel", func() { ask("DELETE", "/apps/SHOP/shop-1", "") }, `action=cancel`},
		{"of nobody", func() { ask("DELETE", "/apps/SHOP/shop-1", "") }, ""},
	}
	for _, c := range cases {
		c.do()
		got := lines()
		if c.action == "" {
			assert.Empty(t, got, c.name)
			continue
		}
		require.Len(t, got, 1, c.name)
		assert.Contains(t, got[0], "msg=audit "+c.action+" app=SHOP instance=shop-1 user=ops source=192.0.2.1", c.name)
		assert.NotContains(t, got[0], "secret-word", c.name)
		assert.NotContains(t, got[0], "b3BzOnNlY3JldC13b3Jk", c.name)
		assert.NotContains(t, got[0], "\x1b", c.name)
	}
}

// TestAuditEscapes what a terminal would obey, in every format of log lines.
func TestAuditEscapes(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, func(c *httpapi.Config) { c.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
	id := "a\nb\u009b2J\u202ec"
	s.must(204, s.post("SHOP", shop(object{"instanceId": id})))
	for _, raw := range []string{"\u009b", "\u202e"} {
		assert.NotContains(t, log.String(), raw)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "\n"))
	assert.Contains(t, log.String(), `a\\nb\\u009b2J\\u202ec`)
}
