package dashboard

import (
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// Held is what the last eviction pass found expired and held back. The zero
// value is nothing.
type Held struct {
	pass time.Time
	keys map[eureka.Key]bool
}

// NewHeld returns what statistics name as held back.
func NewHeld(s *delta.Statistics) Held {
	h := Held{pass: s.Pass, keys: make(map[eureka.Key]bool, len(s.Held))}
	for _, key := range s.Held {
		h.keys[key] = true
	}
	return h
}

// has reports whether an instance is held back. One that has renewed since the
// pass is alive, whatever the pass found.
func (h Held) has(i *eureka.InstanceInfo) bool {
	return h.keys[i.Key()] && !i.Lease.LastRenewed.After(h.pass)
}
