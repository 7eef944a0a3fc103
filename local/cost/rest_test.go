package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRestStaysWithinItsGoals holds what passes, snapshots, views and rows cost a
// month to its goals. The hours of 1,000 and 10,000 instances are measured
// (TestHour); that of 100,000 lies on the line through both, since a part of each
// is the same for any fleet.
func TestRestStaysWithinItsGoals(t *testing.T) {
	var p prices
	var m measured
	require.NoError(t, decode(pricesJSON, &p))
	require.NoError(t, decode(measuredJSON, &m))
	month := func(instances float64) float64 {
		h, err := m.hour(instances)
		require.NoError(t, err)
		return restMonth(&p, fleet{instances: instances}, h)
	}
	small, large := month(1_000), month(10_000)
	for _, c := range []struct{ instances, month, goal float64 }{
		{1_000, small, 1}, {10_000, large, 8}, {100_000, restOnTheLine(&p, &m, 100_000), 60},
	} {
		t.Logf("%6.0f instances: $%.2f a month, at most $%.0f", c.instances, c.month, c.goal)
		assert.LessOrEqual(t, c.month, c.goal, "%v instances", c.instances)
	}
}
