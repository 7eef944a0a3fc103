package discovery_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
)

func TestFirstReplicationAfter40s(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		cfg := registering(s)
		cfg.RegisterAtStart = false
		c := start(t, cfg)
		elapse(39 * time.Second)
		assert.Empty(t, s.requests)
		assert.True(t, c.Report().Registered.IsZero())
		elapse(5*time.Minute + time.Second)
		assert.Equal(t, seconds(40), s.times("register"), "and again only when dirty")
		assert.Equal(t, every(30*time.Second, 70*time.Second, 10), s.times("renew"), "from the registration on")
		assert.Equal(t, s.began.Add(40*time.Second), c.Report().Registered)
		assert.Equal(t, s.began.Add(340*time.Second), c.Report().Renewed)
	})
}

func TestRegistersAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(asked) reply { return reply{after: time.Second} })
		c := start(t, registering(s))
		assert.Equal(t, time.Second, time.Since(s.began), "start waits for the first try")
		assert.False(t, c.Report().Registered.IsZero())
		assert.Equal(t, seconds(0), s.times("register"))
	})
}

func TestWhatIsRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		cfg := registering(s)
		cfg.Zones = []string{"a", "b"}
		cfg.Instance.HealthCheckURL, cfg.Instance.HomePageURL = "/health", "https://orders.example.org/"
		start(t, cfg)
		a := s.of("register")[0]
		assert.Equal(t, "/apps/ORDERS", a.path)
		assert.Equal(t, "application/json", a.header.Get("Content-Type"))
		assert.Equal(t, "application/json", a.header.Get("Accept"))
		assert.Equal(t, "orders", a.header.Get("DiscoveryIdentity-Name"))
		assert.Equal(t, &eureka.InstanceInfo{
			InstanceID: "orders-1", HostName: "orders-1.example.org", App: "ORDERS", IPAddr: "192.0.2.20",
			Status: eureka.Up, OverriddenStatus: eureka.Unknown,
			Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 443},
			CountryID: 1, VIPAddress: "orders", SecureVIPAddress: "orders",
			DataCenter:     eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: "MyOwn"},
			Lease:          eureka.LeaseInfo{RenewalInterval: 30 * time.Second, Duration: 90 * time.Second},
			Metadata:       map[string]string{"zone": "a"},
			HealthCheckURL: "http://orders-1.example.org:8080/health", HomePageURL: "https://orders.example.org/",
			LastUpdated: s.began.UTC(), LastDirty: s.began.UTC(),
		}, a.instance())
	})
}

func TestRegistrationIsRetriedWithGrowingPauses(t *testing.T) {
	for name, failure := range map[string]reply{
		"refused":             {err: errDial},
		"200 is not taken":    {status: http.StatusOK},
		"400":                 {status: http.StatusBadRequest, body: `{"error": "port: must be an object"}`},
		"no answer within 8s": {hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, func(asked) reply { return failure })
				c := start(t, registering(s))
				elapse(5 * time.Minute)
				assert.Error(t, c.Report().RegistrationErr)
				assert.Empty(t, s.of("renew"), "there is nothing to renew")
				times, took := s.times("register"), time.Duration(0)
				if failure.hang {
					took = 8 * time.Second
				}
				for n, multiple := range []int{1, 2, 4, 8, 10, 10, 10} {
					pause := times[n+1] - times[n] - took
					assert.LessOrEqual(t, pause, time.Duration(multiple)*time.Second)
					assert.GreaterOrEqual(t, pause, time.Duration(multiple)*time.Second*3/4)
				}
				s.change(func(asked) reply { return reply{} })
				elapse(20 * time.Second)
				assert.NoError(t, c.Report().RegistrationErr)
			})
		})
	}
}

func TestRegistrationErrorTellsTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(asked) reply {
			return reply{status: http.StatusBadRequest, body: "{\"error\":\n \"port: must be an object\"}"}
		})
		err := start(t, registering(s)).Report().RegistrationErr
		assert.EqualError(t, err, `register ORDERS/orders-1: answered 400 Bad Request: {"error": "port: must be an object"}`)
		var status *discovery.StatusError
		require.ErrorAs(t, err, &status)
		assert.Equal(t, http.StatusBadRequest, status.Status)
	})
}

func TestChangesAreRegisteredAtOnceButLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, registering(s))
		for n := range 5 {
			elapse(time.Second)
			require.NoError(t, c.SetMetadata(map[string]string{"n": string(rune('a' + n))}))
		}
		elapse(time.Second)
		assert.Equal(t, seconds(0, 1, 2), s.times("register"), "a burst of two")
		elapse(5 * time.Minute)
		assert.Equal(t, seconds(0, 1, 2, 32), s.times("register"), "the rest with the planned run")
		assert.Equal(t, map[string]string{"n": "e"}, s.of("register")[3].instance().Metadata)

		s.clear()
		require.NoError(t, c.SetStatus(eureka.Down))
		elapse(time.Second)
		require.Len(t, s.of("register"), 1)
		assert.Equal(t, eureka.Down, s.of("register")[0].instance().Status)
		require.NoError(t, c.SetStatus(eureka.Down))
		require.NoError(t, c.SetMetadata(map[string]string{"n": "e", "nothing": ""}))
		elapse(5 * time.Minute)
		assert.Len(t, s.of("register"), 1, "what changes nothing is not registered")
	})
}

func TestChangeBeforeTheFirstReplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		cfg := registering(s)
		cfg.RegisterAtStart = false
		cfg.Instance.Status = eureka.Starting
		c := start(t, cfg)
		elapse(10 * time.Second)
		require.NoError(t, c.SetStatus(eureka.Up))
		elapse(5 * time.Minute)
		assert.Equal(t, seconds(10), s.times("register"), "the planned run is put off")
	})
}

func TestDirtyTimestampsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, registering(s))
		last := c.Instance().LastDirty
		for n := range 10 { // in the same millisecond
			require.NoError(t, c.SetMetadata(map[string]string{"n": string(rune('a' + n))}))
			assert.Equal(t, last.Add(time.Millisecond), c.Instance().LastDirty)
			last = c.Instance().LastDirty
		}
	})
}

func TestUpdateKeepsWhatIdentifies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, registering(newScript(t, nil)))
		before := c.Instance()
		require.NoError(t, c.Update(func(i *eureka.InstanceInfo) {
			i.App, i.InstanceID, i.VIPAddress = "OTHER", "other-1", "orders-v2"
		}))
		assert.Equal(t, before.Key(), c.Instance().Key())
		assert.Equal(t, "orders-v2", c.Instance().VIPAddress)
		assert.Equal(t, "orders", before.VIPAddress, "what was handed out stays as it was")
	})
}

func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(a asked) reply { return reply{after: time.Second} })
		cfg := registering(s)
		cfg.Instance.ID = "svc#1/2 ü?%"
		start(t, cfg)
		elapse(301 * time.Second)
		assert.Equal(t, every(30*time.Second, 31*time.Second, 10), s.times("renew"), "answers do not delay the pace")
		a := s.of("renew")[0]
		assert.Equal(t, "/apps/ORDERS/svc%231%2F2%20%C3%BC%3F%25", a.path)
		u, err := url.Parse(a.uri)
		require.NoError(t, err)
		assert.Equal(t, url.Values{"status": {"UP"}, "lastDirtyTimestamp": {dirty(s.of("register")[0].instance())}}, u.Query())
		assert.Empty(t, a.body)
	})
}

func TestHeartbeatPauseDoublesAfterTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		start(t, registering(s))
		s.change(func(asked) reply { return reply{hang: true} })
		elapse(30 * time.Minute)
		times := s.times("renew")
		assert.Equal(t, 30*time.Second, times[0])
		for n, multiple := range []int{2, 4, 8, 10, 10} {
			pause := times[n+1] - times[n]
			assert.LessOrEqual(t, pause, time.Duration(multiple)*30*time.Second)
			assert.GreaterOrEqual(t, pause, time.Duration(multiple)*30*time.Second*3/4)
		}
		s.change(func(asked) reply { return reply{} })
		s.clear()
		elapse(10 * time.Minute)
		times = s.times("renew")
		for n := range times[1:] {
			assert.Equal(t, 30*time.Second, times[n+1]-times[n], "and back")
		}
	})
}

