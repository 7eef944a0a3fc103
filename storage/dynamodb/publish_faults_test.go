package dynamodb_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// TestFaultsOfRows: a row that is not reported is in the table, and one that
// comes again is there once.
func TestFaultsOfRows(t *testing.T) {
	var rows []row
	for n := range 40 { // two batches
		l := usualLease(n)
		rows = append(rows, row{Key: l.Key, Version: 7, Instance: l.Effective(), Sequence: fmt.Sprint(1000 + n)})
	}
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		f := newFaultRig(t, e)
		for n, fault := range faults {
			t.Run(fault.name, func(t *testing.T) {
				written := began.Add(time.Duration(n) * time.Minute)
				for i := range rows {
					rows[i].Written = written
				}
				ctx, cancel := fault.within(t)
				defer cancel()
				f.network.fail(fault.failure)
				err := f.store.Put(ctx, rows)
				f.network.fail(nil)

				missing := map[eureka.Key]bool{}
				if fault.want == nil {
					require.NoError(t, err)
				} else {
					for _, i := range unwrittenOf(t, err) {
						missing[rows[i].Key] = true
					}
				}
				there := f.rowsAt(t, written)
				for _, r := range rows {
					assert.True(t, there[r.Key] == 1 || missing[r.Key], "%s is not reported and not there", r.Key)
				}
				require.NoError(t, f.store.Put(t.Context(), rows), "offered again")
				for key, n := range f.rowsAt(t, written) {
					assert.Equal(t, 1, n, key)
				}
				assert.Len(t, f.rowsAt(t, written), len(rows))
			})
		}
	})
}

func unwrittenOf(t *testing.T, err error) []int {
	t.Helper()
	var unwritten *unwrittenError
	require.ErrorAs(t, err, &unwritten)
	return unwritten.Indexes
}

// rowsAt counts the rows of a moment by their instances.
func (f *faultRig) rowsAt(t *testing.T, written time.Time) map[eureka.Key]int {
	t.Helper()
	rows, err := f.sound.Deltas(t.Context(), written.Add(-time.Millisecond), written)
	require.NoError(t, err)
	counts := map[eureka.Key]int{}
	for _, r := range rows {
		counts[r.Key]++
	}
	return counts
}

// snapshotParts is how many items the snapshot of these tests takes, besides
// its pointer.
const snapshotParts = 2

// largeText is one of two that fit into a part.
var largeText = sync.OnceValue(func() string { return incompressible(200_000) })

// partedSnapshot is a snapshot of a generation, too large for one item.
func partedSnapshot(generation int) *snapshot {
	s := &snapshot{Began: began.Add(time.Duration(generation) * time.Minute)}
	for n := range 2 * snapshotParts {
		l := usualLease(n)
		l.Instance.Metadata = map[string]string{"text": largeText(), "generation": fmt.Sprint(generation)}
		s.Entries = append(s.Entries, snapshotEntry{Key: l.Key, Version: int64(generation), Instance: l.Effective()})
	}
	return s
}

// lookBetween runs a reader before and after each write, one write after
// another, and has the n-th write (from 0 on; -1: none) and its tries meet a
// failure.
type lookBetween struct {
	mu      sync.Mutex
	look    func()
	at      int
	failure failure
	// tries counts those of each write, order has the writes as they came.
	tries map[string]int
	order []string
}

func (l *lookBetween) meet(_ int, r *http.Request, send transport) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := r.Header.Get("Amz-Sdk-Invocation-Id")
	try, known := l.tries[name]
	if !known {
		l.order = append(l.order, name)
	}
	l.tries[name]++
	l.look()
	defer l.look()
	if l.at >= 0 && l.at < len(l.order) && l.order[l.at] == name {
		return l.failure(try, r, send)
	}
	return send(r)
}

