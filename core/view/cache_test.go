package view

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// view returns the rig's view, which must be there.
func (r *rig) view(t testing.TB) *View {
	t.Helper()
	v, err := r.View(context.Background())
	require.NoError(t, err)
	return v
}

func TestTurnOver(t *testing.T) {
	r := newRig(t, nil)
	r.set(3)
	first := r.view(t)
	assert.Equal(t, at(0), first.Boundary())
	assert.Equal(t, at(33), first.NextTurn())
	for _, c := range []struct {
		seconds  float64
		boundary float64
		calls    []string
	}{
		{3, 0, []string{"snapshot", "scan", "deltas"}},
		{30, 0, nil},
		{32.999, 0, nil},
		{33, 30, []string{"deltas"}},
		{25, 30, nil}, // the clock was set back, by less than the overlap
		{62.999, 30, nil},
		{140, 120, []string{"deltas"}}, // turns were missed
		{150 + 2.999, 120, nil},
		{150 + 3, 150, []string{"deltas"}},
	} {
		r.set(c.seconds)
		v := r.view(t)
		assert.Equal(t, at(c.boundary), v.Boundary(), "at %v s", c.seconds)
		assert.Equal(t, at(c.boundary+33), v.NextTurn(), "at %v s", c.seconds)
		assert.Equal(t, c.calls, r.source.took(), "at %v s", c.seconds)
		assert.False(t, v.Stale())
	}
}

// TestContainersAgree: whenever in the interval it is first asked, and whatever
// its offset, each container shows the rows up to the boundary.
func TestContainersAgree(t *testing.T) {
	for _, asked := range []float64{36, 40, 59, 62} {
		for _, offset := range []float64{0.1, 0.15, 0.2} {
			r := newRig(t, func(c *Config) { c.Offset = offset })
			r.source.register(up("SHOP", "1"), 1, at(-30))
			r.source.publish(at(-25))
			r.source.register(up("SHOP", "2"), 1, at(29.999))
			r.source.register(up("SHOP", "3"), 1, at(30))
			r.source.register(up("SHOP", "4"), 1, at(30.001))
			r.set(asked)
			v := r.view(t)
			assert.Equal(t, at(30), v.Boundary())
			assert.Equal(t, []string{"SHOP/1 UP", "SHOP/2 UP", "SHOP/3 UP"}, held(v), "asked at %v, offset %v", asked, offset)
			assert.Equal(t, "UP_3_", v.Counts().HashCode())
		}
	}
}

func TestRandomOffset(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		c := New(Config{Source: &fakeSource{}, Interval: 30 * time.Second})
		assert.GreaterOrEqual(t, c.schedule.offset, 3*time.Second)
		assert.Less(t, c.schedule.offset, 6*time.Second)
		seen[c.schedule.offset] = true
	}
	assert.Greater(t, len(seen), 50, "containers do not all read at once")
}

func TestColdLoad(t *testing.T) {
	for _, c := range []struct {
		name   string
		began  float64 // of the snapshot; 0: none is published
		calls  []string
		origin Origin
		rows   int
	}{
		{"without a snapshot", 0, []string{"snapshot", "scan", "deltas"}, FromScan, 2},
		{"with one", 100, []string{"snapshot", "deltas"}, FromSnapshot, 2},
		{"with one that is older than the retention", -100, []string{"snapshot", "deltas"}, FromSnapshot, 2},
		{"with the oldest that is used", 155 - 45*60, []string{"snapshot", "deltas"}, FromSnapshot, 5},
		{"with one that is too old", 154.999 - 45*60, []string{"snapshot", "scan", "deltas"}, FromScan, 2},
		{"with one that is ahead", 152, []string{"snapshot", "deltas"}, FromSnapshot, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.source.register(up("SHOP", "1"), 1, at(-1000))
			r.source.register(up("SHOP", "gone"), 1, at(-1000))
			r.source.cancel(eureka.NewKey("shop", "gone"), 2, at(-900))
			if c.began != 0 {
				r.source.publish(at(c.began))
			}
			r.source.register(up("SHOP", "2"), 1, at(149))
			r.source.cancel(eureka.NewKey("shop", "1"), 2, at(150))
			r.set(155)
			v := r.view(t)
			assert.Equal(t, at(150), v.Boundary())
			assert.Equal(t, []string{"SHOP/2 UP"}, held(v))
			assert.Equal(t, []string{"SHOP/1 DELETED UP", "SHOP/2 ADDED UP"}, inDelta(v))
			assert.Equal(t, c.calls, r.source.took())
			require.Len(t, r.turns, 1)
			assert.Equal(t, c.origin, r.turns[0].Origin)
			assert.Equal(t, c.rows, r.turns[0].Rows)
		})
	}
}

