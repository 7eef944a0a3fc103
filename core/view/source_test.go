package view

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// start is a multiple of every interval that tests use.
var start = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns a time some seconds after start.
func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// fakeSource is a lease table, a delta table and a snapshot, kept by the test.
type fakeSource struct {
	mu       sync.Mutex
	leases   map[eureka.Key]eureka.Lease
	rows     []delta.Row
	snapshot *delta.Snapshot
	// err, if not nil, is what every method returns.
	err error
	// hold, if not nil, is called by every method before it answers.
	hold  func(ctx context.Context, call string) error
	calls []string
}

func (s *fakeSource) called(ctx context.Context, call string) error {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	hold, err := s.hold, s.err
	s.mu.Unlock()
	if hold != nil {
		if err := hold(ctx, call); err != nil {
			return err
		}
	}
	return err
}

func (s *fakeSource) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	if err := s.called(ctx, "snapshot"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot == nil {
		return nil, eureka.ErrNoSnapshot
	}
	return s.snapshot, nil
}

func (s *fakeSource) Scan(ctx context.Context) ([]eureka.Lease, error) {
	if err := s.called(ctx, "scan"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.leases)), nil
}

func (s *fakeSource) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	if err := s.called(ctx, "deltas"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []delta.Row
	for _, r := range s.rows {
		if r.Written.After(since) && !r.Written.After(until) {
			out = append(out, r)
		}
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// fail makes every method fail from now on; nil ends it.
func (s *fakeSource) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// took returns the calls since it was last called.
func (s *fakeSource) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// write adds a row without a lease behind it.
func (s *fakeSource) write(r delta.Row, written time.Time) {
	r.Written = written
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, r)
}

// register writes a lease and, at once, its row.
func (s *fakeSource) register(i *eureka.InstanceInfo, version int64, when time.Time) {
	l := leaseOf(i, version)
	s.mu.Lock()
	if s.leases == nil {
		s.leases = map[eureka.Key]eureka.Lease{}
	}
	s.leases[l.Key] = l
	s.mu.Unlock()
	s.write(delta.Row{Key: l.Key, Version: version, Instance: l.Effective()}, when)
}

// cancel writes a tombstone and, at once, its row.
func (s *fakeSource) cancel(key eureka.Key, version int64, when time.Time) {
	s.mu.Lock()
	old := s.leases[key]
	s.leases[key] = eureka.Lease{Key: key, Version: version, Gone: when}
	s.mu.Unlock()
	s.write(delta.Row{Key: key, Version: version, Instance: delta.DeletedInstance(old.Effective(), when)}, when)
}

// publish makes the snapshot of the lease table.
func (s *fakeSource) publish(began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot = &delta.Snapshot{Began: began, Entries: leaseEntries(slices.Collect(maps.Values(s.leases)))}
}

func leaseOf(i *eureka.InstanceInfo, version int64) eureka.Lease {
	return eureka.Lease{
		Key: i.Key(), Instance: i, Version: version, Status: i.Status, Action: i.Action,
		Dirty: i.LastDirty, Updated: i.LastUpdated, Registered: i.Lease.Registered, Renewed: i.Lease.LastRenewed,
		ServiceUp: i.Lease.ServiceUp, Interval: i.Lease.RenewalInterval, Duration: i.Lease.Duration,
	}
}

// instance returns an instance as a Spring Cloud application registers it.
func instance(app, id string, status eureka.Status) *eureka.InstanceInfo {
	h := uint32(hash(app + id))
	ip := fmt.Sprintf("10.%d.%d.%d", h>>24, h>>16&255, h>>8&255)
	vip := fmt.Sprintf("%s.vip", app)
	then := start.Add(-time.Duration(h%1_000_000) * time.Millisecond)
	return &eureka.InstanceInfo{
		InstanceID: id, HostName: ip, App: app, IPAddr: ip, Status: status, OverriddenStatus: eureka.Unknown,
		Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 443}, CountryID: 1,
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
		Lease: eureka.LeaseInfo{
			RenewalInterval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration,
			Registered: then, LastRenewed: then, ServiceUp: then,
		},
		Metadata: map[string]string{
			"management.port": "8081", "zone": "eu-1" + string(rune('a'+h%3)), "version": fmt.Sprint(h % 50),
		},
		HomePageURL:    "http://" + ip + ":8080/",
		StatusPageURL:  "http://" + ip + ":8080/actuator/info",
		HealthCheckURL: "http://" + ip + ":8080/actuator/health",
		VIPAddress:     vip, SecureVIPAddress: vip,
		LastUpdated: then, LastDirty: then.Add(-time.Second), Action: eureka.Added,
	}
}

// fleetInstance returns instance n of a fleet of ten to an application.
func fleetInstance(n int) *eureka.InstanceInfo {
	app := fmt.Sprintf("SERVICE-%04d", n/10)
	return instance(app, fmt.Sprintf("host-%06d:service-%04d:8080", n, n/10), eureka.Up)
}

// up is an instance that is UP.
func up(app, id string) *eureka.InstanceInfo { return instance(app, id, eureka.Up) }

// rig is a cache over a fake source, and its clock.
type rig struct {
	*Cache
	source *fakeSource
	mu     sync.Mutex
	now    time.Time
	// elapsed is what really has passed, where a test cares.
	elapsed time.Duration
	turns   []Refresh
}

// newRig returns a rig whose interval is 30 s and which turns over 3 s after
// each boundary, at the time start.
func newRig(t testing.TB, change func(*Config)) *rig {
	r := &rig{source: &fakeSource{}, now: start}
	cfg := Config{
		Source: r.source, Interval: 30 * time.Second, Offset: 0.1, RetryPause: 2 * time.Second,
		Now:       r.clock,
		Elapsed:   func() time.Duration { return r.elapsed },
		OnRefresh: func(_ context.Context, turn Refresh) { r.turns = append(r.turns, turn) },
		Logger:    slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	r.Cache = New(cfg)
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// set moves the clock to some seconds after start.
func (r *rig) set(seconds float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = at(seconds)
}

// held returns the instances of a view as "APP/id status", sorted.
func held(v *View) []string {
	out := []string{}
	for _, a := range v.Applications() {
		for _, i := range a.Instances {
			out = append(out, fmt.Sprintf("%s/%s %s", a.Name, i.ID(), i.Status))
		}
	}
	return out
}

// inDelta returns the delta of a view as "APP/id action status", sorted.
func inDelta(v *View) []string {
	applications, _ := v.changes()
	out := []string{}
	for _, a := range applications {
		for _, i := range a.Instances {
			out = append(out, fmt.Sprintf("%s/%s %s %s", a.Name, i.ID(), i.Action, i.Status))
		}
	}
	return out
}

// testWriter logs to a test.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(string(p))
	return len(p), nil
}
