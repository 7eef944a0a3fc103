package storagetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

// counterTests are the promises of registry.Counter.
func counterTests() []test {
	return []test{
		{"Count of no application", countNone},
		{"Count is of one application's live leases", countLive},
		{"Count ends at its limit", countLimit},
	}
}

// requireCount demands a count. What was written a moment ago may be missing
// from it, but engines for tests have no such moments.
func (f *fixture) requireCount(t *testing.T, app string, limit, want int) {
	t.Helper()
	n, err := f.Counter.Count(t.Context(), app, limit)
	require.NoError(t, err)
	assert.Equal(t, want, n)
}

func countNone(t *testing.T, f *fixture) { f.requireCount(t, f.app, 100, 0) }

func countLive(t *testing.T, f *fixture) {
	f.register(t, f.key("one"))
	f.register(t, f.key("two"))
	f.register(t, f.key("two"))
	f.cancelled(t, f.key("cancelled"))
	f.evicted(t, f.key("evicted"), eureka.OutOfService)
	f.register(t, eureka.Key{App: f.app + "-2", ID: "another application's"})
	f.requireCount(t, f.app, 100, 2)

	require.NoError(t, f.Registry.Cancel(t.Context(), f.key("one"), f.after(2)))
	f.requireCount(t, f.app, 100, 1)
}

func countLimit(t *testing.T, f *fixture) {
	for i := range 5 {
		f.register(t, f.key(fmt.Sprint(i)))
	}
	for limit, want := range map[int]int{1: 1, 4: 4, 5: 5, 6: 5} {
		f.requireCount(t, f.app, limit, want)
	}
}
