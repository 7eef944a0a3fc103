package storagetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// deltaTests are the promises of delta.Sink and of reading deltas.
func deltaTests() []test {
	return []test{
		{"Rows keep every field", rowsKeepFields},
		{"A window excludes its start and includes its end", deltaWindow},
		{"Windows are to the millisecond", deltaMilliseconds},
		{"A window over many partitions", deltaLongWindow},
		{"An empty or backward window", deltaEmptyWindow},
		{"A window longer than rows live is an error", deltaTooLongWindow},
		{"Put is idempotent", putIdempotent},
		{"Put of a row twice in one call", putTwiceInOneCall},
		{"Put of no rows", putNothing},
		{"Rows are told apart by sequence and by key", rowsApart},
		{"Rows of odd keys", rowsOddKeys},
		{"Many rows at one moment", manyRows},
		{"Put says which rows it did not write", putUnwritten},
	}
}

// row returns a row of a usual instance.
func (f *fixture) row(id string, sequence int, written time.Time) delta.Row {
	return delta.Row{
		Key:      f.key(id),
		Version:  f.now.UnixMilli() + int64(sequence),
		Instance: usualInstance(f.key(id), f.now),
		Sequence: strconv.Itoa(sequence),
		Written:  written,
	}
}

func (f *fixture) put(t *testing.T, rows ...delta.Row) {
	t.Helper()
	require.NoError(t, f.Deltas.Put(t.Context(), rows))
}

// deltas returns the rows of the test's application in a window.
func (f *fixture) deltas(t *testing.T, since, until time.Time) []delta.Row {
	t.Helper()
	return f.deltasOf(t, f.Deltas.Deltas, since, until)
}

func (f *fixture) deltasOf(
	t *testing.T, read func(ctx context.Context, since, until time.Time) ([]delta.Row, error), since, until time.Time,
) []delta.Row {
	t.Helper()
	rows, err := read(t.Context(), since, until)
	require.NoError(t, err)
	var own []delta.Row
	for _, r := range rows {
		require.True(t, r.Written.After(since.Truncate(time.Millisecond)) && !r.Written.After(until), "%v is outside the window", r.Written)
		if strings.HasPrefix(r.Key.App, f.app) {
			own = append(own, r)
		}
	}
	return own
}

// requireRows compares rows, in any order.
func requireRows(t *testing.T, want, got []delta.Row) {
	t.Helper()
	canonical := func(rows []delta.Row) []delta.Row {
		var out []delta.Row
		for _, r := range rows {
			out = append(out, canonicalRow(r))
		}
		slices.SortFunc(out, func(a, b delta.Row) int { return strings.Compare(rowName(a), rowName(b)) })
		return out
	}
	require.Equal(t, canonical(want), canonical(got))
}

func rowName(r delta.Row) string {
	return fmt.Sprintf("%s %040s %d", r.Key, r.Sequence, r.Written.UnixMilli())
}

func rowsKeepFields(t *testing.T, f *fixture) {
	rich := f.row("rich", 1, f.now)
	rich.Instance = richInstance(rich.Key, f.now)
	rich.Version = 1<<53 + 1
	rich.Sequence = "1234567890123456789012345678901234567890"
	poor := f.row("poor", 2, f.now)
	poor.Instance = &eureka.InstanceInfo{HostName: "poor", App: f.app, Status: eureka.Up, Action: eureka.Added}
	deleted := f.row("deleted", 3, f.now)
	deleted.Instance = richInstance(deleted.Key, f.now)
	deleted.Instance.Action = eureka.Deleted
	large := f.row("large", 4, f.now)
	large.Instance.Metadata = manyMetadata(1000, 200)
	f.put(t, rich, poor, deleted, large)
	got := f.deltas(t, f.after(-1), f.now)
	requireRows(t, []delta.Row{rich, poor, deleted, large}, got)
	for _, r := range got {
		assert.Equal(t, r.Key == deleted.Key, r.Deleted())
	}
}

func deltaWindow(t *testing.T, f *fixture) {
	var rows []delta.Row
	for i := range 5 {
		rows = append(rows, f.row(strconv.Itoa(i), i, f.after(i*1000)))
	}
	f.put(t, rows...)
	for since := range 5 {
		for until := since; until < 5; until++ {
			requireRows(t, rows[since+1:until+1], f.deltas(t, f.after(since*1000), f.after(until*1000)))
		}
	}
	requireRows(t, rows, f.deltas(t, f.after(-1), f.after(4000)))
}

func deltaMilliseconds(t *testing.T, f *fixture) {
	const rest = 600 * time.Microsecond
	r := f.row("id", 1, f.now.Add(rest))
	f.put(t, r)
	r.Written = f.now
	for name, c := range map[string]struct {
		since, until time.Time
		found        bool
	}{
		"until its millisecond":        {since: f.after(-1), until: f.now, found: true},
		"until later in it":            {since: f.after(-1), until: f.now.Add(rest / 2), found: true},
		"until just before":            {since: f.after(-2), until: f.after(-1).Add(rest)},
		"since its millisecond":        {since: f.now, until: f.after(5)},
		"since later in it":            {since: f.now.Add(rest / 2), until: f.after(5)},
		"since late in the one before": {since: f.after(-1).Add(rest), until: f.after(5), found: true},
	} {
		t.Run(name, func(t *testing.T) {
			var want []delta.Row
			if c.found {
				want = []delta.Row{r}
			}
			requireRows(t, want, f.deltas(t, c.since, c.until))
		})
	}
}

