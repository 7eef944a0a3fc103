package discovery_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
)

// The cases of trouble in the field, by number. Each runs in virtual time.

func TestH12NotFoundMeansRegisterAgain(t *testing.T) {
	for name, failing := range map[string]bool{"taken": false, "fails once": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				known := true // whether the registry has the instance
				renewals, registrations := 0, 0
				s := newScript(t, nil)
				s.change(func(a asked) reply {
					switch a.kind() {
					case "register":
						registrations++
						if failing && registrations == 2 {
							return reply{status: http.StatusInternalServerError}
						}
						known = true
					case "renew":
						renewals++
						if renewals == 3 {
							known = false
						}
						if !known {
							return reply{status: http.StatusNotFound}
						}
					}
					return reply{}
				})
				start(t, registering(s))
				elapse(10*30*time.Second + time.Second)

				assert.Equal(t, every(30*time.Second, 30*time.Second, 10), s.times("renew"), "one loop at the same pace")
				want := seconds(0, 90)
				if failing {
					want = seconds(0, 90, 120)
				}
				assert.Equal(t, want, s.times("register"))
				for _, again := range s.of("register") {
					assert.Equal(t, s.of("register")[0].body, again.body, "the same instance")
				}
			})
		})
	}
}

func TestH13RegistryDownAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.change(func(a asked) reply {
			if a.at < 20*time.Second {
				return reply{err: errDial}
			}
			return reply{}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c, err := discovery.New(both(s))
		require.NoError(t, err)
		require.NoError(t, c.Start(ctx))
		assert.Less(t, time.Since(s.began), 5*time.Second, "the caller is not blocked past its context")
		assert.ErrorIs(t, c.Report().RegistrationErr, errRefused)
		assert.ErrorIs(t, c.Report().FetchErr, errRefused)

		elapse(time.Minute)
		for _, kind := range []string{"register", "full"} {
			times := s.times(kind)
			require.Greater(t, len(times), 3)
			longest := time.Duration(0)
			for n := 1; times[n-1] < 20*time.Second; n++ {
				pause := times[n] - times[n-1]
				assert.LessOrEqual(t, pause, 10*time.Second, "%s: capped", kind)
				assert.Greater(t, pause, min(longest, 7*time.Second), "%s: growing", kind)
				assert.NotZero(t, pause%time.Second, "%s: randomised", kind)
				longest = pause
			}
		}
		assert.Less(t, s.times("register")[len(s.of("register"))-1], 35*time.Second, "registered soon after")
		assert.NoError(t, c.Report().RegistrationErr)
		assert.NoError(t, c.Report().FetchErr)
		assert.False(t, c.Report().Registered.IsZero())
		require.NoError(t, c.Stop(t.Context()))
	})
}

// TestH13StartHonoursItsContext: also when the registry does not answer at all.
func TestH13StartHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(asked) reply { return reply{hang: true} })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		c, err := discovery.New(both(s))
		require.NoError(t, err)
		require.NoError(t, c.Start(ctx))
		assert.Equal(t, 2*time.Second, time.Since(s.began))
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, c.Stop(ctx), context.DeadlineExceeded)
	})
}

func TestH14FetchFails(t *testing.T) {
	whole := registryOf(shop("shop-1"), shop("shop-2", withStatus(eureka.Down)))
	synctest.Test(t, func(t *testing.T) {
		bad := []reply{
			{err: errDial},
			{hang: true},
			{status: http.StatusInternalServerError, body: "oops"},
			{body: whole[:len(whole)/2]},
			{body: "<html><body>Sign in</body></html>"},
		}
		s := newScript(t, nil)
		fetches := 0
		s.change(func(a asked) reply {
			fetches++
			switch {
			case fetches == 1:
				return reply{body: whole}
			case fetches <= 1+len(bad):
				return bad[fetches-2]
			}
			return reply{body: registryOf()}
		})
		cfg := fetching(s)
		cfg.DisableDelta = true
		c := start(t, cfg)
		elapse(10 * time.Second)
		for n := range bad {
			elapse(30 * time.Second) // the answer that does not come is given up by now
			assert.Equal(t, []string{"shop-1", "shop-2"}, ids(all(c, "SHOP")), "the last good registry is kept whole")
			age, fetched := c.Age()
			assert.True(t, fetched)
			assert.Equal(t, time.Duration(n+1)*30*time.Second+10*time.Second, age, "the age grows")
			assert.Error(t, c.Report().FetchErr)
		}
		elapse(30 * time.Second)
		assert.Equal(t, every(30*time.Second, 0, 7), s.times("full"), "the pace stays")
		assert.Zero(t, c.View().Len(), "a good answer with no applications empties it")
		assert.Empty(t, c.View().Applications())
		age, _ := c.Age()
		assert.Equal(t, 10*time.Second, age)
		assert.NoError(t, c.Report().FetchErr)
	})
}

