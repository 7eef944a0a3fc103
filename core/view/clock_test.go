package view

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

// TestClockSetBack: a view whose boundary lies ahead of the clock, because the
// clock was set back, is loaded anew. What changed since then is listed, what
// was cancelled leaves, and no answer may be kept longer than an interval.
func TestClockSetBack(t *testing.T) {
	const made = 1000.0
	for _, interval := range []time.Duration{30 * time.Second, 0} {
		for _, back := range []float64{1, 9, 11, 40, 90, 3600, 86400} {
			for _, idle := range []bool{false, true} {
				t.Run(fmt.Sprintf("interval %s back %v s idle %v", interval, back, idle), func(t *testing.T) {
					r := newRig(t, func(c *Config) { c.Interval = interval })
					r.source.register(up("SHOP", "1"), 1, at(-2*86400))
					r.set(made)
					look := func() *View {
						v, err := r.DeltaView(context.Background())
						require.NoError(t, err)
						return v
					}
					require.Equal(t, []string{"SHOP/1 UP"}, held(look()))
					r.source.publish(at(made))

					now := made - back
					r.set(now)
					r.source.register(up("SHOP", "2"), 1, at(now+1))
					r.source.cancel(eureka.NewKey("shop", "1"), 2, at(now+2))
					r.elapsed = 2 * time.Second
					if !idle {
						look()
					}
					r.set(now + 63) // two turns
					r.elapsed = 63 * time.Second
					v := look()
					assert.Equal(t, []string{"SHOP/2 UP"}, held(v))
					assert.Equal(t, []string{"SHOP/1 DELETED UP", "SHOP/2 ADDED UP"}, inDelta(v))
					assert.False(t, v.Boundary().After(r.clock()))
				})
			}
		}
	}
}

// TestKeepingAfterClockSetBack: whatever the clock says, an answer is not to be
// kept for longer than from one view to the next, nor is a view younger than
// new.
func TestKeepingAfterClockSetBack(t *testing.T) {
	r := newRig(t, nil)
	r.set(1000)
	v := r.view(t)
	assert.Equal(t, at(990), v.Boundary())
	for _, c := range []struct{ now, keep, age float64 }{
		{1000, 23, 10}, {1022, 1, 32}, {1023, 0, 33}, {1100, 0, 110}, {991, 32, 1}, {985, 33, 0}, {900, 33, 0}, {-5000, 33, 0},
	} {
		assert.Equal(t, time.Duration(c.keep)*time.Second, v.Keep(at(c.now)), "at %v", c.now)
		assert.Equal(t, time.Duration(c.age)*time.Second, v.Age(at(c.now)), "at %v", c.now)
	}
}

// TestRetryAfterClockSetBack: the pause after a failed refresh does not last
// until the clock has caught up.
func TestRetryAfterClockSetBack(t *testing.T) {
	r := newRig(t, nil)
	r.source.register(up("SHOP", "1"), 1, at(-10))
	r.set(1000)
	r.view(t)
	r.source.fail(eureka.ErrUnavailable)
	r.set(1023)
	require.True(t, r.view(t).Stale())
	r.source.fail(nil)
	r.set(900)
	v := r.view(t)
	assert.False(t, v.Stale())
	assert.Equal(t, at(870), v.Boundary())
}

// TestColdLoadWithClocksThatDiffer: a snapshot that begins ahead of the clock
// was published under another clock, so its time says nothing of the rows that
// complete it.
func TestColdLoadWithClocksThatDiffer(t *testing.T) {
	for _, c := range []struct {
		began  float64
		origin Origin
	}{
		{1009, FromSnapshot}, {1011, FromScan}, {1120, FromScan}, {90_000, FromScan},
	} {
		r := newRig(t, nil)
		r.source.register(up("SHOP", "1"), 1, at(0))
		r.source.publish(at(c.began))
		r.source.register(up("SHOP", "2"), 1, at(985))
		r.set(1000)
		v := r.view(t)
		assert.Equal(t, c.origin, r.turns[0].Origin, "began at %v", c.began)
		if c.origin == FromScan {
			assert.Equal(t, []string{"SHOP/1 UP", "SHOP/2 UP"}, held(v))
		}
	}
}
