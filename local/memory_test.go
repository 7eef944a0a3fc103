package main

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	coreregistry "github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/functions/boot"
)

// inMemory returns the parts of a process with tables in memory, whose
// background work runs until the context ends.
func inMemory(ctx context.Context, t *testing.T, settings map[string]string) *boot.Parts {
	t.Helper()
	config, err := boot.Load(environment(settings), boot.Local)
	require.NoError(t, err)
	parts, work, err := memoryTables(&process{config: config, log: slog.New(slog.DiscardHandler), lookup: environment(settings)})
	require.NoError(t, err)
	go work.run(ctx)
	return parts
}

// TestPurgingRunsWithoutPasses: rows and tombstones leave the tables in memory,
// and a lease that nothing evicts leaves when its grace is over, which the
// readers hear of.
func TestPurgingRunsWithoutPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		tables := inMemory(ctx, t, map[string]string{"REGISTRY_EVICTION_INTERVAL": "0s"}).Tables
		cancelled, silent := eureka.NewKey("shop", "cancelled"), eureka.NewKey("shop", "silent")
		for _, key := range []eureka.Key{cancelled, silent} {
			require.NoError(t, tables.Register(ctx, registration(key)))
		}
		require.NoError(t, tables.Cancel(ctx, cancelled, time.Now()))
		rows := func() (actions []eureka.ActionType) {
			found, err := tables.Deltas(ctx, time.Now().Add(-delta.RowLifetime(0)), time.Now())
			require.NoError(t, err)
			for _, r := range found {
				actions = append(actions, r.Instance.Action)
			}
			return actions
		}
		assert.Len(t, rows(), 3)

		time.Sleep(delta.RowLifetime(0) - time.Minute)
		assert.Len(t, rows(), 3)
		time.Sleep(3 * time.Minute)
		assert.Empty(t, rows())
		_, err := tables.Get(ctx, cancelled)
		assert.ErrorIs(t, err, eureka.ErrLeaseNotFound)
		_, err = tables.Get(ctx, silent)
		assert.NoError(t, err)

		time.Sleep(23 * time.Hour)
		_, err = tables.Get(ctx, silent)
		assert.ErrorIs(t, err, eureka.ErrLeaseNotFound)
		assert.Equal(t, []eureka.ActionType{eureka.Deleted}, rows())
	})
}

func registration(key eureka.Key) coreregistry.Registration {
	now := time.Now()
	return coreregistry.Registration{Lease: eureka.Lease{
		Key: key, Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App}, Status: eureka.Up, Action: eureka.Added,
		Registered: now, Renewed: now, Updated: now, Interval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration,
	}}
}

// hangUp is the context of a request whose client goes once the write has
// begun.
type hangUp struct {
	context.Context
	asked int
}

func (h *hangUp) Err() error {
	if h.asked++; h.asked > 1 {
		return context.Canceled
	}
	return nil
}

// TestNoChangeIsLostWhenItsClientHangsUp: what was written reaches the readers.
func TestNoChangeIsLostWhenItsClientHangsUp(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	tables := inMemory(ctx, t, nil).Tables
	key := eureka.NewKey("shop", "shop-1")
	request := &hangUp{Context: ctx}
	require.NoError(t, tables.Register(request, registration(key)))
	require.Error(t, request.Err(), "the client is gone")
	rows, err := tables.Deltas(ctx, time.Now().Add(-time.Minute), time.Now())
	require.NoError(t, err)
	require.Len(t, rows, 1)
	assert.Equal(t, key, rows[0].Key)
}