// TestOldRecordBringsNobodyBack: the stream repeats a registration whose lease
// the TTL has taken, version and all. Neither a container that starts then nor
// its delta shows the instance; that it went is shown.
func TestOldRecordBringsNobodyBack(t *testing.T) {
	ghost, gone := up("SHOP", "ghost"), up("SHOP", "gone")
	removed := delta.Row{Key: gone.Key(), Version: 6, Instance: delta.DeletedInstance(gone, at(100))}
	for _, began := range []float64{0, 140} { // 0: no snapshot
		r := newRig(t, nil)
		r.source.register(up("SHOP", "1"), 5, at(90))
		r.source.write(delta.Row{Key: ghost.Key(), Version: 5, Instance: ghost}, at(120))
		r.source.write(removed, at(110))
		r.source.write(delta.Row{Key: gone.Key(), Version: 5, Instance: gone}, at(125))
		if began != 0 {
			r.source.publish(at(began))
		}
		r.source.write(delta.Row{Key: eureka.NewKey("shop", "2"), Version: 5, Instance: up("SHOP", "2")}, at(148))
		r.set(153)
		v := r.view(t)
		assert.Equal(t, []string{"SHOP/1 UP", "SHOP/2 UP"}, held(v))
		assert.Equal(t, []string{"SHOP/1 ADDED UP", "SHOP/2 ADDED UP", "SHOP/gone DELETED UP"}, inDelta(v))

		r.source.write(delta.Row{Key: gone.Key(), Version: 5, Instance: gone}, at(160))
		r.set(183)
		assert.Equal(t, []string{"SHOP/1 UP", "SHOP/2 UP"}, held(r.view(t)), "its version is remembered")
	}
}

// TestOldRecordAheadOfTheBoundary: nor does it when a later view is the first
// whose boundary its row is within, as the snapshot was ahead of the boundary.
func TestOldRecordAheadOfTheBoundary(t *testing.T) {
	ghost := up("SHOP", "ghost")
	r := newRig(t, nil)
	r.source.register(up("SHOP", "1"), 5, at(90))
	r.source.write(delta.Row{Key: ghost.Key(), Version: 5, Instance: ghost}, at(155))
	r.source.publish(at(170))
	r.source.register(up("SHOP", "2"), 5, at(165))
	r.set(175)
	assert.Equal(t, []string{"SHOP/1 UP"}, held(r.view(t)), "of 150")
	r.set(183)
	assert.Equal(t, []string{"SHOP/1 UP", "SHOP/2 UP"}, held(r.view(t)), "a row that the snapshot may have missed counts")
}

