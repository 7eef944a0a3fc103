package fieldtest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
)

// assertT is what conditions that are awaited report to.
type assertT = assert.CollectT

// patience is how long a change may take to be seen, and pause between looks.
const (
	patience = 30 * time.Second
	pause    = 50 * time.Millisecond
)

// TestSuite runs the same suite against every registry.
func TestSuite(t *testing.T) {
	for _, registry := range []struct {
		name  string
		start func(*testing.T) string
	}{
		{"this registry, in process", func(t *testing.T) string {
			server := httptest.NewServer(newInProcess(t.Context(), t))
			t.Cleanup(server.Close)
			return server.URL + "/eureka"
		}},
		{"this registry, the local process", func(t *testing.T) string {
			return startLocal(t, "REGISTRY_CACHE_REFRESH=0s", "REGISTRY_EVICTION_INTERVAL=1s").base
		}},
		{"Spring Cloud Eureka Server", func(t *testing.T) string {
			return startStock(t).base
		}},
	} {
		t.Run(registry.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("whole registries take a minute")
			}
			s := &suite{base: registry.start(t)}
			for name, test := range map[string]func(*suite, *testing.T){
				"Operations":            (*suite).operations,
				"Register":              (*suite).register,
				"Changes":               (*suite).changes,
				"OutOfService":          (*suite).outOfService,
				"RegistersAgain":        (*suite).registersAgain,
				"SilentInstanceExpires": (*suite).silentInstanceExpires,
				"Forms":                 (*suite).forms,
				"RoundTripper":          (*suite).roundTripper,
				"ViewsEqualTheRegistry": (*suite).viewsEqualTheRegistry,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(s, t)
				})
			}
		})
	}
}

// suite is the tests of a client against the registry at base.
type suite struct{ base string }

// config is that of a client whose timers run fast. An application's name must
// not be that of another test: they share the registry.
func (s *suite) config(t *testing.T, app, id string) discovery.Config {
	cfg := discovery.Config{
		ServiceURLs: []string{s.base}, FetchInterval: 200 * time.Millisecond, RetryPause: 200 * time.Millisecond,
		ReplicationInterval: time.Second, RegisterAtStart: true,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if app != "" {
		cfg.Instance = &discovery.Instance{
			App: app, ID: id, HostName: id + ".example.org", IPAddr: "192.0.2.7", Port: 8080,
			RenewalInterval: time.Second, LeaseDuration: 60 * time.Second,
			Metadata: map[string]string{"note": "Zürich 東京 <&>"},
		}
	}
	return cfg
}

// run starts a client that is stopped at the end of the test.
func run(t *testing.T, cfg discovery.Config) *discovery.Client {
	t.Helper()
	c, err := discovery.New(cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, c.Stop(ctx))
	})
	return c
}

// await waits until a condition holds.
func await(t *testing.T, what string, condition func(*assertT)) {
	t.Helper()
	require.EventuallyWithT(t, condition, patience, pause, what)
}

func (s *suite) operations(t *testing.T) {
	api, err := discovery.NewAPI(s.config(t, "", ""))
	require.NoError(t, err)
	ctx := t.Context()
	dirty := time.UnixMilli(time.Now().UnixMilli())
	info := &eureka.InstanceInfo{
		InstanceID: "host:operations:8080", HostName: "host.example.org", App: "OPERATIONS", IPAddr: "192.0.2.8", CountryID: 1,
		Status: eureka.Up, Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 8443},
		VIPAddress: "operations-vip", SecureVIPAddress: "operations-svip", LastDirty: dirty,
	}
	key := info.Key()
	assert.ErrorIs(t, api.Heartbeat(ctx, info), eureka.ErrLeaseNotFound)
	assert.ErrorIs(t, api.Cancel(ctx, key), eureka.ErrLeaseNotFound)
	_, err = api.Instance(ctx, key)
	assert.ErrorIs(t, err, eureka.ErrNotFound)
	_, err = api.Application(ctx, "operations")
	assert.ErrorIs(t, err, eureka.ErrNotFound)

	require.NoError(t, api.Register(ctx, info))
	require.NoError(t, api.Heartbeat(ctx, info))
	got, err := api.Instance(ctx, key)
	require.NoError(t, err)
	assert.Equal(t, eureka.Up, got.Status)
	assert.Equal(t, dirty.UTC(), got.LastDirty)
	got, err = api.InstanceByID(ctx, info.InstanceID)
	require.NoError(t, err)
	assert.Equal(t, key, got.Key())
	app, err := api.Application(ctx, "operations")
	require.NoError(t, err)
	assert.Len(t, app.Instances, 1)
	for name, list := range map[string]func() (*eureka.Applications, error){
		"applications": func() (*eureka.Applications, error) { return api.Applications(ctx) },
		"delta":        func() (*eureka.Applications, error) { return api.Delta(ctx) },
		"vip":          func() (*eureka.Applications, error) { return api.VIP(ctx, info.VIPAddress) },
		"secure vip":   func() (*eureka.Applications, error) { return api.SecureVIP(ctx, info.SecureVIPAddress) },
	} {
		await(t, name, func(c *assertT) {
			apps, err := list()
			require.NoError(c, err)
			assert.Contains(c, keys(apps), key.String())
		})
	}
	nobody, err := api.VIP(ctx, "nobody-has-this")
	require.NoError(t, err)
	assert.Empty(t, nobody.Applications)
	s.changeByOperations(t, api, key)
	require.NoError(t, api.Cancel(ctx, key))
	assert.ErrorIs(t, api.Heartbeat(ctx, info), eureka.ErrLeaseNotFound)
}

