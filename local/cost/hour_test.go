package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

var (
	minutes = flag.Int("minutes", 5, "how long the measured time is; the figures are scaled to an hour")
	size    = flag.Int("instances", 100, "how large the fleet of TestHour is; 2% of it go in an hour, and as many come")
	update  = flag.Bool("update", false, "write measured.json")
)

const (
	// instances is the fleet of TestRenewalWrites.
	instances  = 100
	containers = 3
)

// meter sums what the calls of one client consumed.
type meter struct {
	mu sync.Mutex
	units
}

func (m *meter) add(_ context.Context, u dynamodb.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Read += u.ReadUnits
	m.Write += u.WriteUnits
}

// hour is a fleet on an engine, with a clock that only the test moves.
type hour struct {
	*testing.T
	now                              time.Time
	renewals, changes, views, passes meter
	renewing, changing, unbilled     storage.Tables
	caches                           []*view.Cache
	evict                            *handlers.Evict
	rows                             int
}

func newHour(t *testing.T) *hour {
	t.Helper()
	h := &hour{T: t, now: time.Now().Truncate(time.Minute)}
	e := enginetest.Dynoxide(t)
	names := e.Tables(t)
	cfg, err := boot.Load(func(name string) (string, bool) {
		value, ok := map[string]string{"REGISTRY_LEASE_TABLE": names.LeaseTable, "REGISTRY_DELTA_TABLE": names.DeltaTable}[name]
		return value, ok
	}, boot.Local)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	tables := func(m *meter) storage.Tables {
		return boot.Tables(e.Client(t, dynamodb.ObserveUsage(m.add)), cfg, log, handlers.Unmetered{})
	}
	h.renewing, h.changing, h.unbilled = tables(&h.renewals), tables(&h.changes), tables(&meter{})
	clock := func() time.Time { return h.now }
	for range containers {
		h.caches = append(h.caches, view.New(view.Config{Source: tables(&h.views), Interval: cfg.CacheRefresh, Now: clock, Logger: log}))
	}
	parts := &boot.Parts{Config: cfg, Tables: tables(&h.passes), Log: log, Meter: handlers.Unmetered{}, Now: clock}
	h.evict, err = parts.Evict()
	require.NoError(t, err)
	return h
}

func (h *hour) registry(on storage.Tables) *registry.Registry {
	return registry.New(registry.Config{Store: on, Now: func() time.Time { return h.now }})
}

func instance(n int) *eureka.InstanceInfo {
	name := fmt.Sprintf("service-%02d", n/10)
	host := fmt.Sprintf("10.0.%d.%d", n/250, n%250)
	return &eureka.InstanceInfo{
		LastDirty: time.UnixMilli(1_700_000_000_000), Lease: eureka.LeaseInfo{RenewalInterval: 30 * time.Second, Duration: 24 * time.Hour},
		App: name, InstanceID: fmt.Sprintf("%s:%s:8080", host, name), HostName: host, IPAddr: host, Status: eureka.Up,
		VIPAddress: name, SecureVIPAddress: name, HomePageURL: "http://" + host + ":8080/",
		StatusPageURL: "http://" + host + ":8080/actuator/info", HealthCheckURL: "http://" + host + ":8080/actuator/health",
	}
}

// register adds an instance, and its row as the stream function would.
func (h *hour) register(n int) {
	i := instance(n)
	require.NoError(h, h.registry(h.changing).Register(h.Context(), i))
	h.row(i.Key())
}

func (h *hour) cancel(n int) {
	key := instance(n).Key()
	require.NoError(h, h.registry(h.changing).Cancel(h.Context(), key))
	h.row(key)
}

// row writes the row of a lease's last change.
func (h *hour) row(key eureka.Key) {
	l, err := h.unbilled.Get(h.Context(), key)
	require.NoError(h, err)
	h.rows++
	require.NoError(h, h.changing.Put(h.Context(), []delta.Row{{
		Key: key, Version: l.Version, Instance: instanceOf(l.Effective(), key), Sequence: fmt.Sprint(h.rows), Written: h.now,
	}}))
}

// instanceOf is an instance for a row, also of one that went.
func instanceOf(i *eureka.InstanceInfo, key eureka.Key) *eureka.InstanceInfo {
	if i != nil {
		return i
	}
	return &eureka.InstanceInfo{App: key.App, InstanceID: key.ID, Status: eureka.Up, Action: eureka.Deleted}
}

// TestHour measures an hour of a fleet, or a part of one, and compares it with
// measured.json. Nobody renews: leases are long, and TestRenewalWrites has the
// heartbeats.
func TestHour(t *testing.T) {
	h := newHour(t)
	for n := range *size {
		h.register(n)
	}
	require.NoError(t, h.evict.Handle(t.Context())) // the first snapshot
	h.read()
	h.changes.units, h.views.units, h.passes.units = units{}, units{}, units{}
	first, next := 0, *size
	// A pass reads the rows since the last snapshot, up to ten minutes of them,
	// so that a short time is cheaper than its part of an hour.
	length := max(*minutes, 30)
	turns := length * 2
	churn := float64(*size) / 50 / 120 // instances in half a minute
	for turn := range turns {
		h.now = h.now.Add(30 * time.Second)
		for ; float64(next-*size) < churn*float64(turn+1); next++ {
			h.cancel(first)
			first++
			h.register(next)
		}
		h.read()
		if turn%2 == 1 {
			require.NoError(t, h.evict.Handle(t.Context()))
		}
	}
	got := h.scaled(60 / float64(length))
	t.Logf("an hour: %+v", got)
	m := readMeasured(t)
	at := slices.IndexFunc(m.Hours, func(f fleetHour) bool { return f.Instances == got.Instances })
	switch {
	case *update && at < 0:
		m.Hours = append(m.Hours, got)
		slices.SortFunc(m.Hours, func(a, b fleetHour) int { return cmp.Compare(a.Instances, b.Instances) })
		writeMeasured(t, m)
	case *update:
		m.Hours[at] = got
		writeMeasured(t, m)
	default:
		require.GreaterOrEqual(t, at, 0, "not measured yet")
		want := m.Hours[at]
		assert.InEpsilon(t, want.Views.Read, got.Views.Read, 0.15)
		assert.InEpsilon(t, want.Passes.Read, got.Passes.Read, 0.15)
		assert.InEpsilon(t, want.Passes.Write, got.Passes.Write, 0.5, "few changes, so few snapshots, in a short time")
	}
}

// read lets every container turn over.
func (h *hour) read() {
	at := h.now
	h.now = h.now.Add(10 * time.Second)
	for _, c := range h.caches {
		view, err := c.View(h.Context())
		require.NoError(h, err)
		require.False(h, view.Stale())
	}
	h.now = at
}

func (h *hour) scaled(by float64) fleetHour {
	scale := func(m *meter) units { return units{m.Read * by, m.Write * by} }
	return fleetHour{
		Instances: float64(*size), Containers: containers,
		Changes: scale(&h.changes), Views: scale(&h.views), Passes: scale(&h.passes),
	}
}
