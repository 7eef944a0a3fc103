package view

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// fatView is a view of instances of 100 KB, each under each of so many VIPs.
func fatView(instances, vips int, d *deflaters) *View {
	var names []string
	for n := range vips {
		names = append(names, fmt.Sprint("vip-", n))
	}
	var entries []delta.Entry
	for n := range instances {
		i := &eureka.InstanceInfo{
			App: "SHOP", InstanceID: fmt.Sprint("shop-", n), HostName: "shop.example.org", Status: eureka.Up,
			VIPAddress: strings.Join(names, ","), Metadata: map[string]string{"more": strings.Repeat("x", 100_000)},
		}
		entries = append(entries, delta.Entry{Key: i.Key(), Version: 1, Instance: i})
	}
	return newView(newState(entries, start), start, start, &documents{}, d)
}

// kept returns how many bytes the bodies of a view have.
func kept(v *View) (n int64) {
	v.bodies.Range(func(_, b any) bool { n += b.(*Body).held(); return true })
	return n
}

// TestBodiesShareTheirMemory: whoever reads however many lists at once, they take
// no more than they may together, and everybody is answered in the end.
func TestBodiesShareTheirMemory(t *testing.T) {
	const limit = 8 << 20
	synctest.Test(t, func(t *testing.T) {
		d := &deflaters{shelf: shelf{limit: limit}}
		v := fatView(20, 50, d) // 2 MB a list
		var sending, most atomic.Int64
		var readers sync.WaitGroup
		for n := range 200 {
			readers.Go(func() {
				b := v.VIP(fmt.Sprint("vip-", n%50), wire.Encoding{Format: wire.Format(n % 2)})
				release, err := b.Acquire(t.Context())
				if !assert.NoError(t, err) {
					return
				}
				defer release()
				size := int64(len(b.Plain()))
				now := sending.Add(size)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				time.Sleep(time.Second) // to a slow client
				sending.Add(-size)
			})
		}
		readers.Wait()
		assert.Positive(t, most.Load())
		assert.LessOrEqual(t, kept(v), int64(limit))
		assert.Positive(t, kept(v), "what there is room for is kept")
		assert.LessOrEqual(t, d.shelf.used, int64(limit))

		newView(v.state, start, start, &documents{}, d)
		assert.Zero(t, kept(v), "nothing of a view before")
		assert.Zero(t, d.shelf.used)
	})
}

// TestABodyLargerThanItsMemory is made all the same, alone; and who waits for it
// in vain is told to come again.
func TestABodyLargerThanItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deflaters{shelf: shelf{limit: 1 << 20}}
		v := fatView(20, 2, d)
		first, second := v.VIP("vip-0", wire.Encoding{}), v.VIP("vip-1", wire.Encoding{})
		release, err := first.Acquire(t.Context())
		require.NoError(t, err)
		again, err := first.Acquire(t.Context())
		require.NoError(t, err, "the same body for another request")
		assert.Greater(t, len(first.Plain()), 2_000_000)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = second.Acquire(ctx)
		require.ErrorIs(t, err, eureka.ErrThrottled)
		release()
		again()
		release, err = second.Acquire(t.Context())
		require.NoError(t, err)
		release()
	})
}

// TestSmallBodiesAreKept: in a usual registry no list is made twice.
func TestSmallBodiesAreKept(t *testing.T) {
	d := &deflaters{}
	v := fatView(2, 50, d)
	bodies := map[*Body]bool{}
	for range 3 {
		for n := range 50 {
			b := v.VIP(fmt.Sprint("vip-", n), wire.Encoding{})
			release, err := b.Acquire(t.Context())
			require.NoError(t, err)
			b.Gzip()
			release()
			bodies[b] = true
		}
	}
	assert.Len(t, bodies, 50)
}
