package view

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// row returns a row of an instance; status "" is DELETED.
func row(app, id string, version int64, status eureka.Status, written float64) delta.Row {
	i := instance(app, id, status)
	if status == "" {
		i.Status = eureka.Up
		i.Action = eureka.Deleted
	}
	return delta.Row{Key: i.Key(), Version: version, Instance: i, Written: at(written)}
}

// fold applies batches of rows to an empty state, each with its cut.
func fold(batches ...[]delta.Row) *state {
	s := newState(nil, start)
	for n, rows := range batches {
		s, _ = s.apply(rows, at(float64(30*n+30)), 3*time.Minute)
	}
	return s
}

// lender lends deflaters to all tests; making one is slow under the race
// detector.
var lender deflaters

func asView(s *state) *View { return newView(s, start, start, &documents{}, &lender) }

func TestApply(t *testing.T) {
	const gone = eureka.Status("")
	for _, c := range []struct {
		name    string
		batches [][]delta.Row
		held    []string
		delta   []string
	}{
		{"nothing", [][]delta.Row{{}}, []string{}, []string{}},
		{
			"registered and changed",
			[][]delta.Row{{row("A", "1", 1, eureka.Up, 1)}, {row("A", "1", 2, eureka.Down, 31)}},
			[]string{"A/1 DOWN"}, []string{"A/1 ADDED DOWN"},
		},
		{
			"out of order in one read",
			[][]delta.Row{{row("A", "1", 2, eureka.Down, 1), row("A", "1", 1, eureka.Up, 2)}},
			[]string{"A/1 DOWN"}, []string{"A/1 ADDED DOWN"},
		},
		{
			"out of order in two",
			[][]delta.Row{{row("A", "1", 2, eureka.Down, 1)}, {row("A", "1", 1, eureka.Up, 31)}},
			[]string{"A/1 DOWN"}, []string{"A/1 ADDED DOWN"},
		},
		{
			"the newer visible later though written earlier",
			[][]delta.Row{{row("A", "1", 1, eureka.Up, 29)}, {row("A", "1", 2, eureka.Down, 28)}},
			[]string{"A/1 DOWN"}, []string{"A/1 ADDED DOWN"},
		},
		{
			"repeated",
			[][]delta.Row{{row("A", "1", 1, eureka.Up, 1), row("A", "1", 1, eureka.Up, 5)}, {row("A", "1", 1, eureka.Up, 5)}},
			[]string{"A/1 UP"}, []string{"A/1 ADDED UP"},
		},
		{
			"gone, and the last application of its name with it",
			[][]delta.Row{{row("A", "1", 1, eureka.Up, 1), row("B", "1", 1, eureka.Up, 1)}, {row("A", "1", 2, gone, 31)}},
			[]string{"B/1 UP"}, []string{"A/1 DELETED UP", "B/1 ADDED UP"},
		},
		{
			"never seen and gone",
			[][]delta.Row{{row("A", "1", 2, gone, 1)}},
			[]string{}, []string{"A/1 DELETED UP"},
		},
		{
			"gone, then something older",
			[][]delta.Row{{row("A", "1", 2, gone, 1)}, {row("A", "1", 1, eureka.Up, 31)}},
			[]string{}, []string{"A/1 DELETED UP"},
		},
		{
			"gone and back",
			[][]delta.Row{{row("A", "1", 1, eureka.Up, 1)}, {row("A", "1", 2, gone, 31)}, {row("A", "1", 3, eureka.Starting, 61)}},
			[]string{"A/1 STARTING"}, []string{"A/1 ADDED STARTING"},
		},
		{
			"in the middle of an application",
			[][]delta.Row{
				{row("A", "1", 1, eureka.Up, 1), row("A", "3", 1, eureka.Up, 1), row("A", "5", 1, eureka.Up, 1)},
				{row("A", "2", 1, eureka.Up, 31), row("A", "3", 2, gone, 31), row("A", "4", 2, gone, 31), row("A", "6", 1, eureka.Down, 31), row("A", "0", 1, eureka.Down, 31)},
			},
			[]string{"A/0 DOWN", "A/1 UP", "A/2 UP", "A/5 UP", "A/6 DOWN"},
			[]string{"A/0 ADDED DOWN", "A/1 ADDED UP", "A/2 ADDED UP", "A/3 DELETED UP", "A/4 DELETED UP", "A/5 ADDED UP", "A/6 ADDED DOWN"},
		},
		{
			"one id in two applications",
			[][]delta.Row{{row("A", "1", 1, eureka.Up, 1), row("B", "1", 1, eureka.Up, 1)}, {row("A", "1", 2, eureka.Down, 31)}},
			[]string{"A/1 DOWN", "B/1 UP"}, []string{"A/1 ADDED DOWN", "B/1 ADDED UP"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := asView(fold(c.batches...))
			assert.Equal(t, c.held, held(v))
			assert.Equal(t, c.delta, inDelta(v))
			assert.Equal(t, eureka.HashCode(v.Applications()), v.Counts().HashCode())
		})
	}
}

