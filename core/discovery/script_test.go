package discovery_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// script is a registry that answers as told, in place of a transport: it uses
// no sockets, so time is the bubble's of testing/synctest.
type script struct {
	t     *testing.T
	began time.Time

	mu sync.Mutex
	// answer chooses the answer to a request; what it leaves zero is the
	// usual one. It is called with mu held.
	answer   func(asked) reply
	requests []asked
	// underway and most count requests that were not answered yet; open
	// counts bodies that were not closed.
	underway, most map[string]int
	open           int
}

// asked is a request as it arrived.
type asked struct {
	// at is the time since the script began.
	at     time.Duration
	host   string
	method string
	// path is as sent, without the base "/eureka"; uri has the query.
	path, uri string
	header    http.Header
	body      string
	url       string
}

// kind names the operation.
func (a asked) kind() string {
	switch {
	case a.method == http.MethodPost:
		return "register"
	case strings.HasSuffix(a.path, "/status"):
		return "status"
	case a.method == http.MethodPut:
		return "renew"
	case a.method == http.MethodDelete:
		return "cancel"
	case strings.HasSuffix(a.path, "/delta"):
		return "delta"
	}
	return "full"
}

// instance returns the instance of a registration.
func (a asked) instance() *eureka.InstanceInfo {
	i, err := wire.DecodeInstance(wire.JSON, []byte(a.body))
	if err != nil {
		panic(err)
	}
	return i
}

// reply is an answer. after is how long it takes; err is instead of an answer;
// hang is none at all.
type reply struct {
	status int
	header http.Header
	body   string
	after  time.Duration
	err    error
	hang   bool
	// deaf makes it ignore the end of the request's context.
	deaf bool
}

func newScript(t *testing.T, answer func(asked) reply) *script {
	if answer == nil {
		answer = func(asked) reply { return reply{} }
	}
	return &script{t: t, began: time.Now(), answer: answer, underway: map[string]int{}, most: map[string]int{}}
}

// RoundTrip implements http.RoundTripper.
func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	a := asked{
		at: time.Since(s.began), host: req.URL.Host, method: req.Method,
		path: strings.TrimPrefix(req.URL.EscapedPath(), "/eureka"),
		uri:  strings.TrimPrefix(req.URL.RequestURI(), "/eureka"),
		url:  req.URL.String(), header: req.Header.Clone(),
	}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		require.NoError(s.t, err)
		require.NoError(s.t, req.Body.Close())
		a.body = string(body)
	}
	s.mu.Lock()
	s.requests = append(s.requests, a)
	s.underway[a.kind()]++
	s.most[a.kind()] = max(s.most[a.kind()], s.underway[a.kind()])
	r := s.answer(a)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.underway[a.kind()]--
	}()
	return s.reply(req, a, r)
}

func (s *script) reply(req *http.Request, a asked, r reply) (*http.Response, error) {
	ctx := req.Context()
	if r.deaf {
		ctx = context.Background()
	}
	var answered <-chan time.Time
	if !r.hang {
		answered = time.After(r.after)
	}
	select {
	case <-answered:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.err != nil {
		return nil, r.err
	}
	r = usual(a, r)
	if r.header == nil {
		r.header = http.Header{}
	}
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	return &http.Response{
		StatusCode: r.status, Header: r.header, Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: &body{Reader: strings.NewReader(r.body), script: s},
	}, nil
}

// body counts itself as open until it is closed, which it must be when it was
// read to its end.
type body struct {
	*strings.Reader
	script *script
	once   sync.Once
}

func (b *body) Close() error {
	b.once.Do(func() {
		b.script.mu.Lock()
		defer b.script.mu.Unlock()
		b.script.open--
		if b.Len() > 0 {
			b.script.t.Errorf("body closed with %d bytes unread", b.Len())
		}
	})
	return nil
}

// usual completes an answer by what an empty registry says.
func usual(a asked, r reply) reply {
	if r.status != 0 {
		return r
	}
	r.status = http.StatusOK
	switch a.kind() {
	case "register":
		r.status = http.StatusNoContent
	case "full", "delta":
		if r.body == "" {
			r.body = registryOf()
		}
	}
	return r
}

// of returns the requests of some kinds, in order.
func (s *script) of(kinds ...string) []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []asked
	for _, a := range s.requests {
		if slices.Contains(kinds, a.kind()) {
			out = append(out, a)
		}
	}
	return out
}

// times returns when requests of some kinds came.
func (s *script) times(kinds ...string) []time.Duration {
	out := []time.Duration{}
	for _, a := range s.of(kinds...) {
		out = append(out, a.at)
	}
	return out
}