func TestH15ApplyingADelta(t *testing.T) {
	outOfService := shop("a", withStatus(eureka.OutOfService), withAction(eureka.Modified))
	stranger := shop("x", inApp("NOBODY"), withAction(eureka.Deleted))
	steps := []struct {
		name    string
		delta   []*eureka.InstanceInfo
		hash    string
		shop    []string
		usable  []string
		applied bool
	}{
		{"MODIFIED A", []*eureka.InstanceInfo{outOfService}, "OUT_OF_SERVICE_1_UP_1_", []string{"a", "b"}, []string{"b"}, true},
		{"MODIFIED A again", []*eureka.InstanceInfo{outOfService, outOfService}, "OUT_OF_SERVICE_1_UP_1_", []string{"a", "b"}, []string{"b"}, true},
		{"DELETED B", []*eureka.InstanceInfo{shop("b", withAction(eureka.Deleted))}, "OUT_OF_SERVICE_1_", []string{"a"}, []string{}, true},
		{"DELETED of an application never seen", []*eureka.InstanceInfo{stranger}, "OUT_OF_SERVICE_1_", []string{"a"}, []string{}, true},
		{"DELETED A", []*eureka.InstanceInfo{shop("a", withAction(eureka.Deleted))}, "", []string{}, []string{}, false},
	}
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.serve(registryOf(shop("a"), shop("b")))
		c := start(t, fetching(s))
		for _, step := range steps {
			s.serve(registryWith(1, step.hash, step.delta...))
			elapse(30 * time.Second)
			assert.Equal(t, step.hash, c.View().HashCode(), step.name)
			assert.Equal(t, step.shop, ids(all(c, "SHOP")), step.name)
			assert.Equal(t, step.usable, ids(c.View().VIP("shop")), step.name)
			_, known := c.View().Application("NOBODY")
			assert.False(t, known, step.name)
			_, there := c.View().Application("SHOP")
			assert.Equal(t, step.applied, there, step.name)
		}
		assert.Len(t, s.of("full"), 1, "no step made a full fetch necessary")

		s.change(func(a asked) reply {
			if a.kind() == "delta" { // one that does not fit
				return reply{body: registryWith(1, "UP_7_")}
			}
			return reply{body: registryOf(shop("c"))}
		})
		s.clear()
		elapse(30 * time.Second)
		assert.Len(t, s.of("delta"), 1)
		assert.Len(t, s.of("full"), 1, "everything is fetched once")
		assert.Equal(t, []string{"c"}, ids(c.View().VIP("shop")))
	})
}

func TestH16TheBaseURL(t *testing.T) {
	var sent [2][]string
	for n, url := range []string{"https://reg.example.org/eureka", "https://reg.example.org/eureka/"} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, nil)
			cfg := both(s)
			cfg.ServiceURLs = []string{url}
			c := start(t, cfg)
			elapse(31 * time.Second)
			require.NoError(t, c.Stop(t.Context()))
			for _, a := range s.of("register", "renew", "full", "delta", "cancel") {
				sent[n] = append(sent[n], strings.SplitN(a.method+" "+a.url, "?", 2)[0])
			}
		})
		slices.Sort(sent[n])
	}
	assert.Equal(t, []string{
		"DELETE https://reg.example.org/eureka/apps/ORDERS/orders-1",
		"GET https://reg.example.org/eureka/apps",
		"GET https://reg.example.org/eureka/apps/delta",
		"POST https://reg.example.org/eureka/apps/ORDERS",
		"PUT https://reg.example.org/eureka/apps/ORDERS/orders-1",
	}, sent[0])
	assert.Equal(t, sent[0], sent[1])
}

