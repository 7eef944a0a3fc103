package discovery_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
)

// notConnected is what a transport says of a host that does not listen.
var notConnected = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// called is a transport that notes requests, and fails as told.
type called struct {
	requests []*http.Request
	bodies   []string
	fail     func(*http.Request) error
}

func (c *called) RoundTrip(req *http.Request) (*http.Response, error) {
	c.requests = append(c.requests, req)
	text := ""
	if req.Body != nil {
		read, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body.Close()
		text = string(read)
	}
	c.bodies = append(c.bodies, text)
	if c.fail != nil {
		if err := c.fail(req); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

func (c *called) hosts() []string {
	out := []string{}
	for _, req := range c.requests {
		out = append(out, req.URL.Host)
	}
	return out
}

// withRegistry runs a test with a client of a registry.
func withRegistry(t *testing.T, document string, change func(*discovery.Config), test func(*testing.T, *discovery.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.serve(document)
		cfg := fetching(s)
		if change != nil {
			change(&cfg)
		}
		test(t, start(t, cfg))
	})
}

func TestRoundTripperResolvesNames(t *testing.T) {
	named := shop("x", inApp("BILLING"), func(i *eureka.InstanceInfo) { i.VIPAddress = "accounts" })
	withRegistry(t, registryOf(shop("a"), named), nil, func(t *testing.T, c *discovery.Client) {
		base := &called{}
		client := http.Client{Transport: c.RoundTripper(base)}
		for url, want := range map[string]string{
			"http://SHOP/path?x=y":   "http://a.example.org:8080/path?x=y",
			"http://shop/a%2Fb":      "http://a.example.org:8080/a%2Fb",
			"http://accounts/":       "http://x.example.org:8080/",
			"http://billing/":        "http://x.example.org:8080/",
			"http://127.0.0.1:8080/": "http://127.0.0.1:8080/",
		} {
			base.requests = nil
			req, err := http.NewRequest(http.MethodGet, url, nil)
			require.NoError(t, err)
			resp, err := client.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, want, base.requests[0].URL.String())
			assert.Equal(t, url, req.URL.String(), "the caller's request stays as it is")
			assert.True(t, base.requests[0].Host == "" || base.requests[0].Host == base.requests[0].URL.Host, "no name of the registry in the Host header")
		}
		_, err := client.Get("http://nobody/")
		assert.ErrorIs(t, err, discovery.ErrNoUsableInstance)
		_, err = client.Post("http://nobody/", "text/plain", strings.NewReader("x"))
		assert.ErrorIs(t, err, discovery.ErrNoUsableInstance)
	})
}

func TestRoundTripperKeepsAHostOfTheCallersOwn(t *testing.T) {
	withRegistry(t, registryOf(shop("a")), nil, func(t *testing.T, c *discovery.Client) {
		base := &called{}
		req := httptest.NewRequest(http.MethodGet, "http://SHOP/", nil)
		req.RequestURI, req.Host = "", "tenant.example.org"
		_, err := c.RoundTripper(base).RoundTrip(req)
		require.NoError(t, err)
		assert.Equal(t, "tenant.example.org", base.requests[0].Host)
	})
}

func TestRoundTripperCallsByIPAddress(t *testing.T) {
	withRegistry(t, registryOf(shop("a", func(i *eureka.InstanceInfo) { i.IPAddr = "2001:db8::7" })),
		func(cfg *discovery.Config) { cfg.CallByIPAddress = true },
		func(t *testing.T, c *discovery.Client) {
			base := &called{}
			_, err := (&http.Client{Transport: c.RoundTripper(base)}).Get("http://SHOP/")
			require.NoError(t, err)
			assert.Equal(t, []string{"[2001:db8::7]:8080"}, base.hosts())
		})
}

