package systemtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/wire"
)

var shop1 = eureka.NewKey("shop", "shop-1")

// quiet returns a world in which nothing goes wrong, with functions whose
// clocks are right and defaults as on AWS.
func quiet(t *testing.T) (*world, *registry.Registry) {
	w := newWorld(t, func(int) int { return 0 }, true)
	w.calm = true
	return w, registry.New(registry.Config{Store: w.tables, Now: w.clock(0)})
}

func registration(status eureka.Status) *eureka.InstanceInfo {
	return &eureka.InstanceInfo{
		InstanceID: shop1.ID, HostName: "shop-1.example.org", App: shop1.App, IPAddr: "192.0.2.10", Status: status,
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
	}
}

// minutes lets minutes pass, with a pass in each.
func (w *world) minutes(n int) {
	for range n {
		w.advance(time.Minute)
		w.evict()
		w.stream.flush()
	}
}

// shown returns the instance as readers see it a turn later, and as the delta
// has it.
func (w *world) shown(t *testing.T) (listed, changed *eureka.InstanceInfo) {
	w.advance(time.Minute)
	v := w.containers[1].view()
	require.NotNil(t, v)
	for _, i := range instances(v.Applications()) {
		if i.Key() == shop1 {
			listed = i
		}
	}
	for _, i := range instances(decode(t, v.Delta(wire.Encoding{})).Applications) {
		if i.Key() == shop1 {
			changed = i
		}
	}
	return listed, changed
}

// TestH25WithoutTTL: with the tables' TTL switched off, an instance that
// stopped renewing is in no answer one pass after its lease ended, a heartbeat
// for it is answered 404, and a registration starts anew.
func TestH25WithoutTTL(t *testing.T) {
	ctx := context.Background()
	w, r := quiet(t)
	w.minutes(1)
	require.NoError(t, r.Register(ctx, registration(eureka.Up)))
	w.stream.flush()
	first, _ := w.shown(t)
	require.NotNil(t, first)

	w.minutes(2)
	listed, changed := w.shown(t)
	assert.Nil(t, listed)
	require.NotNil(t, changed)
	assert.Equal(t, eureka.Deleted, changed.Action)
	_, err := r.Instance(ctx, shop1)
	require.ErrorIs(t, err, eureka.ErrLeaseNotFound)
	require.ErrorIs(t, r.Renew(ctx, shop1, time.Time{}), eureka.ErrLeaseNotFound)

	require.NoError(t, r.Register(ctx, registration(eureka.Up)))
	w.stream.flush()
	again, _ := w.shown(t)
	require.NotNil(t, again)
	assert.True(t, again.Lease.Registered.After(first.Lease.Registered))
}

// TestH25WithoutEviction: with eviction switched off, a removal by TTL reaches
// readers as DELETED.
func TestH25WithoutEviction(t *testing.T) {
	w, r := quiet(t)
	require.NoError(t, r.Register(context.Background(), registration(eureka.Up)))
	w.stream.flush()
	listed, _ := w.shown(t)
	require.NotNil(t, listed)

	w.advance(10 * time.Minute)
	w.store.ExpireTTL(w.now)
	w.stream.flush()
	listed, changed := w.shown(t)
	assert.Nil(t, listed)
	require.NotNil(t, changed)
	assert.Equal(t, eureka.Deleted, changed.Action)
	assert.Equal(t, "192.0.2.10", changed.IPAddr, "whole, also when deleted")
}

// TestOverrideOutlivesEviction: an override outlives an eviction by an hour, so
// that a node under repair does not come back UP, and never a cancel.
func TestOverrideOutlivesEviction(t *testing.T) {
	for _, test := range []struct {
		name   string
		end    func(*world, *registry.Registry) error
		away   time.Duration
		status eureka.Status
	}{
		{"evicted 59 minutes ago", evicted, 59 * time.Minute, eureka.OutOfService},
		{"evicted 61 minutes ago", evicted, 61 * time.Minute, eureka.Up},
		{"cancelled just now", func(_ *world, r *registry.Registry) error {
			return r.Cancel(context.Background(), shop1)
		}, 0, eureka.Up},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := context.Background()
			w, r := quiet(t)
			w.minutes(1)
			require.NoError(t, r.Register(ctx, registration(eureka.Up)))
			require.NoError(t, r.SetStatus(ctx, shop1, eureka.OutOfService, time.Time{}))
			require.NoError(t, test.end(w, r))
			w.advance(test.away)
			require.NoError(t, r.Register(ctx, registration(eureka.Up)))
			i, err := r.Instance(ctx, shop1)
			require.NoError(t, err)
			assert.Equal(t, test.status, i.Status)
		})
	}
}

// evicted lets the lease run out.
func evicted(w *world, r *registry.Registry) error {
	w.minutes(2)
	if _, err := r.Instance(context.Background(), shop1); err == nil {
		return assert.AnError
	}
	return nil
}