// TestWindow: the delta shows a change for the retention after its row was
// written, and for longer if the row is repeated, as healing does.
func TestWindow(t *testing.T) {
	none := []delta.Row{}
	first := row("A", "1", 1, eureka.Up, 5)
	repeated := row("A", "1", 1, eureka.Up, 100)
	for _, c := range []struct {
		name    string
		batches [][]delta.Row // at 30, 60, ... 210
		held    bool
	}{
		{"until its time", [][]delta.Row{{first}, none, none, none, none}, true},
		{"and no longer", [][]delta.Row{{first}, none, none, none, none, none, none}, false},
		{"written at the very edge", [][]delta.Row{{row("A", "1", 1, eureka.Up, 30)}, none, none, none, none, none, none}, false},
		{"and a moment later", [][]delta.Row{{row("A", "1", 1, eureka.Up, 30.001)}, none, none, none, none, none, none}, true},
		{"repeated", [][]delta.Row{{first}, none, none, {repeated}, none, none, none}, true},
		{"the first one read again", [][]delta.Row{{repeated}, {first}, none, none, none, none, none}, true},
		{"something older is no repetition", [][]delta.Row{{first}, none, none, {row("A", "1", 0, eureka.Up, 100)}, none, none, none}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := asView(fold(c.batches...))
			assert.Equal(t, c.held, len(inDelta(v)) == 1)
			assert.Equal(t, []string{"A/1 UP"}, held(v))
		})
	}
}

// TestTombstonesAreForgotten: not before an hour, and then for good.
func TestTombstonesAreForgotten(t *testing.T) {
	s := newState([]delta.Entry{{Key: eureka.NewKey("A", "old"), Version: 9}}, start)
	next := func(minutes int, rows ...delta.Row) {
		s, _ = s.apply(rows, start.Add(time.Duration(minutes)*time.Minute), 3*time.Minute)
	}
	next(20, row("A", "new", 9, "", 1200))
	assert.Equal(t, 2, s.tombstones.size)
	next(60, row("A", "old", 8, eureka.Up, 3600))
	assert.Equal(t, 2, s.tombstones.size, "an hour is not over")
	assert.Zero(t, s.applications.size)
	next(66)
	assert.Equal(t, 1, s.tombstones.size)
	assert.Equal(t, "new", s.tombstones.chunks[0].items[0].key.ID)
	next(82, row("A", "new", 10, "", 4919))
	assert.Equal(t, 1, s.tombstones.size, "it went again meanwhile")
	assert.EqualValues(t, 10, s.tombstones.chunks[0].items[0].version)
	next(82+66, row("A", "new", 11, eureka.Up, 8000))
	assert.Zero(t, s.tombstones.size)
	assert.Equal(t, 1, s.applications.size)
}

// TestNewestEntryCounts: a scan of many requests may find an item twice.
func TestNewestEntryCounts(t *testing.T) {
	older, newer := up("A", "1"), up("A", "1")
	newer.Status = eureka.Down
	for _, versions := range [][2]int64{{1, 2}, {2, 1}} {
		entries := []delta.Entry{{Key: older.Key(), Version: versions[0]}, {Key: older.Key(), Version: versions[1]}}
		for n := range entries {
			if entries[n].Instance = older; entries[n].Version == 2 {
				entries[n].Instance = newer
			}
		}
		assert.Equal(t, []string{"A/1 DOWN"}, held(asView(newState(entries, start))))
	}
}

// TestSettled: a view does not tell when its container read a snapshot.
func TestSettled(t *testing.T) {
	i := up("A", "1")
	assert.Same(t, i, Settled(i))
	renewed := i.Clone()
	renewed.Lease.LastRenewed = at(77)
	assert.Equal(t, i, Settled(renewed))
	assert.Equal(t, at(77), renewed.Lease.LastRenewed, "the argument stays")

	s := fold([]delta.Row{{Key: i.Key(), Version: 1, Instance: renewed, Written: at(1)}})
	assert.Equal(t, i, s.application("A").Instances[0])
	assert.Equal(t, i, s.window[0].instance)
}

