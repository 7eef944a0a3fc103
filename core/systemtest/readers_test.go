package systemtest

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/storage/storagetest"
)

// container is a warm container of the read function, and a client that asks
// it for deltas.
type container struct {
	w      *world
	skew   time.Duration
	off    *time.Duration
	cache  *view.Cache
	client client
	// loaded is when it last loaded the whole registry.
	loaded time.Time
}

// client applies deltas as Eureka's clients do: by action, knowing nothing of
// versions.
type client struct {
	held map[eureka.Key]*eureka.InstanceInfo
	// asked is when it got its last answer; loaded tells that the container
	// has loaded anew since then.
	asked  time.Time
	loaded bool
}

// sleepy is after how long without an answer a client fetches everything.
const sleepy = 2 * time.Minute

func newContainer(w *world, skew time.Duration, off *time.Duration) *container {
	c := &container{w: w, skew: skew, off: off}
	c.start()
	return c
}

// start makes the container a cold one.
func (c *container) start() {
	c.cache = view.New(view.Config{
		Source: c.w.tables, Interval: 30 * time.Second, Retention: 3 * time.Minute,
		Offset: 0.1 + float64(c.w.pick(10))/100, Now: c.w.off(c.skew, c.off), Logger: discard(),
		Elapsed: func() time.Duration { return c.w.now.Sub(epoch) },
		OnRefresh: func(_ context.Context, t view.Refresh) {
			if t.Err != nil {
				c.w.count("turn failed")
				return
			}
			c.w.count("turn from " + string(t.Origin))
			c.w.logf("  of the container %s off: %+v", c.skew, t)
			if t.Origin != view.FromDeltas {
				c.client.loaded, c.loaded = true, c.w.now
			}
		},
	})
}

// view is a request.
func (c *container) view() *view.View {
	v, err := c.cache.View(context.Background())
	if err != nil {
		require.False(c.w.t, c.w.calm, "read: %v", err)
		require.True(c.w.t, errors.Is(err, eureka.ErrThrottled) || errors.Is(err, eureka.ErrUnavailable), "read: %v", err)
		return nil
	}
	return v
}

// ask is a request of the client's. Whatever it applies, it then has what the
// view has, field for field, and its counts make the hash code of the answer.
func (c *container) ask() {
	v := c.view()
	if v == nil {
		return
	}
	whole := fetch(c.w.t, v)
	if c.client.held == nil || c.client.loaded || c.w.now.Sub(c.client.asked) > sleepy {
		c.client.held = whole
		c.w.count("full fetch")
	} else {
		c.client.apply(c.w.t, v)
		c.w.count("delta fetch")
		require.Equal(c.w.t, whole, c.client.held, "what deltas made of the registry")
	}
	c.client.asked, c.client.loaded = c.w.now, false
}

// fetch returns the whole registry.
func fetch(t require.TestingT, v *view.View) map[eureka.Key]*eureka.InstanceInfo {
	all := decode(t, v.All(wire.Encoding{}))
	require.Equal(t, eureka.HashCode(all.Applications), all.HashCode)
	held := map[eureka.Key]*eureka.InstanceInfo{}
	for _, i := range instances(all.Applications) {
		held[i.Key()] = i
	}
	return held
}

// apply takes a delta.
func (c *client) apply(t require.TestingT, v *view.View) {
	changes := decode(t, v.Delta(wire.Encoding{}))
	for _, i := range instances(changes.Applications) {
		switch i.Action {
		case eureka.Added, eureka.Modified:
			c.held[i.Key()] = i
		case eureka.Deleted:
			delete(c.held, i.Key())
		default:
			require.Fail(t, "action", "%s of %s", i.Action, i.Key())
		}
	}
	counts := eureka.StatusCounts{}
	counts.Count(c.list()...)
	require.Equal(t, changes.HashCode, counts.HashCode(), "the hash code of a delta")
}

func (c *client) list() []*eureka.InstanceInfo {
	list := make([]*eureka.InstanceInfo, 0, len(c.held))
	for _, i := range c.held {
		list = append(list, i)
	}
	return list
}

// decode reads a body as a client does.
func decode(t require.TestingT, body *view.Body) *eureka.Applications {
	all, err := wire.DecodeApplications(wire.JSON, body.Plain())
	require.NoError(t, err)
	return all
}

func instances(applications []eureka.Application) []*eureka.InstanceInfo {
	var list []*eureka.InstanceInfo
	for _, a := range applications {
		list = append(list, a.Instances...)
	}
	return list
}

// requireScan holds the container and its client to a scan.
func (c *container) requireScan() {
	v := c.view()
	scan := c.w.scan()
	require.Empty(c.w.t, storagetest.DiffReaders(instances(v.Applications()), scan), "the container")
	require.Equal(c.w.t, storagetest.HashCode(scan), v.Counts().HashCode())
	c.ask()
	require.Empty(c.w.t, storagetest.DiffReaders(c.client.list(), scan), "its client")
}
