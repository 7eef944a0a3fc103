package eviction_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
)

// benchLeases returns n leases of which a twentieth expired.
func benchLeases(n int) []eureka.Lease {
	leases := leasesOf(group{n: n - n/20}, group{n: n / 20, silent: 2 * time.Minute})
	for i := range leases {
		leases[i].Version = int64(i + 1)
	}
	return leases
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			leases, policy, rng := benchLeases(n), eviction.DefaultPolicy(), random(1)
			b.ReportAllocs()
			for b.Loop() {
				plan := eviction.NewPlan(leases, epoch, policy, 0, rng)
				if len(plan.Evict) != n/20 {
					b.Fatalf("%d planned", len(plan.Evict))
				}
			}
		})
	}
}

// BenchmarkRun is a whole pass in which a hundredth of the leases changed, on
// tables in memory.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tables := newTables()
			for _, l := range leasesOf(group{n: n}) {
				tables.leases[l.Key] = l
			}
			runner := tables.runner(b, nil)
			if _, err := runner.Run(background()); err != nil {
				b.Fatal(err)
			}
			changed := 0
			tables.rows = nil
			for key := range tables.leases {
				if changed == n/100 {
					break
				}
				tables.rows = append(tables.rows, delta.Row{
					Key: key, Instance: &eureka.InstanceInfo{Action: eureka.Modified}, Written: tables.now,
				})
				changed++
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := runner.Run(background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
