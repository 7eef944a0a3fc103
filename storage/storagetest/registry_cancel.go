package storagetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

func cancelTests() []test {
	return []test{
		{"Cancel makes a tombstone without override", cancelLease},
		{"Cancel is refused to a tombstone", cancelTombstone},
	}
}

func cancelLease(t *testing.T, f *fixture) {
	for name, override := range map[string]eureka.Status{"without": "", "with": eureka.OutOfService} {
		key := f.key(name)
		before := f.register(t, key, overridden(override))
		require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(9)))
		got := f.get(t, key)
		require.Greater(t, got.Version, before.Version)
		want := eureka.Lease{Key: key, Version: got.Version, Gone: f.after(9)}
		requireLease(t, want, got)
		requireLease(t, want, f.scanned(t)[key])
	}
}

// cancelTombstone leaves even the override that an eviction kept.
func cancelTombstone(t *testing.T, f *fixture) {
	for _, tombstone := range []eureka.Lease{
		f.cancelled(t, f.key("cancelled")),
		f.evicted(t, f.key("evicted"), eureka.OutOfService),
	} {
		requireFailedCondition(t, f.Registry.Cancel(t.Context(), tombstone.Key, f.after(9)), &tombstone)
		f.requireStored(t, tombstone)
	}
}
