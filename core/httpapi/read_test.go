package httpapi_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/dashboard"
	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/view"
)

func TestNegotiation(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	for _, c := range []struct{ accept, want string }{
		{"", "application/xml"},
		{"*/*", "application/xml"},
		{"text/html", "application/xml"},
		{"application/json", "application/json"},
		{"Application/JSON", "application/json"},
		{"application/xml, application/json;q=0.5", "application/json"},
	} {
		for _, path := range []string{"/apps", "/apps/delta", "/apps/SHOP", "/apps/SHOP/shop-1", "/vips/shop", "/instances/shop-1"} {
			w := s.must(200, s.do("GET", "/eureka"+path, "", "Accept", c.accept))
			assert.Equal(t, c.want, w.Header().Get("Content-Type"), "%s as %q", path, c.accept)
		}
	}
}

func TestGzip(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	plain := s.must(200, s.do("GET", "/eureka/apps", "")).Body.Bytes()
	for _, c := range []struct {
		accept string
		zipped bool
	}{
		{"", false}, {"gzip", true}, {"deflate, gzip;q=0.5", true}, {"GZIP", true}, {"*", true},
		{"gzip;q=0", false}, {"gzip;q=0, *", false}, {"br", false}, {"*;q=0", false},
	} {
		w := s.must(200, s.do("GET", "/eureka/apps", "", "Accept-Encoding", c.accept))
		if !c.zipped {
			assert.Empty(t, w.Header().Get("Content-Encoding"), c.accept)
			assert.Equal(t, plain, w.Body.Bytes())
			continue
		}
		require.Equal(t, "gzip", w.Header().Get("Content-Encoding"), c.accept)
		r, err := gzip.NewReader(w.Body)
		require.NoError(t, err)
		unzipped, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.Equal(t, plain, unzipped)
	}
}

func TestHead(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	for _, path := range []string{"/eureka/apps", "/eureka/apps/SHOP/shop-1", "/health", "/status", "/lastn"} {
		got := s.must(200, s.do("GET", path, ""))
		head := s.must(200, s.do("HEAD", path, ""))
		assert.Empty(t, head.Body.Bytes(), path)
		assert.Equal(t, got.Header().Get("Content-Type"), head.Header().Get("Content-Type"), path)
	}
}

func TestMethodNotAllowedNamesTheOthers(t *testing.T) {
	s := newServer(t)
	w := s.must(405, s.do("PATCH", "/eureka/apps/SHOP/shop-1", ""))
	assert.Equal(t, "PUT, DELETE, GET, HEAD", w.Header().Get("Allow"))
}

// TestCacheHeaders: an answer lasts to the view's next turn, and its tag is
// another for each representation.
func TestCacheHeaders(t *testing.T) {
	var s *server
	s = newServer(t, func(c *httpapi.Config) {
		c.Cache = view.New(view.Config{
			Source: c.Publications.(view.Source), Interval: 30 * time.Second, Now: func() time.Time { return s.now },
		})
	})
	s.must(204, s.post("SHOP", shop(nil)))
	tags := map[string]bool{}
	for _, headers := range [][]string{
		{}, {"Accept", "application/xml"}, {"X-Eureka-Accept", "compact"}, {"Accept-Encoding", "gzip"},
	} {
		w := s.must(200, s.do("GET", "/eureka/apps", "", headers...))
		assert.Regexp(t, `^private, max-age=[1-9]\d?$`, w.Header().Get("Cache-Control"))
		assert.Equal(t, "Accept, Accept-Encoding, X-Eureka-Accept", w.Header().Get("Vary"))
		tag := w.Header().Get("ETag")
		assert.False(t, tags[tag], "the tag %s is another for %v", tag, headers)
		tags[tag] = true
		again := s.must(304, s.do("GET", "/eureka/apps", "", append(headers, "If-None-Match", `"other", W/`+tag)...))
		assert.Empty(t, again.Body.Bytes())
		assert.Equal(t, tag, again.Header().Get("ETag"))
	}
	assert.Equal(t, "no-store", s.must(200, s.do("GET", "/eureka/apps/SHOP/shop-1", "")).Header().Get("Cache-Control"))
	assert.Equal(t, "no-store", s.must(404, s.do("GET", "/eureka/apps/NONE", "")).Header().Get("Cache-Control"))
}

