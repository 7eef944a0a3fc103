// Package mirror keeps a copy of another registry by its REST API: fetched in
// full at first, then by deltas, and in full again whenever the hash codes
// differ or too much time went by. It has no clock and starts nothing of its
// own: whoever holds the copy says when to fetch.
package mirror

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// DefaultWindow is how long after a fetch a delta is still asked for. Servers
// keep changes for three minutes; a minute of it is left for what is late.
const DefaultWindow = 2 * time.Minute

// Source is another registry; discovery.API is one.
type Source interface {
	Applications(ctx context.Context, regions ...string) (*eureka.Applications, error)
	Delta(ctx context.Context, regions ...string) (*eureka.Applications, error)
}

// Copy is a copy of a registry. It is not safe for concurrent use; what it
// returns is never changed by it, and must not be changed by others.
type Copy struct {
	source  Source
	window  time.Duration
	fetched time.Time
	all     map[eureka.Key]*eureka.InstanceInfo
	changes []*eureka.InstanceInfo
}

// New returns an empty copy; window 0 is [DefaultWindow].
func New(source Source, window time.Duration) *Copy {
	if window == 0 {
		window = DefaultWindow
	}
	return &Copy{source: source, window: window, all: map[eureka.Key]*eureka.InstanceInfo{}}
}

// Fetched returns when the source last answered; zero: never.
func (c *Copy) Fetched() time.Time { return c.fetched }

// Instances returns all instances.
func (c *Copy) Instances() map[eureka.Key]*eureka.InstanceInfo { return c.all }

// Changes returns what the source's last delta told: each instance with its
// last state, whole also when it is deleted. After a full fetch there are none.
func (c *Copy) Changes() []*eureka.InstanceInfo { return c.changes }

// Refresh fetches what changed, or everything. After an error the copy is what
// it was.
func (c *Copy) Refresh(ctx context.Context, now time.Time) error {
	if !c.fetched.IsZero() && now.Sub(c.fetched) < c.window {
		delta, err := c.source.Delta(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && c.apply(delta) {
			c.fetched = now
			return nil
		}
	}
	all, err := c.source.Applications(ctx)
	if err != nil {
		return err
	}
	next := map[eureka.Key]*eureka.InstanceInfo{}
	for i := range instances(all) {
		next[i.Key()] = i
	}
	c.all, c.changes, c.fetched = next, nil, now
	return nil
}

// apply applies a delta, unless what comes of it is not what the source has.
// A delta of version -1 says that there are none.
func (c *Copy) apply(delta *eureka.Applications) bool {
	if delta.Version < 0 {
		return false
	}
	next := maps.Clone(c.all)
	var changes []*eureka.InstanceInfo
	for i := range instances(delta) {
		changes = append(changes, i)
		if i.Action == eureka.Deleted {
			delete(next, i.Key())
		} else {
			next[i.Key()] = i
		}
	}
	counts := eureka.StatusCounts{}
	for _, i := range next {
		counts.Count(i)
	}
	if counts.HashCode() != delta.HashCode {
		return false
	}
	c.all, c.changes = next, changes
	return true
}

func instances(all *eureka.Applications) func(func(*eureka.InstanceInfo) bool) {
	return func(yield func(*eureka.InstanceInfo) bool) {
		for _, app := range all.Applications {
			for _, i := range app.Instances {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// Compare orders keys by application, then by id.
func Compare(a, b eureka.Key) int {
	if c := strings.Compare(a.App, b.App); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}