func TestHeartbeatPaceStaysAfterOtherFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, registering(s))
		s.change(func(asked) reply { return reply{err: errDial} })
		elapse(151 * time.Second)
		assert.Equal(t, every(30*time.Second, 30*time.Second, 5), s.times("renew"))
		assert.ErrorIs(t, c.Report().RenewalErr, errRefused)
		assert.Len(t, s.of("register"), 1, "only a 404 means register again")
	})
}

func TestOutOfServiceAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, registering(s))
		require.NoError(t, c.TakeOutOfService(t.Context()))
		require.NoError(t, c.ReturnToService(t.Context()))
		sent := s.of("status")
		require.Len(t, sent, 2)
		assert.Equal(t, "PUT /apps/ORDERS/orders-1/status?value=OUT_OF_SERVICE", sent[0].method+" "+sent[0].uri)
		assert.Equal(t, "DELETE /apps/ORDERS/orders-1/status?value=UP", sent[1].method+" "+sent[1].uri)
		assert.Equal(t, eureka.Up, c.Instance().Status, "the own word stays")

		s.change(func(asked) reply { return reply{status: http.StatusNotFound} })
		assert.ErrorIs(t, c.TakeOutOfService(t.Context()), eureka.ErrLeaseNotFound)
	})
}

func TestHealthCheckSetsTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		cfg := registering(s)
		healthy := hold(eureka.Starting)
		var given []eureka.Status
		cfg.HealthCheck = func(_ context.Context, current eureka.Status) eureka.Status {
			given = append(given, current)
			return healthy.get()
		}
		c := start(t, cfg)
		assert.Equal(t, eureka.Starting, s.of("register")[0].instance().Status, "asked before the first registration")
		elapse(10 * time.Second)
		healthy.set(eureka.Up)
		elapse(21 * time.Second)
		assert.Equal(t, seconds(0, 30), s.times("register"))
		assert.Equal(t, eureka.Up, s.of("register")[1].instance().Status)
		healthy.set("")
		elapse(30 * time.Second)
		assert.Equal(t, eureka.Up, c.Instance().Status, "no status changes nothing")
		assert.Equal(t, []eureka.Status{eureka.Up, eureka.Starting, eureka.Up}, given)
	})
}

func TestHealthCheckThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		cfg := registering(s)
		cfg.HealthCheck = func(ctx context.Context, _ eureka.Status) eureka.Status {
			<-ctx.Done()
			return eureka.Down
		}
		c := start(t, cfg)
		elapse(5 * time.Minute)
		assert.Equal(t, seconds(5), s.times("register"), "its context ends after 5 s")
		assert.Equal(t, eureka.Down, s.of("register")[0].instance().Status)
		assert.Equal(t, every(30*time.Second, 35*time.Second, 10), s.times("renew"), "heartbeats go on")
		require.NoError(t, c.Stop(t.Context()))
	})
}

func TestStopWithoutARegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		cfg := registering(s)
		cfg.RegisterAtStart = false
		c := start(t, cfg)
		require.NoError(t, c.Stop(t.Context()))
		assert.Empty(t, s.requests, "nothing to cancel")
		assert.ErrorIs(t, c.Start(t.Context()), discovery.ErrNotRunning, "a client has one life")
	})
}

func TestStopBeforeStart(t *testing.T) {
	c, err := discovery.New(discovery.Config{})
	require.NoError(t, err)
	require.NoError(t, c.Stop(t.Context()))
	require.NoError(t, c.Stop(t.Context()))
	assert.ErrorIs(t, c.Start(t.Context()), discovery.ErrNotRunning)
}

func TestStopTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, registering(s))
		s.change(func(asked) reply { return reply{after: 2 * time.Second} })
		first := make(chan error)
		go func() { first <- c.Stop(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, c.Stop(ctx), context.DeadlineExceeded, "the second waits within its context")
		assert.NoError(t, c.Stop(t.Context()))
		assert.NoError(t, <-first)
		assert.Len(t, s.of("cancel"), 1)
	})
}

