package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/readcache"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

var (
	minutes = flag.Int("minutes", 5, "how long the measured time is; the figures are scaled to an hour")
	update  = flag.Bool("update", false, "write measured.json")
)

const (
	instances  = 100
	containers = 3
	// churn is how many instances of an hour are cancelled, are evicted, and
	// come anew: 2% in all.
	churn = 2
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
	caches                           []*readcache.Cache
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
		h.caches = append(h.caches, readcache.New(readcache.Config{Source: tables(&h.views), Interval: cfg.CacheRefresh, Now: clock, Logger: log}))
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
		LastDirty: time.UnixMilli(1_700_000_000_000),
		App:       name, InstanceID: fmt.Sprintf("%s:%s:8080", host, name), HostName: host, IPAddr: host, Status: eureka.Up,
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

// renew sends the heartbeats of instances from one number to another.
func (h *hour) renew(from, to int) {
	reg := h.registry(h.renewing)
	var group sync.WaitGroup
	for n := from; n < to; n++ {
		group.Go(func() { assert.NoError(h, reg.Renew(h.Context(), instance(n).Key(), time.Time{})) })
	}
	group.Wait()
}

// TestHour measures an hour, or a part of one, and holds measured.json to it.
func TestHour(t *testing.T) {
	h := newHour(t)
	for n := range instances {
		h.register(n)
	}
	h.read()
	h.changes.units, h.views.units = units{}, units{}
	turns := *minutes * 2
	// What happens in an hour is spread over it; what is left of the fleet
	// renews. Evicted ones just fall silent.
	first, next := 0, instances
	every := max(1, 120/(2*churn))
	for turn := range turns {
		h.now = h.now.Add(30 * time.Second)
		if turn%every == every/2 {
			if turn/every%2 == 0 {
				h.cancel(first)
			}
			first++
			h.register(next)
			next++
		}
		h.renew(first, next)
		h.read()
		if turn%2 == 1 {
			require.NoError(t, h.evict.Handle(t.Context()))
		}
	}
	want := readMeasured(t)
	got := h.scaled(60 / float64(*minutes))
	got.RenewalWrites = want.RenewalWrites
	t.Logf("an hour: %+v", got)
	if *update {
		writeMeasured(t, got)
		return
	}
	assert.Equal(t, want.Heartbeats, got.Heartbeats)
	assert.InEpsilon(t, want.Renewals.Write, got.Renewals.Write, 0.01, "one unit a heartbeat")
	assert.InEpsilon(t, want.Views.Read, got.Views.Read, 0.15)
	assert.InEpsilon(t, want.Passes.Read, got.Passes.Read, 0.15)
	assert.InEpsilon(t, want.Passes.Write, got.Passes.Write, 0.5, "few changes, so few snapshots, in a short time")
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

func (h *hour) scaled(by float64) measured {
	scale := func(m *meter) units { return units{m.Read * by, m.Write * by} }
	return measured{
		Instances: instances, Heartbeats: instances * 120, Containers: containers,
		Renewals: scale(&h.renewals), Changes: scale(&h.changes), Views: scale(&h.views), Passes: scale(&h.passes),
	}
}