func (s *suite) changeByOperations(t *testing.T, api *discovery.API, key eureka.Key) {
	ctx := t.Context()
	require.NoError(t, api.SetMetadata(ctx, key, map[string]string{"note": "a+b c"}))
	require.NoError(t, api.SetStatus(ctx, key, eureka.OutOfService, time.Time{}))
	got, err := api.Instance(ctx, key)
	require.NoError(t, err)
	assert.Equal(t, "a+b c", got.Metadata["note"])
	assert.Equal(t, eureka.OutOfService, got.Status)
	require.NoError(t, api.RemoveOverride(ctx, key, eureka.Up, time.Time{}))
	got, err = api.Instance(ctx, key)
	require.NoError(t, err)
	assert.Equal(t, eureka.Up, got.Status)
}

// keys returns the keys in a list.
func keys(apps *eureka.Applications) []string {
	var out []string
	for _, a := range apps.Applications {
		for _, i := range a.Instances {
			out = append(out, i.Key().String())
		}
	}
	return out
}

// register: what one client registers another finds, until it stops.
func (s *suite) register(t *testing.T) {
	seeker := run(t, s.config(t, "", ""))
	service, err := discovery.New(s.config(t, "reg", "host:reg:8080"))
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	require.NoError(t, service.Report().RegistrationErr)
	await(t, "found", func(c *assertT) {
		found, err := seeker.Pick("reg")
		require.NoError(c, err)
		assert.Equal(c, "host:reg:8080", found.ID())
		assert.Equal(c, "Zürich 東京 <&>", found.Metadata["note"])
		assert.Equal(c, time.Second, found.Lease.RenewalInterval)
	})
	await(t, "sees itself", func(c *assertT) { assert.Equal(c, eureka.Up, service.Report().RemoteStatus) })
	await(t, "renewed", func(c *assertT) { assert.False(c, service.Report().Renewed.IsZero()) })
	require.NoError(t, service.Stop(t.Context()))
	await(t, "gone", func(c *assertT) {
		_, known := seeker.View().Application("reg")
		assert.False(c, known)
	})
}

// changes of status and metadata are seen, with deltas alone.
func (s *suite) changes(t *testing.T) {
	seeker := run(t, s.config(t, "", ""))
	service := run(t, s.config(t, "changes", "host:changes:8080"))
	require.NoError(t, service.SetMetadata(map[string]string{"colour": "blue"}))
	await(t, "metadata", func(c *assertT) {
		found, ok := seeker.View().Instance("changes", "host:changes:8080")
		require.True(c, ok)
		assert.Equal(c, "blue", found.Metadata["colour"])
	})
	for _, status := range []eureka.Status{eureka.Down, eureka.Starting, eureka.Up} {
		require.NoError(t, service.SetStatus(status))
		await(t, "status "+string(status), func(c *assertT) {
			found, ok := seeker.View().Instance("changes", "host:changes:8080")
			require.True(c, ok)
			assert.Equal(c, status, found.Status)
			assert.Equal(c, status == eureka.Up, len(seeker.View().VIP("changes")) == 1)
			assert.Equal(c, status, service.Report().RemoteStatus)
		})
	}
	require.NoError(t, service.Report().RenewalErr)
}

func (s *suite) outOfService(t *testing.T) {
	seeker := run(t, s.config(t, "", ""))
	service := run(t, s.config(t, "oos", "host:oos:8080"))
	require.NoError(t, service.TakeOutOfService(t.Context()))
	await(t, "out of service", func(c *assertT) {
		found, ok := seeker.View().Instance("oos", "host:oos:8080")
		require.True(c, ok)
		assert.Equal(c, eureka.OutOfService, found.Status)
		assert.Equal(c, eureka.OutOfService, service.Report().RemoteStatus)
	})
	require.NoError(t, service.SetMetadata(map[string]string{"n": "1"}))
	await(t, "a registration does not end it", func(c *assertT) {
		found, ok := seeker.View().Instance("oos", "host:oos:8080")
		require.True(c, ok)
		assert.Equal(c, "1", found.Metadata["n"])
		assert.Equal(c, eureka.OutOfService, found.Status)
	})
	require.NoError(t, service.ReturnToService(t.Context()))
	await(t, "back", func(c *assertT) { assert.Len(c, seeker.View().VIP("oos"), 1) })
}

// registersAgain: an instance that the registry lost comes back by itself.
func (s *suite) registersAgain(t *testing.T) {
	service := run(t, s.config(t, "again", "host:again:8080"))
	registered := service.Report().Registered
	require.NoError(t, service.API().Cancel(t.Context(), service.Instance().Key()))
	await(t, "back", func(c *assertT) {
		assert.True(c, service.Report().Registered.After(registered))
		_, err := service.API().Instance(t.Context(), service.Instance().Key())
		assert.NoError(c, err)
	})
}

