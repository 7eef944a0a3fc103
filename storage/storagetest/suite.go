// Package storagetest is the conformance suite that every storage driver
// passes: each promise of the contracts in core/registry, core/eviction,
// core/delta and core/view is a test here. A driver's own test opens the
// driver and calls [Run]. [Checker], [DiffLeases] and [DiffReaders] serve tests
// of the whole system.
package storagetest

import (
	"context"
	"testing"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/storage"
)

// Driver is one set of tables, seen through every role that the core gives to
// storage. One value may serve for several roles.
type Driver struct {
	Registry     registry.Store
	Counter      registry.Counter
	Eviction     eviction.Store
	Deltas       eviction.Deltas
	Publications eviction.Publications
	Source       view.Source

	// TTLGrace and OverrideKept are the driver's settings; they matter only
	// with Inspect.Expiry.
	TTLGrace     time.Duration
	OverrideKept time.Duration

	// Inspect reaches below the contracts.
	Inspect Inspect
}

// Of returns the driver of two tables, without anything below the contracts.
func Of(tables storage.Tables) Driver {
	return Driver{Registry: tables, Counter: tables, Eviction: tables, Deltas: tables, Publications: tables, Source: tables}
}

// Inspect holds what a driver offers to its tests alone. A test that needs a
// nil function is skipped and says so.
type Inspect struct {
	// Unpublish deletes the snapshot's pointer, the statistics and the recent
	// events, so that nothing is published.
	Unpublish func(ctx context.Context) error
	// DropChunk deletes one chunk of the published snapshot, which has
	// several.
	DropChunk func(ctx context.Context) error
	// Reformat marks the published snapshot as written in a format that this
	// version does not know.
	Reformat func(ctx context.Context) error
	// Corrupt makes the live lease's stored instance incomprehensible.
	Corrupt func(ctx context.Context, key eureka.Key) error
	// Expiry returns the time at which the database's TTL may delete a lease
	// or tombstone, to the second.
	Expiry func(ctx context.Context, key eureka.Key) (time.Time, error)
}

// Run tests a driver. Open is called once for each role; it may return the same
// tables each time, and others may use them meanwhile, but for what is
// published: tests use random application names and look at nothing else.
// Nothing is cleaned up.
func Run(t *testing.T, open func(t *testing.T) Driver) {
	for _, role := range []struct {
		name  string
		tests []test
		// alone says that the tests share one item and cannot be parallel.
		alone bool
	}{
		{name: "registry.Store", tests: registryTests()},
		{name: "registry.Counter", tests: counterTests()},
		{name: "eviction.Store", tests: evictionTests()},
		{name: "delta.Sink and Deltas", tests: deltaTests()},
		{name: "eviction.Publications", tests: publicationTests(), alone: true},
		{name: "view.Source", tests: sourceTests(), alone: true},
		{name: "eviction.Store at size", tests: sizeTests(), alone: true},
	} {
		t.Run(role.name, func(t *testing.T) {
			d := open(t)
			for _, test := range role.tests {
				t.Run(test.name, func(t *testing.T) {
					if !role.alone {
						t.Parallel()
					}
					test.run(t, newFixture(d))
				})
			}
		})
	}
}

// test is one promise of a contract.
type test struct {
	name string
	run  func(t *testing.T, f *fixture)
}
