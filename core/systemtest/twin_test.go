package systemtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/memory"
	"github.com/eurekaless/registry/storage/storagetest"
)

// twin is a registry of several processes beside one that gets the same
// requests and writes every heartbeat.
type twin struct {
	t         *rapid.T
	now       time.Time
	stores    [2]*memory.Store
	processes [2][]*registry.Registry
	// changedBy is the process that changed an instance last, at changedAt.
	changedBy map[eureka.Key]int
	changedAt map[eureka.Key]time.Time
	// lagged counts heartbeats that were answered as before the change.
	lagged int
}

const twinInterval = 75 * time.Second

func newTwin(t *rapid.T) *twin {
	w := &twin{t: t, now: fleetEpoch, changedBy: map[eureka.Key]int{}, changedAt: map[eureka.Key]time.Time{}}
	for i := range w.stores {
		w.stores[i] = memory.New(memory.Config{})
		for range 2 {
			cfg := registry.Config{
				Store: w.stores[i], Now: func() time.Time { return w.now }, Monotonic: func() time.Duration { return w.now.Sub(fleetEpoch) },
			}
			if i == 0 {
				cfg.RenewalWriteInterval = twinInterval
			}
			w.processes[i] = append(w.processes[i], registry.New(cfg))
		}
	}
	return w
}

// both makes the same request of both registries and returns both outcomes.
func (w *twin) both(process int, do func(*registry.Registry) error) (quiet, always error) {
	return do(w.processes[0][process]), do(w.processes[1][process])
}

// step makes a request by chance.
func (w *twin) step() {
	ctx := context.Background()
	key := eureka.NewKey("shop", fmt.Sprint(rapid.IntRange(0, 1).Draw(w.t, "instance")))
	dirty := fleetEpoch.Add(time.Duration(rapid.IntRange(1, 3).Draw(w.t, "dirty")) * time.Second)
	process := rapid.IntRange(0, 1).Draw(w.t, "process")
	status := rapid.SampledFrom([]eureka.Status{eureka.Up, eureka.OutOfService, eureka.Unknown}).Draw(w.t, "status")
	switch rapid.IntRange(0, 9).Draw(w.t, "request") {
	case 0, 1, 2, 3:
		quiet, always := w.both(process, func(r *registry.Registry) error { return r.Renew(ctx, key, dirty) })
		w.requireSameHeartbeat(key, process, quiet, always)
	case 4:
		var newer [2]*eureka.InstanceInfo
		n := 0
		quiet, always := w.both(process, func(r *registry.Registry) (err error) {
			newer[n], err = r.RenewReplicated(ctx, key, dirty)
			n++
			return err
		})
		w.requireSame(quiet, always)
		require.Equal(w.t, newer[1], newer[0])
	case 5:
		info := registration(eureka.Up)
		info.InstanceID, info.LastDirty = key.ID, dirty
		w.change(key, process, func(r *registry.Registry) error { return r.Register(ctx, info) })
	case 6:
		w.change(key, process, func(r *registry.Registry) error { return r.Cancel(ctx, key) })
	case 7:
		w.change(key, process, func(r *registry.Registry) error { return r.SetStatus(ctx, key, status, dirty) })
	case 8:
		w.change(key, process, func(r *registry.Registry) error { return r.RemoveOverride(ctx, key, status, dirty) })
	default:
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60_000).Draw(w.t, "milliseconds")) * time.Millisecond)
	}
}

func (w *twin) change(key eureka.Key, process int, do func(*registry.Registry) error) {
	quiet, always := w.both(process, do)
	w.requireSame(quiet, always)
	w.changedBy[key], w.changedAt[key] = process, w.now
}

func (w *twin) requireSame(quiet, always error) {
	require.Equal(w.t, fmt.Sprint(always), fmt.Sprint(quiet))
}

// requireSameHeartbeat holds that a heartbeat is answered as if every one were
// written, but for a while after another process changed the lease.
func (w *twin) requireSameHeartbeat(key eureka.Key, process int, quiet, always error) {
	if (quiet == nil) == (always == nil) {
		w.requireSame(quiet, always)
		return
	}
	w.lagged++
	require.NoError(w.t, quiet)
	require.ErrorIs(w.t, always, eureka.ErrLeaseNotFound)
	require.Less(w.t, w.now.Sub(w.changedAt[key]), twinInterval)
	require.NotEqual(w.t, process, w.changedBy[key], "what a process changed itself it knows")
}

// requireSameLeases compares all but the renewals.
func (w *twin) requireSameLeases() {
	var scans [2][]eureka.Lease
	for i, s := range w.stores {
		leases, err := s.Scan(context.Background())
		require.NoError(w.t, err)
		for _, l := range leases {
			l.Renewed, l.Quiet = time.Time{}, 0
			scans[i] = append(scans[i], l)
		}
	}
	require.Empty(w.t, storagetest.DiffLeases(scans[1], scans[0]))
}

// TestUnwrittenHeartbeatsChangeNothingElse: registrations, timestamps,
// overrides and cancels leave the same leases, and the same answers but for 404
// to a heartbeat after another process changed the lease.
func TestUnwrittenHeartbeatsChangeNothingElse(t *testing.T) {
	t.Parallel()
	lagged := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newTwin(t)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			w.step()
			w.requireSameLeases()
		}
		lagged += w.lagged
	})
	require.Positive(t, lagged, "heartbeats that were answered 200 after another process ended the lease")
}