// change replaces what is answered from now on.
func (s *script) change(answer func(asked) reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// serve answers every fetch with a document from now on.
func (s *script) serve(document string) {
	s.change(func(a asked) reply {
		if a.method == http.MethodGet {
			return reply{body: document}
		}
		return reply{}
	})
}

// clear forgets the requests so far.
func (s *script) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// registryOf returns the document of a registry, with its true hash code.
func registryOf(instances ...*eureka.InstanceInfo) string {
	return registryWith(1, applications(instances...).HashCode, instances...)
}

// registryWith is registryOf with a version and a hash code of one's choice.
func registryWith(version int64, hash string, instances ...*eureka.InstanceInfo) string {
	apps := applications(instances...)
	apps.Version, apps.HashCode = version, hash
	return string(wire.Encoding{}.AppendApplications(nil, apps))
}

// applications groups instances by application.
func applications(instances ...*eureka.InstanceInfo) *eureka.Applications {
	apps := &eureka.Applications{Version: 1}
	for _, i := range instances {
		at := slices.IndexFunc(apps.Applications, func(a eureka.Application) bool { return a.Name == i.App })
		if at < 0 {
			at = len(apps.Applications)
			apps.Applications = append(apps.Applications, eureka.Application{Name: i.App})
		}
		apps.Applications[at].Instances = append(apps.Applications[at].Instances, i)
	}
	apps.HashCode = eureka.HashCode(apps.Applications)
	return apps
}

// shop returns an instance of SHOP.
func shop(id string, changes ...func(*eureka.InstanceInfo)) *eureka.InstanceInfo {
	i := &eureka.InstanceInfo{
		InstanceID: id, HostName: id + ".example.org", App: "SHOP", IPAddr: "192.0.2.10",
		Status: eureka.Up, OverriddenStatus: eureka.Unknown,
		Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 8443},
		CountryID: 1, VIPAddress: "shop", SecureVIPAddress: "shop",
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
		Lease:      eureka.LeaseInfo{RenewalInterval: 30 * time.Second, Duration: 90 * time.Second},
	}
	for _, change := range changes {
		change(i)
	}
	return i
}

func withStatus(s eureka.Status) func(*eureka.InstanceInfo) {
	return func(i *eureka.InstanceInfo) { i.Status = s }
}

func withAction(a eureka.ActionType) func(*eureka.InstanceInfo) {
	return func(i *eureka.InstanceInfo) { i.Action = a }
}

func inApp(app string) func(*eureka.InstanceInfo) {
	return func(i *eureka.InstanceInfo) { i.App, i.VIPAddress, i.SecureVIPAddress = app, app, app }
}

func inZone(zone string) func(*eureka.InstanceInfo) {
	return func(i *eureka.InstanceInfo) { i.Metadata = map[string]string{"zone": zone} }
}

// me returns the instance that test clients register.
func me() *discovery.Instance {
	return &discovery.Instance{App: "orders", ID: "orders-1", HostName: "orders-1.example.org", IPAddr: "192.0.2.20", Port: 8080}
}

// registering is a client's configuration that only registers, at once.
func registering(s *script) discovery.Config {
	cfg := both(s)
	cfg.DisableFetch = true
	return cfg
}

// fetching is a client's configuration that only fetches.
func fetching(s *script) discovery.Config {
	cfg := both(s)
	cfg.Instance, cfg.RegisterAtStart = nil, false
	return cfg
}

// both is a client's configuration that registers at once, and fetches.
func both(s *script) discovery.Config {
	return discovery.Config{
		ServiceURLs: []string{"http://registry.example.org/eureka"}, Instance: me(), RegisterAtStart: true,
		Transport: s, Logger: testLogger(s.t),
	}
}

// testLogger writes to the test's output.
func testLogger(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// start starts a client, which the test's end stops if the test did not.
func start(t *testing.T, cfg discovery.Config) *discovery.Client {
	t.Helper()
	c, err := discovery.New(cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c.Stop(ctx) // a test that cares for the outcome stops it itself
	})
	return c
}

// elapse lets virtual time go by, until everybody waits again.
func elapse(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// held is a value that a test changes while a client uses it.
type held[T any] struct {
	mu    sync.Mutex
	value T
}

func hold[T any](value T) *held[T] { return &held[T]{value: value} }

func (h *held[T]) set(value T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.value = value
}

func (h *held[T]) get() T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.value
}

// ids returns the ids of instances, sorted.
func ids(instances []*eureka.InstanceInfo) []string {
	out := []string{}
	for _, i := range instances {
		out = append(out, i.ID())
	}
	slices.Sort(out)
	return out
}

// seconds returns times in seconds.
func seconds(values ...float64) []time.Duration {
	out := []time.Duration{}
	for _, v := range values {
		out = append(out, time.Duration(v*float64(time.Second)))
	}
	return out
}

// every returns n times, an interval apart.
func every(interval time.Duration, first time.Duration, n int) []time.Duration {
	out := []time.Duration{}
	for i := range n {
		out = append(out, first+time.Duration(i)*interval)
	}
	return out
}

// errDial is the error of a connection that is refused.
var errDial = fmt.Errorf("dial tcp: %w", errRefused)

var errRefused = fmt.Errorf("connection refused")
