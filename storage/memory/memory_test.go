package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/memory"
	"github.com/eurekaless/registry/storage/storagetest"
)

func TestConformance(t *testing.T) {
	storagetest.Run(t, func(*testing.T) storagetest.Driver {
		const grace, kept = 5 * time.Hour, 3 * time.Hour
		s := memory.New(memory.Config{TTLGrace: grace, OverrideKept: kept})
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