func TestH17CredentialsInTheURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newScript(t, nil)
		cfg := both(s)
		cfg.ServiceURLs = []string{"https://agent:p%40ss%21%25@reg.example.org/eureka"}
		cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		calls := hold("")
		cfg.OnCall = func(call discovery.Call) { calls.set(calls.get() + fmt.Sprint(call)) }
		c := start(t, cfg)
		elapse(31 * time.Second)
		s.change(func(asked) reply { return reply{err: errDial} })
		elapse(time.Minute)
		texts := []string{fmt.Sprint(c.TakeOutOfService(t.Context())), fmt.Sprint(c.Refresh(t.Context())),
			fmt.Sprint(c.Report()), fmt.Sprintf("%+v %v %#v", cfg, cfg, cfg)}
		texts = append(texts, fmt.Sprint(c.Stop(t.Context())))

		kinds := map[string]bool{}
		for _, a := range s.of("register", "renew", "full", "delta", "cancel", "status") {
			kinds[a.kind()] = true
			user, password, ok := (&http.Request{Header: a.header}).BasicAuth()
			assert.True(t, ok, a.kind())
			assert.Equal(t, "agent", user)
			assert.Equal(t, "p@ss!%", password)
			texts = append(texts, a.url)
		}
		assert.Len(t, kinds, 6, "every kind of request was seen")
		assert.NotEmpty(t, log.String())
		assert.NotEmpty(t, calls.get())
		texts = append(texts, log.String(), calls.get())
		assertNoSecrets(t, texts)
	})
}

// TestH17BadURLs: also what is wrong with a URL is told without it.
func TestH17BadURLs(t *testing.T) {
	for _, url := range []string{
		"https://agent:p%zz@reg.example.org/eureka", "ftp://agent:secret@reg.example.org", "https://agent:secret@/eureka",
		"https://agent:secret@reg.example.org/eureka?x=1", "agent:secret@reg.example.org", "https://agent:sec ret@reg.example.org:x/",
	} {
		_, err := discovery.New(discovery.Config{ServiceURLs: []string{"http://ok.example.org", url}})
		require.Error(t, err, url)
		assert.Contains(t, err.Error(), "ServiceURLs[1]")
		assertNoSecrets(t, []string{err.Error()})
	}
}

func assertNoSecrets(t *testing.T, texts []string) {
	t.Helper()
	for _, text := range texts {
		for _, secret := range []string{"agent", "p@ss", "p%40ss", "secret", "p%zz", "sec ret"} {
			assert.NotContains(t, text, secret)
		}
	}
}