// deltaLongWindow reads the longest window that readers use, with rows at and
// around the limits of the partitions of 10 s.
func deltaLongWindow(t *testing.T, f *fixture) {
	start := f.now.Truncate(10 * time.Second)
	var rows []delta.Row
	for bucket := range 30 {
		for _, millis := range []int{0, 1, 5000, 9999} {
			rows = append(rows, f.row(fmt.Sprint(bucket, "-", millis), len(rows), start.Add(time.Duration(bucket*10_000+millis)*time.Millisecond)))
		}
	}
	f.put(t, rows...)
	requireRows(t, rows, f.deltas(t, start.Add(-time.Second), start.Add(5*time.Minute)))
	for _, c := range []struct{ since, until int }{{0, 4}, {3, 4}, {3, 7}, {4, 8}, {2, 117}, {1, 3}} {
		requireRows(t, rows[c.since+1:c.until+1], f.deltas(t, rows[c.since].Written, rows[c.until].Written))
	}
}

func deltaEmptyWindow(t *testing.T, f *fixture) {
	f.put(t, f.row("id", 1, f.now))
	assert.Empty(t, f.deltas(t, f.now, f.now))
	assert.Empty(t, f.deltas(t, f.after(1), f.after(-1)))
	assert.Empty(t, f.deltas(t, f.after(60_000), f.after(-60_000)))
}

// deltaTooLongWindow: an answer that lacks rows must not look like one that has
// them all. Drivers under test have the default retention.
func deltaTooLongWindow(t *testing.T, f *fixture) {
	kept := delta.RowLifetime(3 * time.Minute)
	f.put(t, f.row("id", 1, f.now.Add(-kept+time.Second)))
	require.Len(t, f.deltas(t, f.now.Add(-kept), f.now), 1, "as long as rows live")
	rows, err := f.Deltas.Deltas(t.Context(), f.now.Add(-kept-time.Millisecond), f.now)
	require.ErrorIs(t, err, delta.ErrWindowTooLong)
	require.Nil(t, rows)
}

func putIdempotent(t *testing.T, f *fixture) {
	a, b, c := f.row("a", 1, f.now), f.row("b", 2, f.now), f.row("c", 3, f.now)
	f.put(t, a, b)
	f.put(t, b, c)
	f.put(t, a, b, c)
	requireRows(t, []delta.Row{a, b, c}, f.deltas(t, f.after(-1), f.now))
}

func putTwiceInOneCall(t *testing.T, f *fixture) {
	a, b := f.row("a", 1, f.now), f.row("b", 2, f.now)
	f.put(t, a, b, a, a, b)
	requireRows(t, []delta.Row{a, b}, f.deltas(t, f.after(-1), f.now))
}

func putNothing(t *testing.T, f *fixture) {
	require.NoError(t, f.Deltas.Put(t.Context(), nil))
	require.NoError(t, f.Deltas.Put(t.Context(), []delta.Row{}))
}

// rowsApart holds that the order of sequence numbers is no text's: 9 and 10
// are neighbours, and 40 digits are many.
func rowsApart(t *testing.T, f *fixture) {
	var rows []delta.Row
	for _, id := range []string{"a", "b"} {
		for _, sequence := range []string{"1", "9", "10", "100", "4940000000000000000001", strings.Repeat("9", 40)} {
			r := f.row(id, 1, f.now)
			r.Sequence = sequence
			rows = append(rows, r)
		}
	}
	f.put(t, rows...)
	requireRows(t, rows, f.deltas(t, f.after(-1), f.now))
}

// rowsOddKeys writes all rows with one sequence number, so that only the key
// tells them apart: odd ids, and pairs that are one text when joined.
func rowsOddKeys(t *testing.T, f *fixture) {
	var rows []delta.Row
	add := func(app, id string) {
		r := f.row(id, 1, f.now)
		r.Key.App = f.app + app
		r.Instance.App = r.Key.App
		rows = append(rows, r)
	}
	for _, id := range oddIDs() {
		add("", id)
	}
	for _, separator := range []string{"#", "/", ":", "|", " ", "%", "~", "_", "\x1f"} {
		add(separator+"B", "c")
		add("", "B"+separator+"c")
	}
	add(strings.Repeat("A", 900), strings.Repeat("x", 1024))
	f.put(t, rows...)
	requireRows(t, rows, f.deltas(t, f.after(-1), f.now))
}

// manyRows puts more into one partition than an answer of 1 MB holds, and
// more into one call than a batch of 25.
func manyRows(t *testing.T, f *fixture) {
	var rows []delta.Row
	for i := range 180 {
		r := f.row(strconv.Itoa(i), i, f.now)
		r.Instance.Metadata = map[string]string{"text": noise(12_000)}
		rows = append(rows, r)
	}
	f.put(t, rows...)
	requireRows(t, rows, f.deltas(t, f.after(-1), f.now))
}

func putUnwritten(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var rows []delta.Row
	for i := range 60 {
		rows = append(rows, f.row(strconv.Itoa(i), i, f.now))
	}
	var unwritten *delta.UnwrittenError
	require.ErrorAs(t, f.Deltas.Put(ctx, rows), &unwritten)
	require.True(t, slices.IsSorted(unwritten.Indexes))
	require.NotEmpty(t, unwritten.Indexes)
	found := map[eureka.Key]bool{}
	for _, r := range f.deltas(t, f.after(-1), f.now) {
		found[r.Key] = true
	}
	for i, r := range rows {
		if !slices.Contains(unwritten.Indexes, i) {
			assert.True(t, found[r.Key], "row %d counts as written and is not there", i)
		}
	}
}
