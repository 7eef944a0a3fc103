package discovery

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/eurekaless/registry/core/eureka"
)

// Picker chooses one of n instances behind a name, by a number from 0 to n-1;
// n is at least 1. It is called concurrently.
type Picker func(name string, n int) int

// Shuffled returns a picker that chooses at random.
func Shuffled() Picker {
	return func(_ string, n int) int { return rand.IntN(n) }
}

// RoundRobin returns a picker that goes round, for each name from a random
// place on.
func RoundRobin() Picker {
	var counters sync.Map // name -> *atomic.Uint32
	return func(name string, n int) int {
		counter, ok := counters.Load(name)
		if !ok {
			start := &atomic.Uint32{}
			start.Store(rand.Uint32())
			counter, _ = counters.LoadOrStore(name, start)
		}
		return int(counter.(*atomic.Uint32).Add(1) % uint32(n))
	}
}

// Pick returns a usable instance behind a name, which is a VIP address or an
// application, in any case: one of the nearest, chosen by [Config.Picker]. It
// returns [ErrNoUsableInstance] when there is none, and then fetches the registry
// at once, at most every five seconds, so that the next look-up finds an instance
// that has just started. The instance is a [View]'s: callers must not change it.
func (c *Client) Pick(name string) (*eureka.InstanceInfo, error) {
	p := c.View().named(name)
	if len(p.members) == 0 {
		c.fetcher.askForMissed()
		return nil, fmt.Errorf("%s: %w", name, ErrNoUsableInstance)
	}
	return p.members[c.cfg.Picker(name, p.near)], nil
}

// pickFitting is as Pick among the instances that fit, of which those that are
// not the nearest serve when no other does.
func (c *Client) pickFitting(name string, fits func(*eureka.InstanceInfo) bool) (*eureka.InstanceInfo, error) {
	p := c.View().named(name)
	for _, part := range [][]*eureka.InstanceInfo{p.members[:p.near], p.members[p.near:]} {
		if len(part) == 0 {
			continue
		}
		start := c.cfg.Picker(name, len(part))
		for n := range part {
			if i := part[(start+n)%len(part)]; fits(i) {
				return i, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: %w", name, ErrNoUsableInstance)
}
