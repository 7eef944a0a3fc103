package registry_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/wire"
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

// TestAnInstanceGrowsToItsLimit: no way to write an instance makes it larger
// than one may be, and what is refused changes nothing.
func TestAnInstanceGrowsToItsLimit(t *testing.T) {
	const limit = 100 << 10
	text := func(n int) map[string]string { return map[string]string{"more": strings.Repeat("x", n)} }
	with := func(metadata map[string]string) *eureka.InstanceInfo {
		info := numbered("SHOP", 1)
		info.Metadata = metadata
		return info
	}
	key := numbered("SHOP", 1).Key()
	for name, write := range map[string]func(r *registry.Registry, n int) error{
		"registration": func(r *registry.Registry, n int) error { return r.Register(t.Context(), with(text(n))) },
		"metadata":     func(r *registry.Registry, n int) error { return r.AddMetadata(t.Context(), key, text(n)) },
		"batch": func(r *registry.Registry, n int) error {
			return r.Replicate(t.Context(), []registry.Replicated{
				{Key: key, Action: registry.ActionRegister, Instance: with(text(n))},
			})[0].Err
		},
		"many small updates": func(r *registry.Registry, n int) error {
			for part := range n / 1000 {
				if err := r.AddMetadata(t.Context(), key, map[string]string{fmt.Sprint(part): strings.Repeat("x", 1000)}); err != nil {
					return err
				}
			}
			return nil
		},
		"keys": func(r *registry.Registry, n int) error {
			return r.AddMetadata(t.Context(), key, map[string]string{strings.Repeat(":", n/12): ""})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.New(registry.Config{Store: memory.New(memory.Config{}), MaxInstance: limit})
			require.NoError(t, r.Register(t.Context(), with(nil)))
			require.NoError(t, write(r, limit-limit/10), "below the limit")
			require.NoError(t, r.Register(t.Context(), with(nil)))

			require.ErrorIs(t, write(r, limit+limit/10), eureka.ErrTooLarge)
			got, err := r.Instance(t.Context(), key)
			require.NoError(t, err)
			assert.False(t, wire.Exceeds(got, limit))
		})
	}
}

// TestABatchShowsLittleOfWhatIsNewer: a batch of heartbeats from a peer that is
// behind in everything does not bring all of the registry into its answer.
func TestABatchShowsLittleOfWhatIsNewer(t *testing.T) {
	r := registry.New(registry.Config{Store: memory.New(memory.Config{})})
	for name, key := range map[string]func(n int) eureka.Key{
		"of many instances": func(n int) eureka.Key { return numbered("SHOP", n).Key() },
		"of one instance":   func(int) eureka.Key { return numbered("SHOP", 0).Key() },
	} {
		t.Run(name, func(t *testing.T) {
			var batch []registry.Replicated
			for n := range 250 {
				info := numbered("SHOP", n)
				info.Metadata = map[string]string{"more": strings.Repeat("x", 90_000)}
				require.NoError(t, r.Register(t.Context(), info))
				batch = append(batch, registry.Replicated{Key: key(n), Action: registry.ActionHeartbeat, Dirty: time.UnixMilli(1)})
			}
			shown, bytes := 0, 0
			for _, o := range r.Replicate(t.Context(), batch) {
				if o.Newer == nil {
					assert.ErrorIs(t, o.Err, eureka.ErrConflict)
					continue
				}
				shown++
				bytes += wire.Size(o.Newer)
			}
			assert.Positive(t, shown)
			assert.LessOrEqual(t, bytes, 1<<20)
		})
	}
}