func TestH18Stopping(t *testing.T) {
	registerSlowly := func(asked) reply { return reply{after: 2 * time.Second} }
	t.Run("the cancel follows the answer and is the last", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, registerSlowly)
			cfg := both(s)
			cfg.RegisterAtStart = false
			c := start(t, cfg)
			require.NoError(t, c.SetStatus(eureka.Starting))
			elapse(time.Second) // now the registration is under way
			require.Len(t, s.of("register"), 1)
			began := s.times("register")[0]
			require.NoError(t, c.Stop(t.Context()))
			assert.Equal(t, []time.Duration{began + 2*time.Second}, s.times("cancel"), "when the registration was answered")

			sent := len(s.requests)
			require.NoError(t, c.SetStatus(eureka.Up))
			assert.ErrorIs(t, c.TakeOutOfService(t.Context()), discovery.ErrNotRunning)
			assert.ErrorIs(t, c.Refresh(t.Context()), discovery.ErrNotRunning)
			elapse(time.Hour)
			assert.Equal(t, "cancel", s.requests[len(s.requests)-1].kind())
			assert.Len(t, s.requests, sent, "nothing follows")
			assert.NoError(t, c.Stop(t.Context()), "stopping again is harmless")
		})
	})
	t.Run("the context ends first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, registerSlowly)
			cfg := registering(s)
			cfg.RegisterAtStart = false
			c := start(t, cfg)
			require.NoError(t, c.SetStatus(eureka.Starting))
			elapse(time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			began := time.Now()
			assert.ErrorIs(t, c.Stop(ctx), context.DeadlineExceeded)
			assert.Equal(t, 500*time.Millisecond, time.Since(began))
			elapse(time.Hour)
			assert.Empty(t, s.of("cancel", "renew"))
			assert.Len(t, s.of("register"), 1)
		})
	})
	t.Run("a change that came meanwhile is not registered any more", func(t *testing.T) {
		for range 20 { // two things are to be done then, of which one is by chance
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, nil)
				c := start(t, registering(s))
				s.change(registerSlowly)
				require.NoError(t, c.SetStatus(eureka.Down))
				elapse(time.Second)
				require.NoError(t, c.SetStatus(eureka.Up))
				require.NoError(t, c.Stop(t.Context()))
				assert.Equal(t, seconds(0, 0), s.times("register"))
				assert.Equal(t, seconds(2), s.times("cancel"))
			})
		}
	})
	t.Run("a fetch under way is given up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, nil)
			c := start(t, both(s))
			s.change(func(a asked) reply { return reply{hang: a.method == http.MethodGet} })
			elapse(31 * time.Second)
			require.NoError(t, c.Stop(t.Context()))
			assert.Equal(t, seconds(31), s.times("cancel"), "at once")
		})
	})
}

func TestH19TheTimestampInTheHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, registering(s))
		elapse(10 * time.Second)
		require.NoError(t, c.SetMetadata(map[string]string{"colour": "blue"}))
		elapse(21 * time.Second)
		require.Len(t, s.of("register"), 2, "one registration for the change")
		changed := s.of("register")[1].instance()
		assert.Equal(t, map[string]string{"colour": "blue"}, changed.Metadata)
		assert.True(t, changed.LastDirty.After(s.of("register")[0].instance().LastDirty))
		assert.Equal(t, []string{dirty(changed)}, dirtyOf(t, s.of("renew")))

		s.change(func(a asked) reply { // a change that the registry does not take yet
			if a.kind() == "register" {
				return reply{status: http.StatusServiceUnavailable}
			}
			return reply{}
		})
		require.NoError(t, c.SetMetadata(map[string]string{"colour": "red"}))
		elapse(30 * time.Second)
		assert.Equal(t, []string{dirty(changed), dirty(changed)}, dirtyOf(t, s.of("renew")), "of the registration that was answered 204")

		s.change(func(asked) reply { return reply{} })
		elapse(30 * time.Second)
		registrations := s.of("register")
		assert.Equal(t, dirty(registrations[len(registrations)-1].instance()), dirtyOf(t, s.of("renew"))[2])
	})
}

func dirty(i *eureka.InstanceInfo) string { return strconv.FormatInt(i.LastDirty.UnixMilli(), 10) }

// dirtyOf returns the timestamps that heartbeats carry.
func dirtyOf(t *testing.T, renewals []asked) []string {
	out := []string{}
	for _, a := range renewals {
		u, err := url.Parse(a.uri)
		require.NoError(t, err)
		assert.Equal(t, "UP", u.Query().Get("status"))
		out = append(out, u.Query().Get("lastDirtyTimestamp"))
	}
	return out
}