// failingSource is a source that can be broken.
type failingSource struct {
	view.Source
	broken bool
}

func (s *failingSource) Scan(ctx context.Context) ([]eureka.Lease, error) {
	if s.broken {
		return nil, eureka.ErrUnavailable
	}
	return s.Source.Scan(ctx)
}

func (s *failingSource) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	if s.broken {
		return nil, eureka.ErrUnavailable
	}
	return s.Source.Snapshot(ctx)
}

func (s *failingSource) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	if s.broken {
		return nil, eureka.ErrUnavailable
	}
	return s.Source.Deltas(ctx, since, until)
}

// TestTableAway: a cold container answers 503, a warm one its old view with
// its age, and health says why.
func TestTableAway(t *testing.T) {
	source := &failingSource{broken: true}
	var s *server
	s = newServer(t, func(c *httpapi.Config) {
		source.Source = c.Publications.(view.Source)
		c.Cache = view.New(view.Config{
			Source: source, Interval: 30 * time.Second, Now: func() time.Time { return s.now },
		})
	})
	s.must(204, s.post("SHOP", shop(nil)))
	w := s.must(503, s.do("GET", "/eureka/apps", ""))
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	w = s.must(503, s.do("GET", "/health", ""))
	assert.NotEmpty(t, decode(t, w)["reasons"])

	source.broken = false
	s.now = s.now.Add(time.Minute)
	s.must(200, s.do("GET", "/eureka/apps/SHOP", ""))
	s.must(200, s.do("GET", "/health", ""))

	source.broken = true
	s.now = s.now.Add(time.Minute)
	w = s.must(200, s.do("GET", "/eureka/apps/SHOP", ""))
	assert.Regexp(t, `^\d+$`, w.Header().Get("Registry-Age"))
	assert.Equal(t, "private, no-cache", w.Header().Get("Cache-Control"))
	s.must(503, s.do("GET", "/health", ""))

	source.broken = false
	s.now = s.now.Add(time.Minute)
	w = s.must(200, s.do("GET", "/eureka/apps/SHOP", ""))
	assert.Empty(t, w.Header().Get("Registry-Age"))
}

// TestStatus shows what the last eviction pass found, in both formats, at the
// root and under the prefixes.
func TestStatus(t *testing.T) {
	s := newServer(t)
	require.NoError(t, s.store.PutStatistics(context.Background(), delta.Statistics{
		Pass: s.now, Leases: 20, Expected: 20, Seen: 12, Threshold: 17, SelfPreservation: true, Enabled: true, HashCode: "UP_20_",
	}))
	for _, path := range []string{"/status", "/eureka/status", "/eureka/v2/status"} {
		got := decode(t, s.must(200, s.do("GET", path, "")))
		stats := got["applicationStats"].(object)
		assert.Equal(t, 20.0, stats["leases"])
		assert.Equal(t, 20.0, stats["expected-renewals"])
		assert.Equal(t, 12.0, stats["seen-renewals"])
		assert.Equal(t, true, stats["self-preservation"])
		assert.Equal(t, "2025-06-01T12:00:00Z", stats["last-eviction-pass"])
		assert.Equal(t, "eu-central-1", got["generalStats"].(object)["region"])
		assert.Equal(t, true, got["isHealthy"])
	}
	w := s.must(200, s.do("GET", "/status", "", "Accept", "application/xml"))
	assert.Contains(t, w.Body.String(), "<seen-renewals>12</seen-renewals>")
	assert.Equal(t, "application/json", s.must(200, s.do("GET", "/status", "", "Accept", "*/*")).Header().Get("Content-Type"))
}