// reference is the fold by version, done the plain way.
func reference(rows []delta.Row) map[eureka.Key]delta.Row {
	out := map[eureka.Key]delta.Row{}
	for _, r := range rows {
		if r.Version > out[r.Key].Version {
			out[r.Key] = r
		}
	}
	return out
}

// TestFoldProperty: rows in any order, repeated, cut into any batches, make
// the state and the delta that the fold by version makes.
func TestFoldProperty(t *testing.T) {
	status := rapid.SampledFrom([]eureka.Status{eureka.Up, eureka.Down, eureka.OutOfService, ""})
	rapid.Check(t, func(t *rapid.T) {
		history := map[eureka.Key]int64{}
		var all []delta.Row
		for range rapid.IntRange(0, 40).Draw(t, "rows") {
			app := fmt.Sprintf("APP-%d", rapid.IntRange(0, 12).Draw(t, "app"))
			id := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "id"))
			key := eureka.NewKey(app, id)
			history[key]++
			r := row(app, id, history[key], status.Draw(t, "status"), rapid.Float64Range(1, 30).Draw(t, "written"))
			r.Instance.VIPAddress = rapid.SampledFrom([]string{"", "one", "two,one", "Two"}).Draw(t, "vip")
			all = append(all, r)
			if rapid.Bool().Draw(t, "repeated") {
				all = append(all, r)
			}
		}
		all = rapid.Permutation(all).Draw(t, "order")
		s := newState(nil, start)
		for rest := all; ; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "batch")
			if n == 0 {
				n = len(rest)
			}
			s, _ = s.apply(rest[:n], at(30), 3*time.Minute)
			if rest = rest[n:]; len(rest) == 0 {
				break
			}
		}
		checkFold(t, s, reference(all))
	})
}

// TestColdEqualsWarmProperty: a container that followed all turns and one that
// starts now hold the same view, deltas included, however late, repeated and
// out of order rows were written.
func TestColdEqualsWarmProperty(t *testing.T) {
	status := rapid.SampledFrom([]eureka.Status{eureka.Up, eureka.Down, ""})
	rapid.Check(t, func(t *rapid.T) {
		const retention = 2 * time.Minute
		turns := rapid.IntRange(1, 8).Draw(t, "turns")
		history := map[string]int64{}
		var rows []delta.Row
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			id := fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "id"))
			written := rapid.IntRange(1, 30*turns)
			history[id]++
			r := row("APP", id, history[id], status.Draw(t, "status"), float64(written.Draw(t, "written")))
			rows = append(rows, r)
			if rapid.Bool().Draw(t, "repeated") {
				r.Written = at(float64(written.Draw(t, "written again")))
				rows = append(rows, r)
			}
		}
		between := func(since, until time.Time) []delta.Row {
			return slices.DeleteFunc(slices.Clone(rows), func(r delta.Row) bool {
				return !r.Written.After(since) || r.Written.After(until)
			})
		}
		warm := newState(nil, start)
		cut := start
		for range turns {
			since := cut.Add(-overlap)
			cut = cut.Add(30 * time.Second)
			warm, _ = warm.apply(between(since, cut), cut, retention)
		}
		var entries []delta.Entry
		for key, r := range reference(between(start, cut)) {
			e := delta.Entry{Key: key, Version: r.Version, Instance: r.Instance}
			if r.Deleted() {
				e.Instance = nil
			}
			entries = append(entries, e)
		}
		cold, _ := newState(entries, start).apply(between(cut.Add(-retention), cut), cut, retention)
		require.Equal(t, runs(cold.applications), runs(warm.applications))
		require.Equal(t, cold.counts, warm.counts)
		require.Equal(t, runs(cold.ids), runs(warm.ids))
		require.Equal(t, cold.window, warm.window)
	})
}