func TestH20PortAndScheme(t *testing.T) {
	ports := func(plain, secure bool) *eureka.InstanceInfo {
		return shop("shop-1", func(i *eureka.InstanceInfo) { i.Port.Enabled, i.SecurePort.Enabled = plain, secure })
	}
	cases := []struct {
		name          string
		instance      *eureka.InstanceInfo
		preferPlain   bool
		want, wantTLS string
	}{
		{"(a) only plain", ports(true, false), false, "http://shop-1.example.org:8080", ""},
		{"(b) only secure", ports(false, true), false, "https://shop-1.example.org:8443", "https://shop-1.example.org:8443"},
		{"(c) both: secure", ports(true, true), false, "https://shop-1.example.org:8443", "https://shop-1.example.org:8443"},
		{"(c) both, plain preferred", ports(true, true), true, "http://shop-1.example.org:8080", "https://shop-1.example.org:8443"},
		{"(d) none", ports(false, false), false, "", ""},
		{"(d) port 0", shop("shop-1", func(i *eureka.InstanceInfo) { i.Port.Number = 0 }), false, "", ""},
		{"(d) port -1", shop("shop-1", func(i *eureka.InstanceInfo) { i.Port.Number = -1 }), false, "", ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := fetching(newScript(t, func(asked) reply { return reply{body: registryOf(test.instance)} }))
				cfg.PreferPlainPort = test.preferPlain
				c := start(t, cfg)
				at, err := c.Endpoint(test.instance)
				if test.want == "" {
					assert.ErrorIs(t, err, discovery.ErrNoPort)
				} else {
					require.NoError(t, err)
					assert.Equal(t, test.want, at.String())
				}
				assert.Equal(t, test.want, calledAt(t, c, "http://SHOP"), "a request by name")
				assert.Equal(t, test.wantTLS, calledAt(t, c, "https://SHOP"), "a request that must be secure")
			})
		})
	}
}

// calledAt returns where a request to a name is sent, or nothing.
func calledAt(t *testing.T, c *discovery.Client, name string) string {
	var at string
	client := http.Client{Transport: c.RoundTripper(transport(func(req *http.Request) (*http.Response, error) {
		at = req.URL.Scheme + "://" + req.URL.Host
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}))}
	resp, err := client.Get(name + "/path")
	if err != nil {
		require.ErrorIs(t, err, discovery.ErrNoPort)
		require.ErrorIs(t, err, discovery.ErrNoUsableInstance)
		return at
	}
	require.NoError(t, resp.Body.Close())
	return at
}

// transport is a function as a transport.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestH21TheHeartbeatsAnswer(t *testing.T) {
	bodies := []reply{
		{},
		{body: "<html>" + strings.Repeat("x", 10_000), header: http.Header{"Content-Type": {"text/html"}}},
		{body: `{"message": "Not Found"}`, header: http.Header{"Content-Type": {"application/json"}}},
		{body: "\x00\xff", header: http.Header{"Content-Type": {"image/png"}, "Content-Encoding": {"gzip"}}},
	}
	synctest.Test(t, func(t *testing.T) {
		renewals := 0
		s := newScript(t, nil)
		s.change(func(a asked) reply {
			if a.kind() != "renew" {
				return reply{}
			}
			r := bodies[renewals/2%len(bodies)]
			r.status = []int{http.StatusOK, http.StatusNotFound}[renewals%2]
			renewals++
			return r
		})
		c := start(t, registering(s))
		elapse(time.Duration(2*len(bodies))*30*time.Second + time.Second)
		assert.Equal(t, every(30*time.Second, 30*time.Second, 2*len(bodies)), s.times("renew"))
		assert.Equal(t, seconds(0, 60, 120, 180, 240), s.times("register"), "after each 404, and only then")
		require.NoError(t, c.Stop(t.Context()))
		assert.Zero(t, s.open, "every body is closed")
	})
}

func TestH22ASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(asked) reply { return reply{after: 5 * time.Second} })
		cfg := both(s)
		cfg.Instance.RenewalInterval, cfg.FetchInterval = time.Second, time.Second
		c := start(t, cfg)
		elapse(20 * time.Second)
		level := runtime.NumGoroutine()
		elapse(40 * time.Second)
		assert.LessOrEqual(t, runtime.NumGoroutine(), level, "the number of goroutines stays level")
		assert.Equal(t, 1, s.most["renew"], "never more than one heartbeat under way")
		assert.GreaterOrEqual(t, len(s.of("renew")), 9, "and they go on")
		assert.LessOrEqual(t, s.most["full"]+s.most["delta"], 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		assert.ErrorIs(t, c.Stop(ctx), context.DeadlineExceeded)
		assert.LessOrEqual(t, time.Since(began), time.Second, "stop returns within its context")
	})
}

// all returns every instance of an application.
func all(c *discovery.Client, app string) []*eureka.InstanceInfo {
	a, _ := c.View().Application(app)
	return a.All
}
