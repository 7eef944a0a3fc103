package discovery_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
)

// hosts returns which servers were asked, in order.
func (s *script) hosts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{}
	for _, a := range s.requests {
		out = append(out, a.host)
	}
	return out
}

// inZones is a configuration with a server in each of some zones and one of
// any, a the own one.
func inZones(s *script) discovery.Config {
	cfg := fetching(s)
	cfg.DisableDelta = true
	cfg.ServiceURLs = []string{"http://any/eureka"}
	cfg.ZoneURLs = map[string][]string{"a": {"http://a/eureka"}, "b": {"http://b/eureka"}, "c": {"http://c/eureka"}}
	cfg.Zones = []string{"a", "b"}
	return cfg
}

// down refuses connections to some hosts.
func (s *script) down(hosts ...string) {
	s.change(func(a asked) reply {
		if slices.Contains(hosts, a.host) {
			return reply{err: errDial}
		}
		return reply{}
	})
}

func TestFailoverQuarantineAndZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, inZones(s))
		elapse(31 * time.Second)
		assert.Equal(t, []string{"a", "a"}, s.hosts(), "the own zone's as long as it answers")

		s.clear()
		s.down("a")
		elapse(60 * time.Second) // at 60 s and 90 s
		assert.Equal(t, []string{"a", "b", "b"}, s.hosts(), "the next zone's; the one that failed is left alone")
		assert.NoError(t, c.Report().FetchErr)

		s.clear()
		s.down("a", "b")
		elapse(30 * time.Second) // at 120 s: the quarantine of a, which began at 60 s, is over
		assert.Equal(t, []string{"a", "b", "c"}, s.hosts())

		s.clear()
		s.down()
		elapse(30 * time.Second)
		assert.Equal(t, []string{"c"}, s.hosts(), "both are left alone")
		elapse(30 * time.Second)
		assert.Equal(t, []string{"c", "a"}, s.hosts(), "and the own zone's is back")
	})
}

func TestAllServersInQuarantineAreTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, inZones(s))
		s.down("a", "b", "c", "any")
		s.clear()
		elapse(31 * time.Second)
		assert.Equal(t, []string{"a", "b", "c"}, s.hosts(), "three tries for one operation")
		assert.ErrorIs(t, c.Report().FetchErr, errRefused)
		s.clear()
		elapse(30 * time.Second)
		assert.Equal(t, []string{"any", "a", "b"}, s.hosts(), "first the one that did not fail, then the longest in quarantine")
	})
}

func TestWhichAnswersAreTriedElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		reply     reply
		elsewhere bool
	}{
		"refused":          {reply{err: errDial}, true},
		"no answer":        {reply{hang: true}, true},
		"500":              {reply{status: http.StatusInternalServerError}, true},
		"503":              {reply{status: http.StatusServiceUnavailable}, true},
		"429":              {reply{status: http.StatusTooManyRequests}, true},
		"not a registry":   {reply{body: "<html>"}, true},
		"400":              {reply{status: http.StatusBadRequest}, false},
		"401":              {reply{status: http.StatusUnauthorized}, false},
		"404":              {reply{status: http.StatusNotFound}, false},
		"a usual answer":   {reply{}, false},
		"a strange status": {reply{status: http.StatusAccepted}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, func(a asked) reply {
					if a.host == "a" {
						return test.reply
					}
					return reply{}
				})
				start(t, inZones(s))
				want := []string{"a"}
				if test.elsewhere {
					want = []string{"a", "b"}
				}
				elapse(0)
				assert.Equal(t, want, s.hosts())
			})
		})
	}
}

// TestGivingUpIsNoServersFault: a call whose context ends does not put the
// server into quarantine.
func TestGivingUpIsNoServersFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, inZones(s))
		s.change(func(asked) reply { return reply{hang: true} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Error(t, c.Refresh(ctx))
		s.down()
		s.clear()
		require.NoError(t, c.Refresh(t.Context()))
		assert.Equal(t, []string{"a"}, s.hosts())
	})
}

// TestServersWithinAZoneShareTheLoad: clients differ in their order, and one
// client draws it anew from time to time.
func TestServersWithinAZoneShareTheLoad(t *testing.T) {
	urls := []string{"http://one/eureka", "http://two/eureka", "http://three/eureka"}
	synctest.Test(t, func(t *testing.T) {
		first, tenures := map[string]bool{}, map[string]bool{}
		for range 30 {
			s := newScript(t, nil)
			cfg := fetching(s)
			cfg.ServiceURLs = urls
			c := start(t, cfg)
			first[s.hosts()[0]] = true
			require.NoError(t, c.Stop(t.Context()))
		}
		assert.Len(t, first, 3)

		s := newScript(t, nil)
		cfg := fetching(s)
		cfg.ServiceURLs = urls
		start(t, cfg)
		for range 30 {
			s.clear()
			elapse(19 * time.Minute)
			hosts := s.hosts()
			assert.LessOrEqual(t, len(slices.Compact(hosts)), 2, "one server is kept for a tenure")
			tenures[hosts[0]] = true
		}
		assert.Len(t, tenures, 3)
	})
}

// TestRedirects: one that keeps the operation is followed, one that would make
// a heartbeat a mere GET is a failure.
func TestRedirects(t *testing.T) {
	for status, followed := range map[int]bool{http.StatusTemporaryRedirect: true, http.StatusFound: false} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, func(a asked) reply {
				if a.host == "registry.example.org" {
					return reply{status: status, header: http.Header{"Location": {"http://other.example.org/eureka" + a.uri}}}
				}
				return reply{}
			})
			cfg := registering(s)
			cfg.ServiceURLs = []string{"http://agent:secret@registry.example.org/eureka"}
			c := start(t, cfg)
			if followed {
				require.NoError(t, c.Report().RegistrationErr)
				a := s.of("register")[1]
				assert.Equal(t, "other.example.org", a.host)
				assert.Equal(t, s.of("register")[0].body, a.body)
				assert.Empty(t, a.header.Get("Authorization"), "credentials stay with the server they are for")
			} else {
				require.Error(t, c.Report().RegistrationErr)
				assert.Equal(t, []string{"registry.example.org"}, s.hosts())
			}
		})
	}
}

func TestDefaultServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, discovery.Config{Transport: s, Logger: testLogger(t)})
		assert.Equal(t, "http://localhost:8761/eureka/apps", s.requests[0].url)
		require.NoError(t, c.Stop(t.Context()))
	})
}

func TestCallsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(a asked) reply {
			if a.host == "a" {
				return reply{status: http.StatusBadGateway, after: time.Second}
			}
			return reply{after: 2 * time.Second}
		})
		cfg := inZones(s)
		calls := hold(map[string]discovery.Call{})
		cfg.OnCall = func(call discovery.Call) {
			next := maps.Clone(calls.get())
			next[call.Server] = call
			calls.set(next)
		}
		start(t, cfg)
		a, b := calls.get()["http://a/eureka"], calls.get()["http://b/eureka"]
		require.Len(t, calls.get(), 2)
		assert.Equal(t, "fetch applications 502 1s", fmt.Sprint(a.Operation, " ", a.Status, " ", a.Took))
		assert.Error(t, a.Err)
		assert.Equal(t, "fetch applications 200 2s", fmt.Sprint(b.Operation, " ", b.Status, " ", b.Took))
		assert.NoError(t, b.Err)
	})
}