// checkFold demands that a state and its indices hold exactly these rows.
func checkFold(t require.TestingT, s *state, want map[eureka.Key]delta.Row) {
	entries := []delta.Entry{}
	for key, r := range want {
		e := delta.Entry{Key: key, Version: r.Version}
		if !r.Deleted() {
			e.Instance = r.Instance
		}
		entries = append(entries, e)
	}
	scanned := newState(entries, start)
	v, w := asView(s), asView(scanned)
	require.Equal(t, w.Applications(), v.Applications())
	require.Equal(t, w.Counts(), v.Counts())
	require.Equal(t, eureka.HashCode(v.Applications()), v.Counts().HashCode())
	require.Equal(t, runs(scanned.ids), runs(s.ids))
	require.Equal(t, runs(scanned.vips), runs(s.vips))
	require.Equal(t, runs(scanned.secureVIPs), runs(s.secureVIPs))
	require.Equal(t, scanned.tombstones.size, s.tombstones.size)
	for _, e := range encodings {
		require.Equal(t, string(w.All(e).Plain()), string(v.All(e).Plain()))
		require.Equal(t, w.All(e).Gzip(), v.All(e).Gzip(), "chunks do not tell the history")
		require.Equal(t, string(w.VIP("one", e).Plain()), string(v.VIP("one", e).Plain()))
	}
	changed := map[eureka.Key]*eureka.InstanceInfo{}
	for _, r := range s.window {
		changed[r.key] = r.instance
	}
	require.Len(t, changed, len(s.window), "each instance once")
	for key, r := range want {
		require.Equal(t, r.Instance, changed[key])
	}
	require.True(t, slices.IsSortedFunc(s.window, func(a, b recent) int { return compareKeys(a.key, b.key) }))
}

// TestSnapshotAndDeltasMakeAScan: a container that followed the deltas, one
// that started from a snapshot and one that scanned give the same bytes.
func TestSnapshotAndDeltasMakeAScan(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	followed := newRig(t, nil)
	source := followed.source
	followed.view(t)
	version := int64(0)
	for step := range 2000 {
		version++
		when := at(float64(step) / 10)
		key := eureka.NewKey(fmt.Sprintf("APP-%d", random.IntN(30)), fmt.Sprint(random.IntN(10)))
		if l, ok := source.leases[key]; ok && !l.Tombstone() && random.IntN(3) == 0 {
			source.cancel(key, version, when)
		} else {
			i := instance(key.App, key.ID, []eureka.Status{eureka.Up, eureka.Down, eureka.Starting}[random.IntN(3)])
			i.Lease.LastRenewed = when // differs from what deltas have told before
			source.register(i, version, when)
		}
		if step == 1300 {
			source.publish(when)
		}
		if step%100 == 99 {
			followed.set(float64(step) / 10)
			followed.view(t)
		}
	}
	renew(source)
	followed.set(213)
	byDeltas := followed.view(t)

	cold := func(withSnapshot bool) *View {
		r := newRig(t, nil)
		r.source = &fakeSource{leases: source.leases, rows: source.rows}
		if withSnapshot {
			r.source.snapshot = source.snapshot
		}
		r.Cache.cfg.Source = r.source
		r.set(213)
		return r.view(t)
	}
	bySnapshot, byScan := cold(true), cold(false)
	assert.NotEmpty(t, held(byScan))
	for _, e := range encodings {
		for _, v := range []*View{byDeltas, bySnapshot} {
			assert.Equal(t, string(byScan.All(e).Plain()), string(v.All(e).Plain()), encodingName(e))
			assert.Equal(t, byScan.All(e).Gzip(), v.All(e).Gzip(), encodingName(e))
			assert.Equal(t, byScan.All(e).ETag(true), v.All(e).ETag(true))
			assert.Equal(t, string(byScan.Delta(e).Plain()), string(v.Delta(e).Plain()), encodingName(e))
			assert.Equal(t, byScan.Delta(e).ETag(false), v.Delta(e).ETag(false))
		}
	}
}

// renew renews every lease, which readers do not hear of.
func renew(s *fakeSource) {
	leases := maps.Clone(s.leases)
	for key, l := range leases {
		if !l.Tombstone() {
			l.Renewed = at(212)
			leases[key] = l
		}
	}
	s.leases = leases
}

// TestSourceIsNotChanged: what a source hands out is shared.
func TestSourceIsNotChanged(t *testing.T) {
	r := newRig(t, nil)
	i := up("A", "1")
	i.Lease.LastRenewed = at(-1)
	r.source.register(i, 1, at(-10))
	r.source.publish(at(-5))
	_, err := r.View(context.Background())
	require.NoError(t, err)
	assert.Equal(t, at(-1), i.Lease.LastRenewed)
	assert.Equal(t, at(-1), r.source.snapshot.Entries[0].Instance.Lease.LastRenewed)
	assert.Equal(t, at(-1), r.source.rows[0].Instance.Lease.LastRenewed)
}