func TestStopCancelsALeaseWhoseAnswerWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(a asked) reply { return reply{hang: a.kind() == "register"} })
		c := start(t, registering(s))
		require.NoError(t, c.Stop(t.Context()))
		assert.Len(t, s.of("cancel"), 1)
	})
}

func TestStopTellsOfACancelThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, registering(s))
		s.change(func(asked) reply { return reply{err: errDial} })
		assert.ErrorIs(t, c.Stop(t.Context()), errRefused)
	})
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, registering(s))
		s.change(func(asked) reply { return reply{status: http.StatusNotFound} })
		assert.NoError(t, c.Stop(t.Context()), "a lease that is gone needs no cancel")
	})
}

// TestStopWithADeafTransport: Stop returns within its context
// even when a request ignores its own.
func TestStopWithADeafTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, both(s))
		s.change(func(asked) reply { return reply{after: time.Hour, deaf: true} })
		elapse(31 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		assert.ErrorIs(t, c.Stop(ctx), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
		elapse(2 * time.Hour)
		assert.Empty(t, s.of("cancel"), "also when the answers come at last")
	})
}

func TestFetchOnlyClientHasNoInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, fetching(s))
		assert.Nil(t, c.Instance())
		assert.ErrorIs(t, c.SetStatus(eureka.Up), discovery.ErrNoInstance)
		assert.ErrorIs(t, c.SetMetadata(map[string]string{"a": "b"}), discovery.ErrNoInstance)
		assert.ErrorIs(t, c.TakeOutOfService(t.Context()), discovery.ErrNoInstance)
		assert.ErrorIs(t, c.ReturnToService(t.Context()), discovery.ErrNoInstance)
		elapse(5 * time.Minute)
		assert.Empty(t, s.of("register", "renew"))
		require.NoError(t, c.Stop(t.Context()))
		assert.Empty(t, s.of("cancel"))
	})
}

func TestSetStatusKnowsTheProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, registering(newScript(t, nil)))
		assert.ErrorIs(t, c.SetStatus("SLEEPING"), eureka.ErrInvalid)
	})
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c, err := discovery.New(both(s))
		require.NoError(t, err)
		var kinds []string
		counts := map[discovery.EventKind]int{}
		remove := c.Subscribe(func(e discovery.Event) {
			counts[e.Kind]++
			if e.Kind != discovery.CacheRefreshed {
				kinds = append(kinds, e.Kind.String()+" "+string(e.Previous)+" "+string(e.Status))
			} else {
				assert.NotNil(t, e.View)
			}
			assert.Equal(t, time.Now(), e.Time)
		})
		own := func(status eureka.Status) *eureka.InstanceInfo {
			return shop("orders-1", inApp("ORDERS"), withStatus(status))
		}
		require.NoError(t, c.Start(t.Context()))
		synctest.Wait()
		assert.Equal(t, []string{"registered  "}, kinds)
		s.serve(registryOf(own(eureka.Up)))
		elapse(31 * time.Second)
		s.serve(registryOf(own(eureka.OutOfService)))
		elapse(30 * time.Second)
		require.NoError(t, c.SetStatus(eureka.Down))
		elapse(time.Second)
		assert.Equal(t, eureka.OutOfService, c.Report().RemoteStatus)
		assert.Equal(t, eureka.Down, c.Report().Status)
		assert.Equal(t, []string{
			"registered  ", "remote status changed UNKNOWN UP", "remote status changed UP OUT_OF_SERVICE",
			"status changed UP DOWN", "registered  ",
		}, kinds)
		assert.Equal(t, 3, counts[discovery.CacheRefreshed])

		remove()
		before := maps.Clone(counts)
		elapse(5 * time.Minute)
		assert.Equal(t, before, counts)
		require.NoError(t, c.Stop(t.Context()))
	})
}