// silentInstanceExpires: what does not renew goes from all views.
func (s *suite) silentInstanceExpires(t *testing.T) {
	seeker := run(t, s.config(t, "", ""))
	cfg := s.config(t, "silent", "host:silent:8080")
	cfg.Instance.LeaseDuration, cfg.Instance.RenewalInterval = 2*time.Second, time.Hour
	run(t, cfg)
	await(t, "there", func(c *assertT) { assert.Len(c, seeker.View().VIP("silent"), 1) })
	await(t, "gone", func(c *assertT) { assert.Empty(c, seeker.View().VIP("silent")) })
}

// forms: every way to fetch leads to the same.
func (s *suite) forms(t *testing.T) {
	run(t, s.config(t, "forms", "host:forms:8080"))
	for name, change := range map[string]func(*discovery.Config){
		"compact":    func(c *discovery.Config) { c.Compact = true },
		"no gzip":    func(c *discovery.Config) { c.DisableGzip = true },
		"no deltas":  func(c *discovery.Config) { c.DisableDelta = true },
		"only a VIP": func(c *discovery.Config) { c.OnlyVIP = "forms" },
		"a slash":    func(c *discovery.Config) { c.ServiceURLs = []string{s.base + "/"} },
		"regions":    func(c *discovery.Config) { c.RemoteRegions = []string{"nowhere"} },
		"credentials": func(c *discovery.Config) {
			c.ServiceURLs = []string{strings.Replace(s.base, "://", "://user:secret@", 1)}
		},
	} {
		cfg := s.config(t, "", "")
		change(&cfg)
		seeker := run(t, cfg)
		await(t, name, func(c *assertT) {
			found := seeker.View().VIP("forms")
			require.Len(c, found, 1)
			assert.Equal(c, "host:forms:8080", found[0].ID())
			assert.Equal(c, eureka.Port{Number: 8080, Enabled: true}, found[0].Port)
			assert.NoError(c, seeker.Report().FetchErr)
		})
	}
}

// roundTripper calls real services by name.
func (s *suite) roundTripper(t *testing.T) {
	ids := []string{"one", "two"}
	for _, id := range ids {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, id, " ", r.URL.Path)
		}))
		t.Cleanup(server.Close)
		host, port, err := net.SplitHostPort(server.Listener.Addr().String())
		require.NoError(t, err)
		cfg := s.config(t, "greeter", id)
		cfg.Instance.HostName = host
		cfg.Instance.Port, err = strconv.Atoi(port)
		require.NoError(t, err)
		run(t, cfg)
	}
	cfg := s.config(t, "", "")
	cfg.Picker = discovery.RoundRobin()
	seeker := run(t, cfg)
	await(t, "both", func(c *assertT) { assert.Len(c, seeker.View().VIP("greeter"), len(ids)) })
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: seeker.RoundTripper(transport)}
	var answers []string
	for range ids {
		resp, err := client.Get("http://GREETER/hello")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		answers = append(answers, string(body))
	}
	assert.ElementsMatch(t, []string{"one /hello", "two /hello"}, answers)
}

// viewsEqualTheRegistry after many changes by several clients.
func (s *suite) viewsEqualTheRegistry(t *testing.T) {
	var clients []*discovery.Client
	for n := range 5 {
		clients = append(clients, run(t, s.config(t, "equal", fmt.Sprintf("equal-%d", n))))
	}
	for round := range 3 {
		for n, c := range clients {
			require.NoError(t, c.SetMetadata(map[string]string{"round": strconv.Itoa(round + n)}))
		}
		require.NoError(t, clients[round].SetStatus(eureka.Down))
	}
	await(t, "all views equal", func(c *assertT) {
		want, err := clients[0].API().Application(t.Context(), "equal")
		require.NoError(c, err)
		for n, i := range clients {
			registered, ok := find(want.Instances, i.Instance().ID())
			require.True(c, ok)
			assert.Equal(c, dirtyMillis(i.Instance()), dirtyMillis(registered), "the registry has the last change of %d", n)
		}
		for _, client := range clients {
			got, _ := client.View().Application("equal")
			assert.Equal(c, describe(want.Instances), describe(got.All))
		}
	})
}

func dirtyMillis(i *eureka.InstanceInfo) int64 { return i.LastDirty.UnixMilli() }

func find(instances []*eureka.InstanceInfo, id string) (*eureka.InstanceInfo, bool) {
	at := slices.IndexFunc(instances, func(i *eureka.InstanceInfo) bool { return i.ID() == id })
	if at < 0 {
		return nil, false
	}
	return instances[at], true
}

// describe returns what others know of instances, but for the lease's times,
// in order.
func describe(instances []*eureka.InstanceInfo) []string {
	var out []string
	for _, i := range instances {
		out = append(out, fmt.Sprint(i.Key(), " ", cmp.Or(i.Status, eureka.Unknown), " ", i.Metadata, " ", dirtyMillis(i)))
	}
	slices.Sort(out)
	return out
}
