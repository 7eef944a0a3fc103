package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/lease"
)

// TestMustFollow: the store would notice a mistake of its own.
func TestMustFollow(t *testing.T) {
	key, now := eureka.NewKey("shop", "shop-1"), time.UnixMilli(1_700_000_000_000)
	held := item{lease: lease.Lease{
		Key: key, Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App}, Version: 7, Status: eureka.Up, Renewed: now,
	}}
	for name, c := range map[string]struct {
		change func(next *item)
		panics bool
	}{
		"a change":                     {change: func(next *item) { next.marked, next.lease.Version = true, 8 }},
		"a change of the same version": {change: func(next *item) { next.marked = true }, panics: true},
		"a change of an older version": {change: func(next *item) { next.marked, next.lease.Version = true, 6 }, panics: true},
		"a renewal":                    {change: func(next *item) { next.lease.Renewed = now.Add(time.Second) }},
		"a renewal of the version":     {change: func(next *item) { next.lease.Version = 8 }, panics: true},
		"a renewal of the status":      {change: func(next *item) { next.lease.Status = eureka.Down }, panics: true},
	} {
		next := held
		c.change(&next)
		follow := func() { mustFollow(&held, next) }
		if c.panics {
			assert.Panics(t, follow, name)
		} else {
			assert.NotPanics(t, follow, name)
		}
	}
}