// TestStatusBeforeTheFirstPass: nothing is said of self-preservation that is not
// known, and no list is older than the process. (Case H39.)
func TestStatusBeforeTheFirstPass(t *testing.T) {
	s := newServer(t, func(c *httpapi.Config) {
		now := c.Now
		c.Cache = view.New(view.Config{Source: c.Publications.(view.Source), Interval: 30 * time.Second, Now: now})
	})
	s.now = s.now.Add(time.Second)
	stats := decode(t, s.must(200, s.do("GET", "/status", "")))["applicationStats"].(object)
	assert.NotContains(t, stats, "self-preservation")
	assert.NotContains(t, stats, "self-preservation-enabled")
	xml := s.must(200, s.do("GET", "/status", "", "Accept", "application/xml")).Body.String()
	assert.NotContains(t, xml, "self-preservation")
	figure := regexp.MustCompile(`<dt>(Uptime|Age of the lists)</dt><dd>(\d+) s</dd>`).FindAllStringSubmatch(s.browse("/"), -1)
	require.Len(t, figure, 2)
	assert.Equal(t, figure[0][2], figure[1][2], "the view is of a boundary before the start")

	require.NoError(t, s.store.PutStatistics(t.Context(), delta.Statistics{Pass: s.now, Enabled: true}))
	stats = decode(t, s.must(200, s.do("GET", "/status", "")))["applicationStats"].(object)
	assert.Equal(t, false, stats["self-preservation"])
	assert.Equal(t, true, stats["self-preservation-enabled"])
}

func TestLastN(t *testing.T) {
	s := newServer(t)
	require.NoError(t, s.store.PutRecent(context.Background(), delta.Recent{
		Registered: []delta.Event{{Time: s.now, Key: eureka.Key{App: "SHOP", ID: "shop-1"}}},
	}))
	got := decode(t, s.must(200, s.do("GET", "/lastn", "")))
	assert.Equal(t, []any{object{"time": "2025-06-01T12:00:00Z", "app": "SHOP", "instanceId": "shop-1"}}, got["registered"])
	assert.Empty(t, got["cancelled"])
}

// TestWriteFunctionHasNoLists: without a cache the lists are not there.
func TestWriteFunctionHasNoLists(t *testing.T) {
	s := newServer(t, func(c *httpapi.Config) { c.Cache, c.Publications, c.Pages = nil, nil, nil })
	s.must(204, s.post("SHOP", shop(nil)))
	for _, path := range []string{"/eureka/apps", "/eureka/apps/delta", "/eureka/vips/a", "/eureka/instances/shop-1", "/status", "/lastn", "/"} {
		s.must(404, s.do("GET", path, ""))
	}
	s.must(200, s.do("GET", "/eureka/apps/SHOP/shop-1", ""))
	assert.Equal(t, http.StatusSeeOther, s.act(dashboard.Cancel, "SHOP", "shop-1").StatusCode, "it serves the dashboard's actions")
	s.must(404, s.do("GET", "/eureka/apps/SHOP/shop-1", ""))
}

// TestRoutes: every route answers under both prefixes, and its method is the
// one that the table says.
func TestRoutes(t *testing.T) {
	s := newServer(t)
	seen := map[string]bool{}
	for _, r := range httpapi.Routes() {
		assert.False(t, seen[r.Method+r.Pattern], "%s %s stands once", r.Method, r.Pattern)
		seen[r.Method+r.Pattern] = true
		for _, prefix := range []string{"/eureka", "/eureka/v2"} {
			w := s.do(r.Method, prefix+r.Pattern, "", "Content-Type", "application/json")
			assert.NotEqual(t, http.StatusMethodNotAllowed, w.Code, "%s %s", r.Method, r.Pattern)
			if w.Code == http.StatusNotFound && w.Body.Len() > 0 {
				assert.NotContains(t, w.Body.String(), "no such path", "%s %s", r.Method, r.Pattern)
			}
		}
	}
}
