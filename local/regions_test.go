package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/fulltest"
)

// regionSettings make lists turn over by the second, and regions be left out
// four seconds after they were heard of.
var regionSettings = []string{"REGISTRY_CACHE_REFRESH=1s", "REGISTRY_DELTA_RETENTION=4s"}

func apiOf(t *testing.T, address string) *discovery.API {
	t.Helper()
	api, err := discovery.NewAPI(discovery.Config{ServiceURLs: []string{"http://" + address + "/eureka"}, QuarantineTime: time.Nanosecond})
	require.NoError(t, err)
	return api
}

// startRegion starts a registry at an address, with an instance in it.
func startRegion(t *testing.T, address, id string, settings ...string) (*registry, *discovery.API) {
	t.Helper()
	r := launch(t, nil, append(append(settings, regionSettings...), "REGISTRY_LISTEN="+address)...)
	r.address = address
	api := apiOf(t, address)
	r.await(t, func() bool { _, err := api.Applications(t.Context()); return err == nil })
	require.NoError(t, api.Register(t.Context(), &eureka.InstanceInfo{
		App: "SHOP", InstanceID: id, HostName: "h", IPAddr: "192.0.2.1", Status: eureka.Up, CountryID: 1, LastDirty: time.Now(),
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
	}))
	return r, api
}

// TestTwoRegions: a region's instances are there for those who ask for it,
// through changes, its stop and its return, and hash codes are right always.
func TestTwoRegions(t *testing.T) {
	fulltest.Only(t, "two processes that wait for each other")
	farAddress := freeAddress(t)
	far, farAPI := startRegion(t, farAddress, "far")
	near, nearAPI := startRegion(t, freeAddress(t), "near", "REGISTRY_REMOTE_REGIONS=west=http://"+farAddress+"/eureka")

	shows := func(hash string, regions ...string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			all, err := nearAPI.Applications(t.Context(), regions...)
			require.NoError(c, err, "never an error")
			assert.Equal(c, hash, all.HashCode)
			assert.Equal(c, hash, eureka.HashCode(all.Applications))
		}, time.Minute, 100*time.Millisecond)
	}
	shows("UP_1_")
	shows("UP_1_", "mars")
	shows("UP_2_", "west", "mars")

	require.NoError(t, farAPI.SetStatus(t.Context(), eureka.NewKey("SHOP", "far"), eureka.OutOfService, time.Time{}))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		delta, err := nearAPI.Delta(t.Context(), "west")
		require.NoError(c, err)
		assert.Equal(c, "OUT_OF_SERVICE_1_UP_1_", delta.HashCode)
		found := false
		for _, app := range delta.Applications {
			for _, i := range app.Instances {
				found = found || i.ID() == "far" && i.Action == eureka.Modified
			}
		}
		assert.True(c, found, "the change is told")
	}, time.Minute, 100*time.Millisecond)
	shows("OUT_OF_SERVICE_1_UP_1_", "west")
	shows("UP_1_")

	far.signal(t, os.Interrupt)
	require.NoError(t, far.wait(t))
	shows("UP_1_", "west")
	far, _ = startRegion(t, farAddress, "far")
	shows("UP_2_", "west")

	for _, r := range []*registry{near, far} {
		r.signal(t, os.Interrupt)
		require.NoError(t, r.wait(t))
	}
}