// TestSlowListener: heartbeats do not wait for listeners.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c, err := discovery.New(both(s))
		require.NoError(t, err)
		var served int
		release := make(chan struct{})
		c.Subscribe(func(discovery.Event) {
			<-release
			served++
		})
		require.NoError(t, c.Start(t.Context()))
		elapse(time.Hour)
		assert.Len(t, s.of("renew"), 120)
		close(release)
		require.NoError(t, c.Stop(t.Context()))
		synctest.Wait()
		assert.Equal(t, 65, served, "those that found room, and the one that was served")
	})
}

// TestInstanceIsACopy: a caller may change what it was given.
func TestInstanceIsACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		cfg := registering(s)
		cfg.Instance.Metadata = map[string]string{"colour": "green"}
		c := start(t, cfg)
		other := c.Instance()
		other.App, other.InstanceID, other.Status = "OTHER", "other-1", eureka.Down
		other.Metadata["colour"] = "red"
		elapse(31 * time.Second)
		require.Len(t, s.of("renew"), 1)
		assert.Equal(t, "/apps/ORDERS/orders-1", s.of("renew")[0].path)
		assert.Equal(t, "green", c.Instance().Metadata["colour"])
		require.NoError(t, c.Stop(t.Context()))
		assert.Equal(t, "/apps/ORDERS/orders-1", s.of("cancel")[0].path)
	})
}

// TestRefreshWaitsForTheLocation: a view is made by the zone that was found.
func TestRefreshWaitsForTheLocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.serve(registryOf(shop("far", inZone("us-east-1b")), shop("near", inZone("us-east-1a"))))
		cfg := fetching(s)
		cfg.Locate = func(context.Context) (discovery.Location, error) {
			time.Sleep(2 * time.Second)
			return discovery.Location{DataCenter: eureka.DataCenterInfo{Metadata: map[string]string{"availability-zone": "us-east-1a"}}}, nil
		}
		c, err := discovery.New(cfg)
		require.NoError(t, err)
		go func() { assert.NoError(t, c.Start(t.Context())) }()
		elapse(time.Second)
		hurried, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		assert.ErrorIs(t, c.Refresh(hurried), context.DeadlineExceeded)
		assert.Empty(t, s.requests)
		require.NoError(t, c.Refresh(t.Context()))
		picked, err := c.Pick("shop")
		require.NoError(t, err)
		assert.Equal(t, "near", picked.ID())
		require.NoError(t, c.Stop(t.Context()))
	})
}

func TestLocate(t *testing.T) {
	place := func(zone, addr string) discovery.Location {
		return discovery.Location{
			DataCenter: eureka.DataCenterInfo{
				Class: eureka.AmazonDataCenterClass, Name: eureka.DataCenterAmazon,
				Metadata: map[string]string{"availability-zone": zone, "instance-id": "i-1"},
			},
			HostName: "ip-" + addr, IPAddr: addr,
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.serve(registryOf(shop("far", inZone("us-east-1b")), shop("near", inZone("us-east-1a"))))
		cfg := both(s)
		cfg.RegisterAtStart = false
		cfg.Instance.HostName = ""
		cfg.Instance.IPAddr = ""
		cfg.Instance.HealthCheckURL = "/health"
		at, failure := hold(place("us-east-1a", "10.0.0.1")), hold[error](nil)
		cfg.Locate = func(context.Context) (discovery.Location, error) { return at.get(), failure.get() }
		c := start(t, cfg)
		elapse(41 * time.Second)
		first := s.of("register")[0].instance()
		assert.Equal(t, seconds(40), s.times("register"), "finding the location is no change")
		assert.Equal(t, at.get().DataCenter, first.DataCenter)
		assert.Equal(t, "10.0.0.1", first.IPAddr)
		assert.Equal(t, "http://ip-10.0.0.1:8080/health", first.HealthCheckURL)
		picked, err := c.Pick("shop")
		require.NoError(t, err)
		assert.Equal(t, "near", picked.ID(), "the zone found is the own one")

		failure.set(errors.New("no metadata service"))
		elapse(60 * time.Second)
		failure.set(nil)
		at.set(place("us-east-1a", "10.0.0.2"))
		elapse(60 * time.Second)
		require.Len(t, s.of("register"), 2, "another address is registered, a failure is not")
		assert.Equal(t, "10.0.0.2", s.of("register")[1].instance().IPAddr)
	})
}
