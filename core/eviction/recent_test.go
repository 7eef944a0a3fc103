package eviction_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// TestRecent: registrations, cancellations with evictions and removals, and
// changes of status, each once, at its own time and with what happened, newest
// first; changes of metadata are in none. (Case H41.)
func TestRecent(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	dying := eureka.NewKey("dying", "dying-1")
	tables.register(dying, nil)
	tables.minutes(t, runner, 1)

	tables.register(shop1, nil)
	registered := tables.clock()
	tables.advance(time.Second)
	tables.setStatus(shop1, eureka.Down)
	overridden := tables.clock()
	tables.advance(time.Second)
	tables.register(shop1, func(l *eureka.Lease) { l.Registered = registered }) // as a change of metadata
	tables.advance(time.Second)
	tables.cancel(shop1)
	cancelled := tables.clock()
	tables.advance(time.Second)
	tables.register(shop1, nil)
	again := tables.clock()

	tables.minutes(t, runner, 1)
	evicted := tables.clock()
	want := delta.Recent{
		Registered: []delta.Event{
			{Time: again, Key: shop1, What: "registered"}, {Time: registered, Key: shop1, What: "registered"}, {Time: epoch, Key: dying, What: "registered"},
		},
		Cancelled: []delta.Event{{Time: evicted, Key: dying, What: "evicted"}, {Time: cancelled, Key: shop1, What: "cancelled"}},
		Changed:   []delta.Event{{Time: overridden, Key: shop1, What: "overridden, DOWN"}},
	}
	require.Equal(t, want, tables.recent)
	require.Equal(t, 2, tables.recentPuts)

	tables.minutes(t, runner, 1)
	require.Equal(t, want, tables.recent, "nothing new")
	require.Equal(t, 2, tables.recentPuts, "and nothing written")

	l, _ := tables.lease(shop1)
	tables.remove(shop1)
	tables.minutes(t, runner, 1)
	want.Cancelled = append([]delta.Event{{Time: l.End(), Key: shop1, What: "evicted"}}, want.Cancelled...)
	assert.Equal(t, want, tables.recent)

	tables.minutes(t, runner, 5)
	assert.Equal(t, want, tables.recent, "the rows have left the window, the events stay")
	assert.Equal(t, 3, tables.recentPuts)
}

// TestRecentIsLimited: the last 1,000 of each.
func TestRecentIsLimited(t *testing.T) {
	tables := newTables()
	runner := tables.runner(t, nil)
	for pass := range 3 {
		for i := range 600 {
			key := eureka.NewKey("shop", fmt.Sprintf("shop-%d-%d", pass, i))
			tables.register(key, nil)
			tables.advance(time.Millisecond)
			tables.cancel(key)
		}
		tables.minutes(t, runner, 1)
	}
	for _, list := range [][]delta.Event{tables.recent.Registered, tables.recent.Cancelled} {
		require.Len(t, list, delta.RecentLimit)
		assert.Equal(t, eureka.NewKey("shop", "shop-2-599"), list[0].Key)
		assert.Equal(t, eureka.NewKey("shop", "shop-1-200"), list[999].Key)
		assert.True(t, slices.IsSortedFunc(list, func(a, b delta.Event) int { return b.Time.Compare(a.Time) }))
	}
	puts := tables.recentPuts
	tables.minutes(t, runner, 1)
	assert.Equal(t, puts, tables.recentPuts, "what the limit cut off is not news")
}
