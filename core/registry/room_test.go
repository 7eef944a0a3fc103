package registry_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/memory"
)

// counted is a counter that a test watches; a batch counts side by side.
type counted struct {
	registry.Counter
	calls atomic.Int64
	err   error
}

func (c *counted) Count(ctx context.Context, app string, limit int) (int, error) {
	c.calls.Add(1)
	if c.err != nil {
		return 0, c.err
	}
	return c.Counter.Count(ctx, app, limit)
}

// newLimited returns a registry of at most three instances an application.
func newLimited() (*registry.Registry, *counted) {
	store := memory.New(memory.Config{})
	c := &counted{Counter: store}
	return registry.New(registry.Config{Store: store, MaxInstances: 3, Counter: c}), c
}

func numbered(app string, n int) *eureka.InstanceInfo {
	return &eureka.InstanceInfo{App: app, InstanceID: fmt.Sprint(n), HostName: "shop.example.org", Status: eureka.Up}
}

// TestMaxInstances: a new instance is refused when there are as many as there
// may be; those that are there register again, and others' applications have
// room of their own.
func TestMaxInstances(t *testing.T) {
	r, c := newLimited()
	ctx := t.Context()
	for n := range 3 {
		require.NoError(t, r.Register(ctx, numbered("SHOP", n)))
	}
	err := r.Register(ctx, numbered("SHOP", 3))
	require.ErrorIs(t, err, eureka.ErrTooLarge)
	assert.ErrorContains(t, err, "SHOP has 3 instances")
	_, err = r.Instance(ctx, eureka.Key{App: "SHOP", ID: "3"})
	assert.ErrorIs(t, err, eureka.ErrLeaseNotFound)

	assert.EqualValues(t, 4, c.calls.Load())
	require.NoError(t, r.Register(ctx, numbered("SHOP", 1)))
	assert.EqualValues(t, 4, c.calls.Load(), "one that is there is not counted")
	require.NoError(t, r.Register(ctx, numbered("CART", 3)))

	require.NoError(t, r.Cancel(ctx, eureka.Key{App: "SHOP", ID: "0"}))
	require.NoError(t, r.Register(ctx, numbered("SHOP", 3)), "in place of the one that is gone")
	require.ErrorIs(t, r.Register(ctx, numbered("SHOP", 0)), eureka.ErrTooLarge, "a tombstone keeps no place")
}

// TestMaxInstancesForPeers: what a peer passes on has the same limit.
func TestMaxInstancesForPeers(t *testing.T) {
	r, _ := newLimited()
	for n := range 3 {
		require.NoError(t, r.Register(t.Context(), numbered("SHOP", n)))
	}
	var batch []registry.Replicated
	for n := range 5 {
		info := numbered("SHOP", n)
		batch = append(batch, registry.Replicated{Key: info.Key(), Action: registry.ActionRegister, Instance: info})
	}
	for n, o := range r.Replicate(t.Context(), batch) {
		if n < 3 {
			assert.NoError(t, o.Err, "one that is there")
			continue
		}
		assert.ErrorIs(t, o.Err, eureka.ErrTooLarge)
	}
}

// TestACountThatFails refuses a new instance for now.
func TestACountThatFails(t *testing.T) {
	r, c := newLimited()
	require.NoError(t, r.Register(t.Context(), numbered("SHOP", 1)))
	c.err = eureka.ErrThrottled
	assert.ErrorIs(t, r.Register(t.Context(), numbered("SHOP", 2)), eureka.ErrThrottled)
	assert.NoError(t, r.Register(t.Context(), numbered("SHOP", 1)))
}
