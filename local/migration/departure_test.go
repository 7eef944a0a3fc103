package migration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/mirror"
	"github.com/eurekaless/registry/local/migration"
)

// restartable is a source that can lose all it knows, as the reference server
// does when it restarts.
type restartable struct{ *server }

func (r *restartable) Applications(ctx context.Context, regions ...string) (*eureka.Applications, error) {
	return r.server.Applications(ctx, regions...)
}

func (r *restartable) Delta(ctx context.Context, regions ...string) (*eureka.Applications, error) {
	return r.server.Delta(ctx, regions...)
}

func (r *restartable) restart() { r.server = newServer(r.t) }

// migrating is a source, a target and an importer between them, half a minute
// between its passes.
type migrating struct {
	old *restartable
	to  *server
	m   *migration.Importer
	now time.Time
}

func migrate(t *testing.T, instances int) *migrating {
	g := &migrating{old: &restartable{newServer(t)}, to: newServer(t), now: time.Now()}
	g.m = importerAt(mirror.Source(g.old), g.to, func() time.Time { return g.now })
	for n := range instances {
		g.old.register(instance(n))
	}
	require.Equal(t, instances, g.pass().Registered)
	return g
}

func (g *migrating) pass() *migration.Report {
	g.old.t.Helper()
	g.now = g.now.Add(30 * time.Second)
	return g.old.pass(g.m)
}

// TestRestartOfTheSourceCancelsNobody whatever its list lacks afterwards.
func TestRestartOfTheSourceCancelsNobody(t *testing.T) {
	g := migrate(t, 20)
	for range 3 {
		g.old.restart()
		for n := 0; n <= 20; n += 5 { // the clients come back by and by
			report := g.pass()
			assert.Zero(t, report.Cancelled)
			assert.Len(t, g.to.list(), 20)
			for k := n; k < min(n+5, 20); k++ {
				g.old.register(instance(k))
			}
		}
		assert.Equal(t, 20, g.pass().Renewed)
	}
	g.old.restart()
	for range 15 {
		assert.Zero(t, g.pass().Cancelled)
	}
	assert.Zero(t, g.pass().Gone, "forgotten")
	assert.Len(t, g.to.list(), 20, "they expire by themselves")
}

// TestDeletedAtTheSource is cancelled after a while without heartbeats, unless
// it renews with the target, registers there or comes back.
func TestDeletedAtTheSource(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, g *migrating, i *eureka.InstanceInfo)
		cancelled int
	}{
		"silent": {func(*testing.T, *migrating, *eureka.InstanceInfo) {}, 1},
		"renews with the target": {func(t *testing.T, g *migrating, i *eureka.InstanceInfo) {
			g.to.ahead.Add(int64(time.Second))
			require.NoError(t, g.to.Heartbeat(t.Context(), i))
		}, 0},
		"registers with the target": {func(t *testing.T, g *migrating, i *eureka.InstanceInfo) {
			moved := i.Clone()
			moved.LastDirty = dirty.Add(time.Second)
			g.to.register(moved)
		}, 0},
		"comes back": {func(_ *testing.T, g *migrating, i *eureka.InstanceInfo) { g.old.register(i) }, 0},
		"cancelled at the target": {func(t *testing.T, g *migrating, i *eureka.InstanceInfo) {
			require.NoError(t, g.to.Cancel(t.Context(), i.Key()))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := migrate(t, 12)
			i := instance(3)
			require.NoError(t, g.old.Cancel(t.Context(), i.Key()))
			report := g.pass()
			assert.Equal(t, []int{0, 1}, []int{report.Cancelled, report.Gone}, "it may have moved over")
			c.meanwhile(t, g, i)
			cancelled := 0
			for range 4 {
				cancelled += g.pass().Cancelled
			}
			assert.Equal(t, c.cancelled, cancelled)
			assert.Equal(t, c.cancelled == 0 && name != "cancelled at the target", g.to.list()[i.Key()] != nil)
		})
	}
}

// TestOnePassCancelsNoMoreThanSelfPreservationWould, so that a source which
// evicts all its instances at once, as one cut off from them does, does not
// empty the target.
func TestOnePassCancelsNoMoreThanSelfPreservationWould(t *testing.T) {
	g := migrate(t, 40)
	for n := range 40 {
		require.NoError(t, g.old.Cancel(t.Context(), instance(n).Key()))
	}
	g.pass()
	var cancelled []int
	for left := 40; left > 20; left = len(g.to.list()) {
		n := g.pass().Cancelled
		assert.LessOrEqual(t, n, max(1, left-left*85/100))
		if n > 0 {
			cancelled = append(cancelled, n)
		}
	}
	assert.Equal(t, []int{6, 6, 5, 4}, cancelled[:4])
}

// TestRestartOfTheSourceEndsNoOverride: it forgets them, and an instance under
// repair must not come back. An override that the source ended does end.
func TestRestartOfTheSourceEndsNoOverride(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, g *migrating, i *eureka.InstanceInfo)
		want   eureka.Status
	}{
		"restart": {func(_ *testing.T, g *migrating, i *eureka.InstanceInfo) {
			g.old.restart()
			g.old.register(i)
		}, eureka.OutOfService},
		"ended": {func(t *testing.T, g *migrating, i *eureka.InstanceInfo) {
			require.NoError(t, g.old.RemoveOverride(t.Context(), i.Key(), eureka.Up, time.Time{}))
		}, eureka.Up},
		"another one": {func(t *testing.T, g *migrating, i *eureka.InstanceInfo) {
			require.NoError(t, g.old.SetStatus(t.Context(), i.Key(), eureka.Down, time.Time{}))
		}, eureka.Down},
	} {
		t.Run(name, func(t *testing.T) {
			g := migrate(t, 12)
			i := instance(3)
			require.NoError(t, g.old.SetStatus(t.Context(), i.Key(), eureka.OutOfService, time.Time{}))
			assert.Equal(t, 1, g.pass().Changed)
			c.change(t, g, i)
			g.pass()
			g.pass()
			assert.Equal(t, c.want, g.to.list()[i.Key()].Status)
		})
	}
}
