package fieldtest

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/fulltest"
)

// field is ten clients, a registry, and what is between them.
type field struct {
	t *testing.T
	// interval is that of heartbeats and fetches.
	interval time.Duration
	base     string
	// transport is the way to the registry, without weather.
	transport http.RoundTripper
	// restart ends the registry and starts it anew, with empty tables or not;
	// it is away for down.
	restart func(lose bool, down time.Duration)
	// forgetful says that every restart loses everything.
	forgetful bool

	weather *weather
	clients []*participant
	born    int
}

// participant is a client, and what it may send.
type participant struct {
	*discovery.Client
	line  *line
	began time.Time
	// changes are its own; losses are how often the registry lost everything.
	changes, losses int
}

const clients = 10

// TestTenClientsInVirtualTime runs for more than five minutes of the default
// intervals, over this registry in process.
func TestTenClientsInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		r := newInProcess(ctx, t)
		f := &field{t: t, interval: 30 * time.Second, base: "http://registry.example.org/eureka", transport: r, weather: newWeather()}
		f.restart = func(lose bool, down time.Duration) {
			f.weather.change(func(int) disturbance { return disturbance{refused: true} })
			time.Sleep(down)
			r.restart(lose)
			f.weather.change(fair)
		}
		f.run()
		cancel()
		synctest.Wait() // the bubble ends only when no goroutine is left
	})
}

// TestTenClientsOnTheLocalProcess runs ten times as fast, over the local
// process, which loses everything when it is restarted.
func TestTenClientsOnTheLocalProcess(t *testing.T) {
	fulltest.Only(t, "it takes a minute")
	before := goleak.IgnoreCurrent()
	p := startLocal(t, "REGISTRY_CACHE_REFRESH=0s")
	transport := &http.Transport{}
	f := &field{t: t, interval: 3 * time.Second, base: p.base, transport: transport, weather: newWeather(), forgetful: true}
	f.restart = func(_ bool, down time.Duration) {
		p.stop()
		time.Sleep(down)
		p.start()
	}
	f.run()
	transport.CloseIdleConnections()
	p.stop()
	assert.NoError(t, goleak.Find(before), "no goroutine is left")
}

// run disturbs the field in every way, and holds after each disturbance that
// all views equal the registry within two intervals.
func (f *field) run() {
	for range clients {
		f.join()
		time.Sleep(f.interval / clients) // not all at the same moments
	}
	f.settle("start")

	f.churn()
	f.settle("churn")

	f.weather.change(func(n int) disturbance { return disturbance{lost: n%4 == 0} })
	f.churn()
	time.Sleep(f.interval)
	f.weather.change(fair)
	f.settle("lost answers")

	f.weather.change(func(n int) disturbance { return disturbance{slow: time.Duration(n%4) * f.interval / 20} })
	f.churn()
	time.Sleep(f.interval)
	f.weather.change(fair)
	f.settle("slow answers")

	for _, lose := range []bool{false, true} {
		f.restart(lose, f.interval/3)
		for _, p := range f.clients {
			if lose || f.forgetful {
				p.losses++
			}
		}
		f.settle(fmt.Sprintf("restart, everything lost: %t", lose))
	}
	f.churn()
	f.settle("churn after restarts")
	f.countRequests()
	for _, p := range f.clients {
		require.NoError(f.t, p.Stop(context.Background()))
	}
	for _, p := range f.clients {
		_, ok := find(f.registry(), p.Instance().ID())
		assert.False(f.t, ok, "%s has cancelled", p.Instance().ID())
	}
}