// TestRetryOnAnotherInstance: once, for what can be repeated and could not be
// connected, and for nothing else.
func TestRetryOnAnotherInstance(t *testing.T) {
	failed := errors.New("connection reset")
	unrepeatable := func() io.Reader { return io.MultiReader(strings.NewReader("body")) }
	for _, test := range []struct {
		name   string
		method string
		body   func() io.Reader
		err    error
		calls  int
	}{
		{"GET", http.MethodGet, nil, notConnected, 2},
		{"HEAD", http.MethodHead, nil, notConnected, 2},
		{"DELETE", http.MethodDelete, nil, notConnected, 2},
		{"PUT with a body", http.MethodPut, func() io.Reader { return strings.NewReader("body") }, notConnected, 2},
		{"PUT with a body that is used up", http.MethodPut, unrepeatable, notConnected, 1},
		{"POST", http.MethodPost, func() io.Reader { return strings.NewReader("body") }, notConnected, 1},
		{"PATCH", http.MethodPatch, nil, notConnected, 1},
		{"GET, connected", http.MethodGet, nil, failed, 1},
		{"GET, broken while reading", http.MethodGet, nil, &net.OpError{Op: "read", Err: failed}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			withRegistry(t, registryOf(shop("a"), shop("b"), shop("c")), nil, func(t *testing.T, c *discovery.Client) {
				base := &called{fail: func(*http.Request) error { return test.err }}
				var body io.Reader
				if test.body != nil {
					body = test.body()
				}
				req, err := http.NewRequest(test.method, "http://SHOP/path", body)
				require.NoError(t, err)
				_, err = (&http.Client{Transport: c.RoundTripper(base)}).Do(req)
				require.ErrorIs(t, err, test.err)
				require.Len(t, base.requests, test.calls)
				if test.calls == 2 {
					assert.NotEqual(t, base.hosts()[0], base.hosts()[1], "another instance")
					assert.Equal(t, base.bodies[0], base.bodies[1], "with the body anew")
				}
			})
		})
	}
}

func TestRetrySucceeds(t *testing.T) {
	withRegistry(t, registryOf(shop("a"), shop("b")), nil, func(t *testing.T, c *discovery.Client) {
		for range 20 {
			base := &called{fail: func(req *http.Request) error {
				if req.URL.Host == "a.example.org:8080" {
					return notConnected
				}
				return nil
			}}
			resp, err := (&http.Client{Transport: c.RoundTripper(base)}).Get("http://SHOP/")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, "b.example.org:8080", base.hosts()[len(base.hosts())-1])
		}
	})
}

func TestNoRetry(t *testing.T) {
	t.Run("with one instance", func(t *testing.T) {
		withRegistry(t, registryOf(shop("a")), nil, func(t *testing.T, c *discovery.Client) {
			base := &called{fail: func(*http.Request) error { return notConnected }}
			_, err := (&http.Client{Transport: c.RoundTripper(base)}).Get("http://SHOP/")
			require.ErrorIs(t, err, notConnected)
			assert.Len(t, base.requests, 1)
		})
	})
	t.Run("when the context has ended", func(t *testing.T) {
		withRegistry(t, registryOf(shop("a"), shop("b")), nil, func(t *testing.T, c *discovery.Client) {
			ctx, cancel := context.WithCancel(t.Context())
			base := &called{fail: func(*http.Request) error { cancel(); return notConnected }}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://SHOP/", nil)
			require.NoError(t, err)
			_, err = c.RoundTripper(base).RoundTrip(req)
			require.ErrorIs(t, err, notConnected)
			assert.Len(t, base.requests, 1)
		})
	})
}