// TestFaultsOfSnapshots: a reader between any two writes of a snapshot, and
// after a fault of any of them, gets the old one or the new one, whole; and
// the new one once that was answered as a success.
func TestFaultsOfSnapshots(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		f := newFaultRig(t, e)
		old := partedSnapshot(0)
		generation := 0
		for at := range snapshotParts + 1 {
			for _, fault := range faults {
				if fault.want == nil && at != snapshotParts {
					continue // parts are alike; the pointer is what it hangs on
				}
				t.Run(fmt.Sprintf("write %d, %s", at, fault.name), func(t *testing.T) {
					require.NoError(t, f.sound.PutSnapshot(t.Context(), old))
					generation++
					next := partedSnapshot(generation)
					looks := 0
					between := &lookBetween{at: at, failure: fault.failure, tries: map[string]int{}, look: func() {
						looks++
						f.requireOldOrNew(t, old, next)
					}}
					fault.deadline *= 3 // the looks count towards it
					ctx, cancel := fault.within(t)
					defer cancel()
					f.network.fail(between.meet)
					err := f.store.PutSnapshot(ctx, next)
					f.network.fail(nil)

					requireOnly(t, fault.want, err)
					assert.Greater(t, looks, 2)
					got := f.requireOldOrNew(t, old, next)
					if err == nil {
						assert.Equal(t, next.Began, got.Began)
						assert.GreaterOrEqual(t, looks, 2*(snapshotParts+1))
					}
					if at < snapshotParts && err != nil {
						assert.Equal(t, old.Began, got.Began, "the pointer is the last to be written")
					}
				})
			}
		}
	})
}

// requireOldOrNew returns what a reader finds.
func (f *faultRig) requireOldOrNew(t *testing.T, old, next *snapshot) *snapshot {
	t.Helper()
	got, err := f.sound.Snapshot(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	want := old
	if got.Began.Equal(next.Began) {
		want = next
	}
	require.True(t, got.Began.Equal(want.Began))
	require.Len(t, got.Entries, len(want.Entries))
	for i, e := range got.Entries {
		require.Equal(t, want.Entries[i].Key, e.Key)
		require.Equal(t, want.Entries[i].Version, e.Version)
		require.Equal(t, want.Entries[i].Instance.Metadata, e.Instance.Metadata)
	}
	return got
}

// TestFaultsOfStatistics: statistics and recent events are one item each, the
// old one or the new one.
func TestFaultsOfStatistics(t *testing.T) {
	statistics := func(n int) delta.Statistics {
		return delta.Statistics{
			Pass: began.UTC().Add(time.Duration(n) * time.Minute), Leases: n, Enabled: true,
			HeldBack: 1, Held: []eureka.Key{usualLease(n).Key},
		}
	}
	recent := func(n int) delta.Recent {
		return delta.Recent{
			Registered: []delta.Event{{Time: began.UTC(), Key: usualLease(n).Key}},
			Cancelled:  []delta.Event{{Time: began.UTC(), Key: usualLease(n + 1).Key}},
		}
	}
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		f := newFaultRig(t, e)
		for n, fault := range faults {
			t.Run(fault.name, func(t *testing.T) {
				old, next := 1000*n, 1000*n+1
				require.NoError(t, f.sound.PutStatistics(t.Context(), statistics(old)))
				require.NoError(t, f.sound.PutRecent(t.Context(), recent(old)))

				f.putUnder(t, &fault, func(ctx context.Context) error { return f.store.PutStatistics(ctx, statistics(next)) }, func(succeeded bool) {
					got, err := f.sound.Statistics(t.Context())
					require.NoError(t, err)
					wanted := []any{statistics(next)}
					if !succeeded {
						wanted = append(wanted, statistics(old))
					}
					assert.Contains(t, wanted, got)
				})
				f.putUnder(t, &fault, func(ctx context.Context) error { return f.store.PutRecent(ctx, recent(next)) }, func(succeeded bool) {
					got, err := f.sound.Recent(t.Context())
					require.NoError(t, err)
					wanted := []any{recent(next)}
					if !succeeded {
						wanted = append(wanted, recent(old))
					}
					assert.Contains(t, wanted, got)
				})
			})
		}
	})
}

// putUnder publishes under a fault and looks at what is there then.
func (f *faultRig) putUnder(t *testing.T, fault *fault, put func(context.Context) error, look func(succeeded bool)) {
	t.Helper()
	ctx, cancel := fault.within(t)
	defer cancel()
	f.network.fail(fault.failure)
	err := put(ctx)
	f.network.fail(nil)
	requireOnly(t, fault.want, err)
	look(err == nil)
}
