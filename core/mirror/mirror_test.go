package mirror_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/mirror"
)

// source is a registry that answers what it is told to, and counts.
type source struct {
	all, delta    *eureka.Applications
	err           error
	fulls, deltas int
}

func (s *source) Applications(context.Context, ...string) (*eureka.Applications, error) {
	s.fulls++
	return s.all, s.err
}

func (s *source) Delta(context.Context, ...string) (*eureka.Applications, error) {
	s.deltas++
	return s.delta, s.err
}

func instance(id string, status eureka.Status, action eureka.ActionType) *eureka.InstanceInfo {
	return &eureka.InstanceInfo{App: "SHOP", InstanceID: id, Status: status, Action: action}
}

func answer(version int64, hash string, all ...*eureka.InstanceInfo) *eureka.Applications {
	return &eureka.Applications{Version: version, HashCode: hash, Applications: grouped(all)}
}

func TestCopy(t *testing.T) {
	now := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	s := &source{all: answer(1, "UP_2_", instance("a", eureka.Up, ""), instance("b", eureka.Up, ""))}
	c := mirror.New(s, 0)
	refresh := func() error { now = now.Add(30 * time.Second); return c.Refresh(t.Context(), now) }
	asked := func(fulls, deltas int) {
		t.Helper()
		assert.Equal(t, []int{fulls, deltas}, []int{s.fulls, s.deltas})
	}
	require.NoError(t, refresh())
	asked(1, 0)
	assert.Len(t, c.Instances(), 2)

	before := c.Instances()
	s.delta = answer(2, "DOWN_1_UP_1_", instance("a", eureka.Up, eureka.Deleted), instance("b", eureka.Down, eureka.Modified), instance("c", eureka.Up, eureka.Added))
	require.NoError(t, refresh())
	asked(1, 1)
	assert.Equal(t, eureka.Down, c.Instances()[eureka.NewKey("SHOP", "b")].Status)
	assert.Len(t, c.Changes(), 3)
	assert.Len(t, before, 2, "what was handed out is not changed")

	s.delta = answer(3, "UP_7_")
	s.all = answer(3, "UP_1_", instance("z", eureka.Up, ""))
	require.NoError(t, refresh())
	asked(2, 2)
	assert.Len(t, c.Instances(), 1, "the hash codes differed")
	assert.Empty(t, c.Changes())

	s.delta = answer(-1, "UP_1_")
	require.NoError(t, refresh())
	asked(3, 3)

	s.err = errors.New("away")
	fetched := c.Fetched()
	require.Error(t, refresh())
	assert.Len(t, c.Instances(), 1)
	assert.Equal(t, fetched, c.Fetched())

	s.err = nil
	now = now.Add(time.Hour)
	require.NoError(t, refresh())
	asked(5, 4)
	assert.Equal(t, now, c.Fetched(), "away for longer than deltas: in full")
}

// grouped returns instances by application, sorted by name, and in it by id.
func grouped(all []*eureka.InstanceInfo) []eureka.Application {
	all = slices.SortedFunc(slices.Values(all), func(a, b *eureka.InstanceInfo) int { return mirror.Compare(a.Key(), b.Key()) })
	var out []eureka.Application
	for _, i := range all {
		if len(out) == 0 || out[len(out)-1].Name != i.App {
			out = append(out, eureka.Application{Name: i.App})
		}
		last := &out[len(out)-1]
		last.Instances = append(last.Instances, i)
	}
	return out
}