// join starts a client of another instance.
func (f *field) join() {
	f.born++
	l := &line{to: f.transport, weather: f.weather}
	id := fmt.Sprintf("worker-%d", f.born)
	c, err := discovery.New(discovery.Config{
		ServiceURLs: []string{f.base}, Transport: l, RegisterAtStart: true,
		FetchInterval: f.interval, ReplicationInterval: f.interval, RequestTimeout: f.interval / 4, RetryPause: f.interval / 10,
		Logger: slog.New(slog.NewTextHandler(f.t.Output(), nil)),
		Instance: &discovery.Instance{
			App: "workers", ID: id, HostName: id + ".example.org", IPAddr: "192.0.2.9", Port: 8080,
			// No lease ends here: that would be one more disturbance, at its own time.
			RenewalInterval: f.interval, LeaseDuration: 100 * f.interval,
		},
	})
	require.NoError(f.t, err)
	require.NoError(f.t, c.Start(context.Background()))
	f.clients = append(f.clients, &participant{Client: c, line: l, began: time.Now()})
}

// churn changes some clients, and replaces two, one of which says good-bye.
func (f *field) churn() {
	for n, p := range f.clients[:5] {
		p.changes++
		require.NoError(f.t, p.SetMetadata(map[string]string{"churn": strconv.Itoa(f.born + n)}))
	}
	p := f.clients[5]
	p.changes++
	next := map[eureka.Status]eureka.Status{eureka.Up: eureka.Down, eureka.Down: eureka.Up}
	require.NoError(f.t, p.SetStatus(next[p.Instance().Status]))
	f.leave(context.Background())
	killed, cancel := context.WithCancel(context.Background())
	cancel()
	f.leave(killed)
	f.join()
	f.join()
}

// leave stops the last client. With a context that has ended it does not
// cancel, so its lease stays.
func (f *field) leave(ctx context.Context) {
	p := f.clients[len(f.clients)-1]
	f.clients = f.clients[:len(f.clients)-1]
	if err := p.Stop(ctx); err != nil { // lost answers may fail it
		f.t.Log("left without saying good-bye:", err)
	}
}

// settle waits two intervals, and then all views must equal the registry.
func (f *field) settle(after string) {
	f.t.Helper()
	time.Sleep(2*f.interval + f.interval/10)
	want := f.registry()
	for _, p := range f.clients {
		var got []*eureka.InstanceInfo
		for _, a := range p.View().Applications() {
			got = append(got, a.All...)
		}
		assert.Equal(f.t, describe(want), describe(got), "after %s: the view of %s", after, p.Instance().ID())
		registered, ok := find(want, p.Instance().ID())
		if assert.True(f.t, ok, "after %s: %s is registered", after, p.Instance().ID()) {
			assert.Equal(f.t, describe([]*eureka.InstanceInfo{p.Instance()}), describe([]*eureka.InstanceInfo{registered}), "after %s", after)
		}
	}
}

// registry returns what the registry has.
func (f *field) registry() []*eureka.InstanceInfo {
	f.t.Helper()
	api, err := discovery.NewAPI(discovery.Config{ServiceURLs: []string{f.base}, Transport: f.transport})
	require.NoError(f.t, err)
	apps, err := api.Applications(context.Background())
	require.NoError(f.t, err)
	var out []*eureka.InstanceInfo
	for _, a := range apps.Applications {
		out = append(out, a.Instances...)
	}
	return out
}

// countRequests holds that no client sent more than 1.2 times what its plan
// says: a heartbeat and a fetch each interval, the first full fetch and
// registration, a registration for each change, and a registration and a full
// fetch each time that the registry lost everything.
func (f *field) countRequests() {
	for _, p := range f.clients {
		intervals := math.Ceil(float64(time.Since(p.began)) / float64(f.interval))
		plan := 2*intervals + 2 + float64(p.changes) + 2*float64(p.losses)
		sent := p.line.requests.Load()
		f.t.Logf("%s: %d requests (%d registrations, %d full fetches), planned %.0f",
			p.Instance().ID(), sent, p.line.registrations.Load(), p.line.fulls.Load(), plan)
		assert.LessOrEqual(f.t, float64(sent), 1.2*plan, p.Instance().ID())
	}
}
