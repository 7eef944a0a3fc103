package view

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// answer is what a call of View gave.
type answer struct {
	view *View
	err  error
}

// ask calls View in a goroutine.
func (r *rig) ask(ctx context.Context) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		v, err := r.View(ctx)
		out <- answer{v, err}
	}()
	return out
}

// gate makes a source wait until it is opened or the context ends.
func (s *fakeSource) gate() (open func()) {
	opened := make(chan struct{})
	s.hold = func(ctx context.Context, _ string) error {
		select {
		case <-opened:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return sync.OnceFunc(func() { close(opened) })
}

func TestColdLoadIsSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		open := r.source.gate()
		var asked []<-chan answer
		for range 20 {
			asked = append(asked, r.ask(t.Context()))
		}
		synctest.Wait()
		assert.Equal(t, []string{"snapshot"}, r.source.took())
		open()
		first := (<-asked[0]).view
		for _, a := range asked[1:] {
			assert.Same(t, first, (<-a).view)
		}
		assert.Equal(t, []string{"scan", "deltas"}, r.source.took())
	})
}

func TestColdLoadFailsForAllWhoWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		open := r.source.gate()
		var asked []<-chan answer
		for range 5 {
			asked = append(asked, r.ask(t.Context()))
		}
		synctest.Wait()
		r.source.fail(eureka.ErrThrottled)
		r.source.took()
		open()
		for _, a := range asked {
			assert.ErrorIs(t, (<-a).err, eureka.ErrThrottled)
		}
		assert.Equal(t, []string{"scan"}, r.source.took(), "one try, not one for each that waited")
	})
}

// TestColdLoadGivenUp: when the request that loads is given up, another that
// waits loads in its place; and one whose own context ends returns.
func TestColdLoadGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		open := r.source.gate()
		ctx, cancel := context.WithCancel(t.Context())
		leader := r.ask(ctx)
		synctest.Wait()
		impatient, give := context.WithCancel(t.Context())
		waiter := r.ask(impatient)
		patient := r.ask(t.Context())
		synctest.Wait()

		give()
		assert.ErrorIs(t, (<-waiter).err, context.Canceled)
		cancel()
		assert.ErrorIs(t, (<-leader).err, context.Canceled)
		open()
		got := <-patient
		require.NoError(t, got.err)
		assert.NotNil(t, got.view)
	})
}

// TestOthersGoOnWithTheOldView: one request refreshes, the others do not wait.
func TestOthersGoOnWithTheOldView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		old := r.view(t)
		r.source.took()
		open := r.source.gate()
		r.set(33)
		refreshing := r.ask(t.Context())
		synctest.Wait()
		for range 5 {
			assert.Same(t, old, r.view(t))
		}
		assert.Equal(t, []string{"deltas"}, r.source.took())
		open()
		assert.Equal(t, at(30), (<-refreshing).view.Boundary())
		assert.Equal(t, at(30), r.view(t).Boundary())
		assert.False(t, old.Stale(), "it was replaced in time")
	})
}

// TestRefreshGivenUp: a request that is given up says nothing of the source,
// so the next one tries at once.
func TestRefreshGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		old := r.view(t)
		open := r.source.gate()
		r.set(33)
		ctx, cancel := context.WithCancel(t.Context())
		refreshing := r.ask(ctx)
		synctest.Wait()
		cancel()
		got := <-refreshing
		require.NoError(t, got.err)
		assert.Same(t, old, got.view)
		assert.False(t, old.Stale())
		open()
		assert.Equal(t, at(30), r.view(t).Boundary())
	})
}

// TestSourceHangs: a refresh ends in time for its request to get the old view.
func TestSourceHangs(t *testing.T) {
	for _, c := range []struct {
		name     string
		wake     float64 // when the view is asked for again
		deadline time.Duration
		waits    time.Duration
	}{
		{"no deadline", 33, 0, DefaultRefreshTimeout},
		{"far deadline", 33, 20 * time.Second, DefaultRefreshTimeout},
		{"near deadline", 33, 3 * time.Second, 2 * time.Second},
		{"no time left", 33, time.Second, 0},
		{"loading anew takes longer", 4000, 20 * time.Second, 19 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil)
				old := r.view(t)
				r.source.gate()
				r.set(c.wake)
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				asked := time.Now()
				v, err := r.View(ctx)
				require.NoError(t, err)
				assert.Same(t, old, v)
				assert.True(t, old.Stale())
				assert.Equal(t, c.waits, time.Since(asked))
				assert.ErrorIs(t, r.turns[1].Err, context.DeadlineExceeded)
				again := time.Now()
				r.view(t)
				assert.Zero(t, time.Since(again), "the next request does not wait")
			})
		})
	}
}

// TestInterval0Concurrent: a request whose moment another request's refresh
// covers does not read again.
func TestInterval0Concurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Interval = 0 })
		_, err := r.DeltaView(t.Context())
		require.NoError(t, err)
		r.source.took()
		open := r.source.gate()
		r.set(1)
		var wait sync.WaitGroup
		for range 10 {
			wait.Go(func() {
				v, err := r.DeltaView(t.Context())
				assert.NoError(t, err)
				assert.Equal(t, at(1), v.Boundary())
			})
		}
		synctest.Wait()
		open()
		wait.Wait()
		assert.Equal(t, []string{"deltas"}, r.source.took())
	})
}

// TestReadersDuringTurns reads every kind of body while views turn over, for
// the race detector; each answer's hash code is that of its own view.
func TestReadersDuringTurns(t *testing.T) {
	r := newRig(t, nil)
	for n := range 300 {
		r.source.register(fleetInstance(n), 1, at(-100))
	}
	r.view(t)
	done := make(chan struct{})
	var wait sync.WaitGroup
	for reader := range 4 {
		wait.Go(func() {
			for turn := 0; ; turn++ {
				select {
				case <-done:
					return
				default:
				}
				v := r.view(t)
				e := encodings[(turn+reader)%len(encodings)]
				body := v.All(e)
				assert.Equal(t, string(body.Plain()), string(unzip(t, body.Gzip())))
				assert.Contains(t, string(body.Plain()), v.Counts().HashCode())
				v.Delta(e).Gzip()
				v.VIP("SERVICE-0001.vip", e).Gzip()
				if b, ok := v.Application("service-0002", e); assert.True(t, ok) {
					b.ETag(true)
				}
			}
		})
	}
	for turn := range 20 {
		for n := range 10 {
			i := fleetInstance(turn*13 + n)
			i.Status = eureka.Down
			r.source.register(i, int64(turn+2), at(float64(turn*30+15)))
		}
		r.set(float64(turn*30 + 33))
		r.view(t)
	}
	close(done)
	wait.Wait()
}

var encodings = []wire.Encoding{
	{Format: wire.JSON}, {Format: wire.JSON, Compact: true}, {Format: wire.XML}, {Format: wire.XML, Compact: true},
}

func encodingName(e wire.Encoding) string { return fmt.Sprintf("%v compact=%v", e.Format, e.Compact) }