// TestDeltaVersion: a client that passes over a delta whose version and hash
// code it knows (py-eureka-client) misses nothing, also not a row that became
// visible late and is older than what the delta held before.
func TestDeltaVersion(t *testing.T) {
	r := newRig(t, nil)
	type label struct {
		version  int64
		hashCode string
	}
	seen := map[label]string{}
	look := func(seconds float64) {
		t.Helper()
		r.set(seconds)
		v := r.view(t)
		applications, version := v.changes()
		assert.Positive(t, version)
		content := fmt.Sprint(inDelta(v))
		for _, a := range applications {
			for _, i := range a.Instances {
				content += fmt.Sprint(i.Metadata)
			}
		}
		l := label{version, v.Counts().HashCode()}
		if known, ok := seen[l]; ok {
			assert.Equal(t, known, content, "at %v s under %+v", seconds, l)
		}
		seen[l] = content
	}
	changed := func(id, text string) *eureka.InstanceInfo {
		i := up("SHOP", id)
		i.Metadata = map[string]string{"text": text}
		return i
	}
	r.source.register(up("SHOP", "1"), 1, at(-1000))
	r.source.register(up("SHOP", "2"), 1, at(-1000))
	look(3)
	look(33)
	r.source.register(changed("1", "in time"), 2, at(59))
	look(63)
	r.source.register(changed("2", "late"), 2, at(58)) // visible now, before the boundary by its time
	look(93)
	r.source.register(changed("1", "late again"), 3, at(85))
	look(123)
	look(400)
	assert.Len(t, seen, 4, "nothing in it, and three turns with changes")
}

// TestColdContainerAhead: what a scan finds beyond the boundary is shown, and
// the rows that bring it later, or bring something older, change nothing.
func TestColdContainerAhead(t *testing.T) {
	r := newRig(t, nil)
	r.source.register(up("SHOP", "1"), 5, at(31))
	r.source.cancel(eureka.NewKey("shop", "1"), 6, at(32))
	r.source.register(up("SHOP", "2"), 7, at(32))
	r.set(32.5)
	v := r.view(t)
	assert.Equal(t, at(0), v.Boundary())
	assert.Equal(t, []string{"SHOP/2 UP"}, held(v))
	assert.Empty(t, inDelta(v))

	older := instance("SHOP", "2", eureka.Down)
	r.source.write(delta.Row{Key: older.Key(), Version: 6, Instance: older}, at(31.5))
	r.source.rows = r.source.rows[1:] // the tombstone's row and later ones only
	r.set(63)
	v = r.view(t)
	assert.Equal(t, []string{"SHOP/2 UP"}, held(v))
	assert.Equal(t, []string{"SHOP/1 DELETED UP", "SHOP/2 ADDED UP"}, inDelta(v))
}

func TestThaw(t *testing.T) {
	for _, c := range []struct {
		name  string
		wake  float64
		calls []string
	}{
		{"within the retention", 150 + 32, []string{"deltas"}},
		{"too near its end for late rows", 150 + 33, []string{"snapshot", "scan", "deltas"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.source.register(up("SHOP", "1"), 1, at(-10))
			r.source.register(up("SHOP", "2"), 1, at(-10))
			r.set(3)
			r.view(t)
			r.source.took()

			r.source.cancel(eureka.NewKey("shop", "1"), 2, at(20))
			r.set(c.wake)
			v := r.view(t)
			assert.Equal(t, []string{"SHOP/2 UP"}, held(v))
			assert.Equal(t, c.calls, r.source.took())
		})
	}
}

// TestThawWithoutSource: a container that slept and cannot load anew serves
// what it has.
func TestThawWithoutSource(t *testing.T) {
	r := newRig(t, nil)
	r.source.register(up("SHOP", "1"), 1, at(-10))
	r.set(3)
	r.view(t)
	r.source.fail(eureka.ErrUnavailable)
	r.set(4000)
	v := r.view(t)
	assert.True(t, v.Stale())
	assert.Equal(t, 4000*time.Second, v.Age(r.clock()))
	assert.Equal(t, []string{"SHOP/1 UP"}, held(v))
}

func TestRefreshFails(t *testing.T) {
	r := newRig(t, nil)
	r.source.register(up("SHOP", "1"), 1, at(-10))
	r.set(3)
	old := r.view(t)
	r.source.register(up("SHOP", "2"), 1, at(10))
	r.source.took()

	r.source.fail(eureka.ErrThrottled)
	for _, c := range []struct {
		seconds float64
		calls   []string
	}{
		{33, []string{"deltas"}},
		{33, nil},
		{34.999, nil},
		{35, []string{"deltas"}},
		{36.999, nil},
	} {
		r.set(c.seconds)
		v := r.view(t)
		assert.Same(t, old, v, "at %v s", c.seconds)
		assert.True(t, v.Stale())
		assert.Equal(t, c.calls, r.source.took(), "at %v s", c.seconds)
	}
	assert.ErrorIs(t, r.turns[len(r.turns)-1].Err, eureka.ErrThrottled)

	r.source.fail(nil)
	r.set(37)
	v := r.view(t)
	assert.False(t, v.Stale())
	assert.Equal(t, []string{"SHOP/1 UP", "SHOP/2 UP"}, held(v))
	assert.True(t, old.Stale(), "who still holds the old view may know")
}

