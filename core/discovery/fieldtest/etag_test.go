package fieldtest

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
)

// TestUnchangedAnswersHaveNoBody: this registry's tags and the client's
// questions fit together, for deltas and for full answers.
func TestUnchangedAnswersHaveNoBody(t *testing.T) {
	for _, withDeltas := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			r := newInProcess(ctx, t)
			var fresh, unchanged atomic.Int64
			c, err := discovery.New(discovery.Config{
				ServiceURLs: []string{"http://registry.example.org/eureka"}, Transport: r, DisableDelta: !withDeltas,
				OnCall: func(call discovery.Call) {
					switch call.Status {
					case http.StatusOK:
						fresh.Add(1)
					case http.StatusNotModified:
						unchanged.Add(1)
					}
				},
			})
			require.NoError(t, err)
			register := func(id string) {
				require.NoError(t, c.API().Register(ctx, &eureka.InstanceInfo{
					App: "SHOP", InstanceID: id, HostName: "shop.example.org", IPAddr: "192.0.2.1", VIPAddress: "shop", Status: eureka.Up,
					Lease: eureka.LeaseInfo{Duration: time.Hour},
				}))
			}
			register("one")
			require.NoError(t, c.Start(ctx))
			time.Sleep(10 * time.Minute) // what the delta shows is gone from it by then
			register("two")
			time.Sleep(2 * time.Minute)
			assert.Len(t, c.View().VIP("shop"), 2)
			require.NoError(t, c.Stop(ctx))
			cancel()
			t.Logf("deltas %t: %d answers, %d unchanged", withDeltas, fresh.Load(), unchanged.Load())
			if withDeltas { // one that shows a change, for three minutes, is another one with each view
				assert.LessOrEqual(t, fresh.Load(), int64(14))
				assert.GreaterOrEqual(t, unchanged.Load(), int64(10))
				return
			}
			assert.LessOrEqual(t, fresh.Load(), int64(3))
			assert.GreaterOrEqual(t, unchanged.Load(), int64(20))
		})
	}
}
