package regions_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/regions"
)

// remote is a region that answers with its instances, or not at all.
type remote struct {
	ids   []string
	err   error
	calls int
}

func (r *remote) Applications(context.Context, ...string) (*eureka.Applications, error) {
	r.calls++
	app := eureka.Application{Name: "SHOP"}
	for _, id := range r.ids {
		app.Instances = append(app.Instances, &eureka.InstanceInfo{App: "SHOP", InstanceID: id, Status: eureka.Up})
	}
	return &eureka.Applications{Applications: []eureka.Application{app}}, r.err
}

func (r *remote) Delta(context.Context, ...string) (*eureka.Applications, error) {
	r.calls++
	return &eureka.Applications{Version: -1}, r.err
}

func TestSet(t *testing.T) {
	now := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	us, eu := &remote{ids: []string{"b", "a"}}, &remote{err: errors.New("away")}
	absent := -1
	s := regions.New(regions.Config{
		Remotes: []regions.Remote{{Name: "us", Source: us}, {Name: "eu", Source: eu}},
		OnFetch: func(n int) { absent = n },
		Now:     func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	named := func(list string) []regions.Region { return s.Named(t.Context(), now.Truncate(30*time.Second), list) }

	assert.Empty(t, named("mars,"))
	assert.Zero(t, us.calls, "unknown names fetch nothing")
	got := named("us, mars,us")
	assert.Len(t, got, 1)
	assert.True(t, got[0].Present)
	assert.Equal(t, "a", got[0].Instances[0].ID())
	assert.Equal(t, 1, absent, "eu is")
	calls := us.calls
	named("eu,us")
	assert.Equal(t, calls, us.calls, "once a turn")
	assert.False(t, named("eu")[0].Present)

	us.err, eu.err = errors.New("away"), nil
	now = now.Add(time.Minute)
	assert.True(t, named("us")[0].Present, "as it was")
	now = now.Add(3 * time.Minute)
	got = s.All(t.Context(), now)
	assert.False(t, got[0].Present)
	assert.Empty(t, got[0].Instances)
	assert.True(t, got[1].Present)

	us.err, us.ids = nil, []string{"c"}
	now = now.Add(time.Minute)
	got = named("us")
	assert.True(t, got[0].Present)
	assert.Equal(t, "c", got[0].Instances[0].ID())
	assert.Zero(t, absent)
}

// slow is a region whose answers take as long as their context allows.
type slow struct {
	remote
	stuck bool
}

func (s *slow) Applications(ctx context.Context, regions ...string) (*eureka.Applications, error) {
	if s.stuck {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.remote.Applications(ctx, regions...)
}

// TestNobodyWaitsForASlowRegion but who fetches, and before the first fetch
// everybody, for as long as they like.
func TestNobodyWaitsForASlowRegion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		us := &slow{remote: remote{ids: []string{"a"}}}
		s := regions.New(regions.Config{
			Remotes: []regions.Remote{{Name: "us", Source: us}}, Timeout: 3 * time.Second, Logger: slog.New(slog.DiscardHandler),
		})
		assert.True(t, s.All(t.Context(), time.Now())[0].Present)
		time.Sleep(time.Minute)
		us.stuck = true
		turn := time.Now()
		go s.All(t.Context(), turn)
		synctest.Wait()
		began := time.Now()
		assert.True(t, s.All(t.Context(), turn)[0].Present, "as it was")
		assert.Zero(t, time.Since(began))
		time.Sleep(time.Minute)

		empty := regions.New(regions.Config{
			Remotes: []regions.Remote{{Name: "us", Source: us}}, Timeout: 3 * time.Second, Logger: slog.New(slog.DiscardHandler),
		})
		go empty.All(t.Context(), time.Now())
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		assert.False(t, empty.All(ctx, time.Now())[0].Present)
		assert.Equal(t, time.Second, time.Since(began))
		time.Sleep(time.Minute)
	})
}

// TestTooLargeInstancesOfARegionAreLeftOut, as those that are stored are.
func TestTooLargeInstancesOfARegionAreLeftOut(t *testing.T) {
	us := &remote{ids: []string{"a", strings.Repeat("b", 10_000)}}
	s := regions.New(regions.Config{
		Remotes: []regions.Remote{{Name: "us", Source: us}}, MaxInstance: 5000, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	all := s.All(t.Context(), time.Now())
	assert.Len(t, all[0].Instances, 1)
}
