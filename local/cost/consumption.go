package main

import (
	"fmt"
	"math"
)

// units are DynamoDB capacity units in an hour.
type units struct{ Read, Write float64 }

// measured is what simulated hours consumed on an engine that counts capacity
// as DynamoDB does. See measured.json and the tests that write it.
type measured struct {
	// Hours are those of fleets, apart from their heartbeats.
	Hours []fleetHour
	// RenewalWrites is what heartbeats every 30 s cost in write units, by
	// REGISTRY_RENEWAL_WRITE_INTERVAL and by the processes that they go through,
	// since each remembers only the renewals that it wrote.
	RenewalWrites []renewalWrites
}

// fleetHour is what an hour of a fleet consumed, whatever its entry: the views
// of so many read containers, the eviction passes with their scans and
// snapshots, and the changes of one in fifty instances with their rows and
// tombstones.
type fleetHour struct {
	Instances, Containers  float64
	Views, Passes, Changes units
}

// renewalWrites are the write units of the heartbeats of one instance in an hour.
type renewalWrites struct {
	Interval, Through string
	InstanceHour      float64
}

const (
	always      = "0s"
	seldom      = "1m15s"
	readsAnHour = 120 // one every 30 s, like heartbeats
)

func (m *measured) hour(instances float64) (fleetHour, error) {
	for _, h := range m.Hours {
		if h.Instances == instances {
			return h, nil
		}
	}
	return fleetHour{}, fmt.Errorf("measured.json: no hour of %v instances", instances)
}

func (m *measured) writesAnHour(interval, through string) (float64, error) {
	for _, r := range m.RenewalWrites {
		if r.Interval == interval && r.Through == through {
			return r.InstanceHour, nil
		}
	}
	return 0, fmt.Errorf("measured.json: no renewals written every %s through %s", interval, through)
}

// writeContainers is how many write containers share the heartbeats: the
// requests of a second times the duration of one, times eight, since a burst
// starts containers that Lambda keeps in use for a while; then rounded up to
// the numbers that were measured.
func writeContainers(p *prices, instances float64) string {
	busy := 8 * instances / 30 * p.Assumed.WriteSeconds
	switch {
	case busy <= 1:
		return "1 function container"
	case busy <= 4:
		return "4 function containers"
	default:
		return "16 function containers"
	}
}

// loadBalancerUnits is the capacity units that a fleet needs.
func loadBalancerUnits(p *prices, instances float64, keepAlive bool) float64 {
	requestsASecond := 2 * instances / 30
	gbAnHour := instances * (readsAnHour*(p.Assumed.HeartbeatKB+p.Assumed.ReadKB) +
		p.Assumed.FullReadsPerInstanceHour*p.Assumed.FullReadKBPer1000*instances/1000) / 1e6
	connections, active := 0.0, instances
	if !keepAlive {
		connections, active = requestsASecond, requestsASecond
	}
	lb := p.LoadBalancer
	return math.Max(math.Max(connections/lb.NewConnections, active/lb.ActiveConnections), gbAnHour/lb.LambdaGB)
}

// readContainers is how many read containers refresh their views: at least two,
// and eight times as many as are busy on average.
func readContainers(p *prices, instances float64) float64 {
	return max(2, math.Ceil(8*instances/30*p.Assumed.ReadSeconds))
}
