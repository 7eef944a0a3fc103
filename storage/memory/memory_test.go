package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/memory"
	"github.com/eurekaless/registry/storage/storagetest"
)

// TestConformance holds for the store as tests use it, and as a process serves
// from it: with a subscriber.
func TestConformance(t *testing.T) {
	for name, subscribe := range map[string]func(*memory.Store){
		"records kept": func(*memory.Store) {},
		"subscribed":   func(s *memory.Store) { s.Subscribe(func(memory.Record) {}) },
	} {
		t.Run(name, func(t *testing.T) { conforms(t, subscribe) })
	}
}

func conforms(t *testing.T, subscribe func(*memory.Store)) {
	storagetest.Run(t, func(*testing.T) storagetest.Driver {
		const grace, kept = 5 * time.Hour, 3 * time.Hour
		s := memory.New(memory.Config{TTLGrace: grace, OverrideKept: kept})
		subscribe(s)
		return storagetest.Driver{
			Registry: s, Counter: s, Eviction: s, Deltas: s, Publications: s, Source: s,
			TTLGrace: grace, OverrideKept: kept,
			Inspect: storagetest.Inspect{
				Unpublish: func(context.Context) error { s.Unpublish(); return nil },
				Expiry:    func(_ context.Context, key eureka.Key) (time.Time, error) { return memory.Expires(s, key), nil },
			},
		}
	})
}