func TestColdLoadFails(t *testing.T) {
	for _, call := range []string{"snapshot", "scan", "deltas"} {
		r := newRig(t, nil)
		r.source.hold = func(_ context.Context, c string) error {
			if c == call {
				return eureka.ErrUnavailable
			}
			return nil
		}
		_, err := r.View(context.Background())
		assert.ErrorIs(t, err, eureka.ErrUnavailable, call)
		assert.ErrorContains(t, err, "view", "it says what for")

		r.source.hold = nil
		assert.Empty(t, held(r.view(t)), "the next request tries at once")
	}
}

// TestLateRows: a row that becomes visible after the view of its boundary was
// made is in the next one.
func TestLateRows(t *testing.T) {
	r := newRig(t, nil)
	r.set(3)
	assert.Empty(t, held(r.view(t)), "read long before the rows are written")
	r.set(33)
	assert.Empty(t, held(r.view(t)))
	i := up("SHOP", "1")
	r.source.write(delta.Row{Key: i.Key(), Version: 1, Instance: i}, at(20.001))
	r.source.write(delta.Row{Key: eureka.NewKey("shop", "2"), Version: 1, Instance: up("SHOP", "2")}, at(20))
	r.set(63)
	v := r.view(t)
	assert.Equal(t, []string{"SHOP/1 UP"}, held(v), "ten seconds behind the boundary, and no more")
	assert.Equal(t, []string{"SHOP/1 ADDED UP"}, inDelta(v))
}

func TestInterval0(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Interval = 0 })
	i := up("SHOP", "1")
	i.Lease.LastRenewed = at(0)
	l := leaseOf(i, 1)
	r.source.leases = map[eureka.Key]eureka.Lease{l.Key: l}

	v := r.view(t)
	assert.Equal(t, []string{"SHOP/1 UP"}, held(v), "a consistent scan")
	assert.Equal(t, at(0), v.Applications()[0].Instances[0].Lease.LastRenewed, "as the table has it")
	assert.Equal(t, []string{"scan"}, r.source.took())
	r.source.leases = nil
	assert.Empty(t, held(r.view(t)))
	assert.Equal(t, []string{"scan"}, r.source.took())

	deltas := func() *View {
		v, err := r.DeltaView(context.Background())
		require.NoError(t, err)
		return v
	}
	r.set(1)
	assert.Empty(t, inDelta(deltas()))
	r.source.took()
	r.source.register(up("SHOP", "2"), 1, at(2))
	r.set(2)
	v = deltas()
	assert.Equal(t, []string{"SHOP/2 ADDED UP"}, inDelta(v))
	assert.Equal(t, "UP_1_", v.Counts().HashCode(), "its own instances are counted")
	assert.Equal(t, []string{"deltas"}, r.source.took())
	assert.Same(t, v, deltas(), "once for a moment")

	r.set(1000)
	r.source.took()
	deltas()
	assert.Equal(t, []string{"snapshot", "scan", "deltas"}, r.source.took())

	r.source.fail(eureka.ErrThrottled)
	_, err := r.View(context.Background())
	assert.ErrorIs(t, err, eureka.ErrThrottled, "nothing older is a consistent answer")
}

func TestDeltaViewIsTheView(t *testing.T) {
	r := newRig(t, nil)
	v := r.view(t)
	d, err := r.DeltaView(context.Background())
	require.NoError(t, err)
	assert.Same(t, v, d)
}

func TestNewWithoutSource(t *testing.T) {
	assert.Panics(t, func() { New(Config{}) })
}