// TestZoneAffinity: the own zone's instances are called as long as there are
// any, then those of the next, and a retry takes what is left.
func TestZoneAffinity(t *testing.T) {
	near, next, far := shop("near", inZone("a")), shop("next", inZone("b")), shop("far", inZone("z"))
	zones := func(cfg *discovery.Config) { cfg.Zones = []string{"a", "b"} }
	picks := func(c *discovery.Client) map[string]bool {
		out := map[string]bool{}
		for range 100 {
			i, err := c.Pick("shop")
			require.NoError(t, err)
			out[i.ID()] = true
		}
		return out
	}
	withRegistry(t, registryOf(far, next, near), zones, func(t *testing.T, c *discovery.Client) {
		assert.Equal(t, map[string]bool{"near": true}, picks(c))
		assert.Equal(t, "near", c.View().VIP("shop")[0].ID(), "the nearest first")
		base := &called{fail: func(*http.Request) error { return notConnected }}
		_, err := (&http.Client{Transport: c.RoundTripper(base)}).Get("http://SHOP/")
		require.Error(t, err)
		assert.Equal(t, "near.example.org:8080", base.hosts()[0])
		assert.NotEqual(t, "near.example.org:8080", base.hosts()[1])
	})
	withRegistry(t, registryOf(far, next, near), func(cfg *discovery.Config) {
		cfg.Instance = me()
		cfg.Instance.Metadata = map[string]string{"zone": "a"}
	}, func(t *testing.T, c *discovery.Client) {
		assert.Equal(t, map[string]bool{"near": true}, picks(c), "the instance's zone is the own one")
	})
	withRegistry(t, registryOf(far, next), zones, func(t *testing.T, c *discovery.Client) {
		assert.Equal(t, map[string]bool{"next": true}, picks(c))
	})
	withRegistry(t, registryOf(far), zones, func(t *testing.T, c *discovery.Client) {
		assert.Equal(t, map[string]bool{"far": true}, picks(c))
	})
	withRegistry(t, registryOf(far, next, near), nil, func(t *testing.T, c *discovery.Client) {
		assert.Equal(t, map[string]bool{"far": true, "near": true, "next": true}, picks(c), "without zones all alike")
	})
}

func TestOtherRegionsComeLast(t *testing.T) {
	region := func(name string) func(*eureka.InstanceInfo) {
		return func(i *eureka.InstanceInfo) { i.Metadata = map[string]string{"region": name} }
	}
	withRegistry(t, registryOf(shop("remote", region("eu")), shop("local", region("us")), shop("other", region("eu"), inApp("OTHER"))),
		func(cfg *discovery.Config) { cfg.Region, cfg.RemoteRegions = "us", []string{"eu"} },
		func(t *testing.T, c *discovery.Client) {
			for range 50 {
				i, err := c.Pick("shop")
				require.NoError(t, err)
				assert.Equal(t, "local", i.ID())
			}
			i, err := c.Pick("other")
			require.NoError(t, err)
			assert.Equal(t, "other", i.ID(), "where the own region has none")
		})
}

func TestPickers(t *testing.T) {
	withRegistry(t, registryOf(shop("a"), shop("b"), shop("c")), func(cfg *discovery.Config) { cfg.Picker = discovery.RoundRobin() },
		func(t *testing.T, c *discovery.Client) {
			counts := map[string]int{}
			last := ""
			for range 30 {
				i, err := c.Pick("shop")
				require.NoError(t, err)
				counts[i.ID()]++
				assert.NotEqual(t, last, i.ID())
				last = i.ID()
			}
			assert.Equal(t, map[string]int{"a": 10, "b": 10, "c": 10}, counts)
		})
	withRegistry(t, registryOf(shop("a"), shop("b"), shop("c")), nil, func(t *testing.T, c *discovery.Client) {
		counts := map[string]int{}
		for range 3000 {
			i, err := c.Pick("SHOP")
			require.NoError(t, err)
			counts[i.ID()]++
		}
		for id, count := range counts {
			assert.InDelta(t, 1000, count, 200, id)
		}
		_, err := c.Pick("nobody")
		assert.ErrorIs(t, err, discovery.ErrNoUsableInstance)
		assert.ErrorContains(t, err, "nobody")
	})
}
