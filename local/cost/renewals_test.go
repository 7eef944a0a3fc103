package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// way is how heartbeats reach the table.
type way struct {
	through   string
	processes int
	// alternating sends each heartbeat to any process, as Lambda does; else an
	// instance stays with one, as Eureka's clients do.
	alternating bool
}

var ways = []way{
	{"one process", 1, false},
	{"two containers", 2, false},
	{"1 function container", 1, true},
	{"4 function containers", 4, true},
	{"16 function containers", 16, true},
}

// heartbeatsThrough returns the write units of an instance's hour.
func (h *hour) heartbeatsThrough(w way, interval time.Duration) float64 {
	rng := rand.New(rand.NewPCG(uint64(w.processes), 0))
	processes := make([]*registry.Registry, w.processes)
	for i := range processes {
		processes[i] = registry.New(registry.Config{
			Store: h.renewing, RenewalWriteInterval: interval,
			Now: func() time.Time { return h.now }, Monotonic: func() time.Duration { return h.now.Sub(time.Unix(0, 0)) },
		})
	}
	turn := func() {
		h.now = h.now.Add(30 * time.Second)
		var group sync.WaitGroup
		for n := range instances {
			p := processes[n%w.processes]
			if w.alternating {
				p = processes[rng.IntN(w.processes)]
			}
			i := instance(n)
			group.Go(func() { assert.NoError(h, p.Renew(h.Context(), i.Key(), i.LastDirty)) })
		}
		group.Wait()
	}
	for n := range instances {
		h.register(n)
	}
	const warmUp, multiple = 3, 3 // one of three heartbeats is written in one process
	for range warmUp {
		turn()
	}
	h.renewals.units = units{}
	turns := max(1, *minutes*2/multiple) * multiple
	if interval == 0 {
		turns = multiple // each is like the others
	}
	for range turns {
		turn()
	}
	return h.renewals.Write / instances / float64(turns) * 120
}

// TestRenewalWrites measures what heartbeats cost with and without writing
// every one of them, and holds measured.json to it.
func TestRenewalWrites(t *testing.T) {
	enginetest.DynoxideBinary(t) // skips, rather than each of the subtests
	var got []renewalWrites
	for _, interval := range []time.Duration{0, 75 * time.Second} {
		for _, w := range ways {
			r := renewalWrites{Interval: interval.String(), Through: w.through}
			t.Run(r.Interval+" "+r.Through, func(t *testing.T) { // with a short stream, which a long one would slow
				r.InstanceHour = newHour(t).heartbeatsThrough(w, interval)
			})
			t.Logf("%s, %s: %.1f write units an instance and hour", r.Interval, r.Through, r.InstanceHour)
			got = append(got, r)
		}
	}
	want := readMeasured(t)
	if *update {
		want.RenewalWrites = got
		writeMeasured(t, want)
		return
	}
	require.Len(t, got, len(want.RenewalWrites))
	for i, w := range want.RenewalWrites {
		assert.Equal(t, w.Interval+w.Through, got[i].Interval+got[i].Through)
		assert.InEpsilon(t, w.InstanceHour, got[i].InstanceHour, 0.05, w.Through)
	}
}

// readMeasured reads the file and not what was embedded, since several tests
// update it.
func readMeasured(t *testing.T) measured {
	data, err := os.ReadFile("measured.json")
	require.NoError(t, err)
	var m measured
	require.NoError(t, decode(data, &m))
	return m
}

func writeMeasured(t *testing.T, m measured) {
	data, err := json.MarshalIndent(m, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("measured.json", append(data, '\n'), 0o600))
}
