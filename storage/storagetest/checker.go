package storagetest

import (
	"fmt"
	"reflect"

	"github.com/eurekaless/registry/core/eureka"
)

// Checker watches the lease table through successive reads and finds states
// that no item may have, or that may not follow each other:
//
//   - the version of an instance never decreases, not even over an absence;
//   - states of one version are equal but for the renewal;
//   - a lease names its own instance, has a status, an action, a duration and
//     a renewal; its override is not UNKNOWN;
//   - a tombstone says since when.
//
// The zero value is ready. A Checker serves one goroutine.
type Checker struct {
	seen map[eureka.Key]eureka.Lease
}

// Observe takes items in the order in which they were read, a whole scan or a
// single one, and returns what is wrong; nothing when all is well.
func (c *Checker) Observe(items ...eureka.Lease) []string {
	if c.seen == nil {
		c.seen = map[eureka.Key]eureka.Lease{}
	}
	var faults []string
	for _, l := range items {
		l = canonicalLease(l)
		for _, fault := range append(faultsOf(l), c.follows(l)...) {
			faults = append(faults, fmt.Sprintf("%s, version %d: %s", l.Key, l.Version, fault))
		}
		if before, ok := c.seen[l.Key]; !ok || l.Version >= before.Version {
			c.seen[l.Key] = l
		}
	}
	return faults
}

// follows compares a state with the one that was seen before.
func (c *Checker) follows(l eureka.Lease) []string {
	before, ok := c.seen[l.Key]
	switch {
	case !ok || l.Version > before.Version:
		return nil
	case l.Version < before.Version:
		return []string{fmt.Sprintf("comes after version %d", before.Version)}
	}
	before.Renewed, before.Quiet = l.Renewed, l.Quiet
	return diffValues("the same version with another", reflect.ValueOf(before), reflect.ValueOf(l))
}

// faultsOf judges a state by itself.
func faultsOf(l eureka.Lease) []string {
	var faults []string
	demand := func(ok bool, what string) {
		if !ok {
			faults = append(faults, what)
		}
	}
	demand(l.Version > 0, "no version")
	demand(l.Overridden != eureka.Unknown, "an override of UNKNOWN")
	if l.Tombstone() {
		demand(!l.Gone.IsZero(), "a tombstone that is not gone")
		return faults
	}
	demand(l.Instance.Key() == l.Key, "another's instance")
	demand(l.Gone.IsZero(), "a lease that is gone")
	demand(l.Status != "", "no status")
	demand(l.Action == eureka.Added || l.Action == eureka.Modified, "no action")
	demand(l.Duration > 0, "no duration")
	demand(!l.Renewed.IsZero(), "never renewed")
	return faults
}
