package storagetest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// publicationTests are the promises of eviction.Publications.
func publicationTests() []test {
	return []test{
		{"Nothing is published", nothingPublished},
		{"A snapshot keeps every field", snapshotKeepsFields},
		{"A snapshot of an empty registry", snapshotEmpty},
		{"A snapshot replaces the one before", snapshotReplaces},
		{"A snapshot larger than an item", snapshotLarge},
		{"A snapshot is replaced while it is read", snapshotReplacedWhileRead},
		{"A snapshot that cannot be used", snapshotUnusable},
		{"Statistics keep every field", statisticsKeepFields},
		{"A claim keeps others from the same time", claimRefuses},
		{"Of claims at once one is made", claimsAtOnce},
		{"A claim and the statistics leave each other alone", claimBesideStatistics},
		{"Recent events keep their order", recentKeepsOrder},
		{"Recent events of the longest ids", recentLarge},
	}
}

// nothingPublished is what a reader finds before the first eviction pass.
func nothingPublished(t *testing.T, f *fixture) {
	if f.Inspect.Unpublish == nil {
		t.Skip("the driver has no Inspect.Unpublish")
	}
	f.publishAll(t)
	require.NoError(t, f.Inspect.Unpublish(t.Context()))
	s, err := f.Publications.Snapshot(t.Context())
	require.ErrorIs(t, err, eureka.ErrNoSnapshot)
	require.Nil(t, s)
	statistics, err := f.Publications.Statistics(t.Context())
	require.NoError(t, err)
	require.Equal(t, delta.Statistics{}, canonicalStatistics(statistics))
	recent, err := f.Publications.Recent(t.Context())
	require.NoError(t, err)
	require.Empty(t, recent.Registered)
	require.Empty(t, recent.Cancelled)
}

func (f *fixture) publishAll(t *testing.T) {
	t.Helper()
	require.NoError(t, f.Publications.PutSnapshot(t.Context(), f.snapshot(3, 10)))
	require.NoError(t, f.Publications.PutStatistics(t.Context(), delta.Statistics{Pass: f.now, Leases: 3}))
	require.NoError(t, f.Publications.PutRecent(t.Context(), delta.Recent{Registered: []delta.Event{{Time: f.now, Key: f.key("id")}}}))
}

// severalChunks is a number of entries of 1,200 incompressible characters of
// five bits that needs more than one item of 400 KB.
const severalChunks = 600

// snapshot has so many entries, all of one version, with incompressible
// metadata of so many characters.
func (f *fixture) snapshot(entries, text int) *delta.Snapshot {
	s := &delta.Snapshot{Began: f.now}
	for i := range entries {
		key := f.key(strconv.Itoa(i))
		e := delta.Entry{Key: key, Version: 1}
		if i%10 != 9 {
			e.Instance = usualInstance(key, f.now)
			e.Instance.Metadata = map[string]string{"text": noise(text)}
		}
		s.Entries = append(s.Entries, e)
	}
	return s
}

func requireSnapshot(t *testing.T, want, got *delta.Snapshot) {
	t.Helper()
	require.NotNil(t, got)
	require.Equal(t, canonicalTime(want.Began), canonicalTime(got.Began))
	byKey := func(s *delta.Snapshot) map[eureka.Key]delta.Entry {
		entries := make(map[eureka.Key]delta.Entry, len(s.Entries))
		for _, e := range s.Entries {
			_, again := entries[e.Key]
			require.False(t, again, "%s was found twice", e.Key)
			entries[e.Key] = canonicalEntry(e)
		}
		return entries
	}
	require.Equal(t, byKey(want), byKey(got))
}

func (f *fixture) requirePublished(t *testing.T, want *delta.Snapshot) {
	t.Helper()
	got, err := f.Publications.Snapshot(t.Context())
	require.NoError(t, err)
	requireSnapshot(t, want, got)
}

func snapshotKeepsFields(t *testing.T, f *fixture) {
	want := &delta.Snapshot{Began: f.now.Add(-time.Second), Entries: []delta.Entry{
		{Key: f.key("rich"), Version: 1<<53 + 1, Instance: richInstance(f.key("rich"), f.now)},
		{Key: f.key("poor"), Version: 1, Instance: &eureka.InstanceInfo{HostName: "poor", App: f.app}},
		{Key: f.key("large"), Version: 2, Instance: &eureka.InstanceInfo{HostName: "large", Metadata: manyMetadata(1000, 200)}},
		{Key: f.key("tombstone"), Version: 1<<53 + 3},
	}}
	for i, id := range oddIDs() {
		want.Entries = append(want.Entries, delta.Entry{Key: f.key(id), Version: int64(i), Instance: usualInstance(f.key(id), f.now)})
	}
	require.NoError(t, f.Publications.PutSnapshot(t.Context(), want))
	f.requirePublished(t, want)
}

// snapshotEmpty is something else than none.
func snapshotEmpty(t *testing.T, f *fixture) {
	want := &delta.Snapshot{Began: f.now}
	require.NoError(t, f.Publications.PutSnapshot(t.Context(), want))
	f.requirePublished(t, want)
}

func snapshotReplaces(t *testing.T, f *fixture) {
	for _, entries := range []int{20, 40, 5} {
		want := f.snapshot(entries, 10)
		require.NoError(t, f.Publications.PutSnapshot(t.Context(), want))
		f.requirePublished(t, want)
		f.requirePublished(t, want)
	}
	// Two of one beginning are two none the less.
	first, second := f.snapshot(8, 10), f.snapshot(9, 10)
	require.NoError(t, f.Publications.PutSnapshot(t.Context(), first))
	require.NoError(t, f.Publications.PutSnapshot(t.Context(), second))
	f.requirePublished(t, second)
}

func snapshotLarge(t *testing.T, f *fixture) {
	want := f.snapshot(severalChunks, 1200)
	require.NoError(t, f.Publications.PutSnapshot(t.Context(), want))
	f.requirePublished(t, want)
}

// snapshotReplacedWhileRead publishes snapshots of growing versions. Whatever
// a reader finds is one of them as a whole, never none and never one that is
// older than the one that it found before.
func snapshotReplacedWhileRead(t *testing.T, f *fixture) {
	const generations, readers = 4, 2
	base := f.snapshot(severalChunks, 1200)
	generation := func(n int) *delta.Snapshot {
		s := &delta.Snapshot{Began: f.after(n)}
		for _, e := range base.Entries[:len(base.Entries)-n] {
			e.Version = int64(n)
			s.Entries = append(s.Entries, e)
		}
		return s
	}
	require.NoError(t, f.Publications.PutSnapshot(t.Context(), generation(0)))
	var done atomic.Bool
	errs := atOnce(1+readers, func(i int) error {
		if i == 0 {
			defer done.Store(true)
			for n := 1; n < generations; n++ {
				if err := f.Publications.PutSnapshot(t.Context(), generation(n)); err != nil {
					return err
				}
			}
			return nil
		}
		last := 0
		for !done.Load() {
			got, err := f.Publications.Snapshot(t.Context())
			if err != nil {
				return err
			}
			n := int(got.Began.Sub(f.now) / time.Millisecond)
			assert.GreaterOrEqual(t, n, last, "an older snapshot again")
			last = n
			assert.Len(t, got.Entries, len(base.Entries)-n)
			for _, e := range got.Entries {
				if e.Version != int64(n) {
					assert.EqualValues(t, n, e.Version, "a part of another snapshot")
					break
				}
			}
		}
		return nil
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	f.requirePublished(t, generation(generations-1))
}

func snapshotUnusable(t *testing.T, f *fixture) {
	for name, harm := range map[string]func(ctx context.Context) error{
		"chunk missing": f.Inspect.DropChunk,
		"other format":  f.Inspect.Reformat,
	} {
		t.Run(name, func(t *testing.T) {
			if harm == nil {
				t.Skip("the driver has no Inspect function for it")
			}
			require.NoError(t, f.Publications.PutSnapshot(t.Context(), f.snapshot(severalChunks, 1200)))
			require.NoError(t, harm(t.Context()))
			for _, read := range []func(context.Context) (*delta.Snapshot, error){f.Publications.Snapshot, f.Source.Snapshot} {
				s, err := read(t.Context())
				require.ErrorIs(t, err, eureka.ErrNoSnapshot)
				require.Nil(t, s)
			}
			want := f.snapshot(3, 10)
			require.NoError(t, f.Publications.PutSnapshot(t.Context(), want))
			f.requirePublished(t, want)
		})
	}
}

func statisticsKeepFields(t *testing.T, f *fixture) {
	for _, want := range []delta.Statistics{
		{
			Pass: f.now, Settled: f.after(-1), Leases: 1_000_001, Expected: 1002, Seen: 1003, Threshold: 1004,
			SelfPreservation: true, Enabled: true, Evicted: 1005, HashCode: "DOWN_1_UP_14_",
		},
		{Pass: f.after(1), Enabled: true},
		{Pass: f.after(2), SelfPreservation: true},
		{Pass: f.after(3), HeldBack: 1006, Held: f.heldKeys()},
		{},
	} {
		require.NoError(t, f.Publications.PutStatistics(t.Context(), want))
		got, err := f.Publications.Statistics(t.Context())
		require.NoError(t, err)
		require.Equal(t, canonicalStatistics(want), canonicalStatistics(got))
	}
}

// claim returns the claim of a pass so many seconds from now on, which stays a
// minute away from others.
func (f *fixture) claim(seconds int, token string) delta.Claim {
	return delta.Claim{Pass: f.now.Add(time.Duration(seconds) * time.Second), Apart: time.Minute, Token: f.app + token}
}

// unclaimed moves the fixture's time away from every earlier claim.
func (f *fixture) unclaimed(t *testing.T) {
	t.Helper()
	for f.Publications.Claim(t.Context(), f.claim(0, "first")) != nil {
		f.now = f.now.Add(time.Hour)
	}
	f.now = f.now.Add(time.Hour)
}

func claimRefuses(t *testing.T, f *fixture) {
	f.unclaimed(t)
	require.NoError(t, f.Publications.Claim(t.Context(), f.claim(0, "a")))
	for _, c := range []struct {
		seconds int
		token   string
		refused bool
	}{
		{0, "a", false}, // a try whose answer was lost is made again
		{0, "b", true},
		{59, "b", true},
		{-59, "b", true},
		{60, "b", false},
		{119, "c", true},
		{1, "c", true},
		{0, "c", false}, // a clock was set back by a minute
		{59, "b", true},
		{3600, "d", false},
		{-3600, "e", false}, // a clock was set back by two hours
		{0, "f", false},
	} {
		err := f.Publications.Claim(t.Context(), f.claim(c.seconds, c.token))
		if c.refused {
			require.ErrorIs(t, err, eureka.ErrPassClaimed, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
	}
}

func claimsAtOnce(t *testing.T, f *fixture) {
	f.unclaimed(t)
	const passes = 8
	made := 0
	for _, err := range atOnce(passes, func(i int) error {
		return f.Publications.Claim(t.Context(), f.claim(i, strconv.Itoa(i)))
	}) {
		if err == nil {
			made++
			continue
		}
		require.ErrorIs(t, err, eureka.ErrPassClaimed)
	}
	require.Equal(t, 1, made)
}

func claimBesideStatistics(t *testing.T, f *fixture) {
	f.unclaimed(t)
	want := delta.Statistics{Pass: f.after(-7), Leases: 3, Enabled: true, HashCode: "UP_3_", HeldBack: 2, Held: f.heldKeys()}
	require.NoError(t, f.Publications.PutStatistics(t.Context(), want))
	require.NoError(t, f.Publications.Claim(t.Context(), f.claim(0, "a")))
	got, err := f.Publications.Statistics(t.Context())
	require.NoError(t, err)
	require.Equal(t, canonicalStatistics(want), canonicalStatistics(got))
	want.Leases, want.Held = 4, nil
	require.NoError(t, f.Publications.PutStatistics(t.Context(), want))
	require.ErrorIs(t, f.Publications.Claim(t.Context(), f.claim(1, "b")), eureka.ErrPassClaimed)
	if f.Inspect.Unpublish == nil {
		return
	}
	require.NoError(t, f.Inspect.Unpublish(t.Context()))
	require.NoError(t, f.Publications.Claim(t.Context(), f.claim(1, "b")))
	got, err = f.Publications.Statistics(t.Context())
	require.NoError(t, err)
	require.Equal(t, delta.Statistics{}, canonicalStatistics(got), "a claim alone is no statistics")
}

// heldKeys returns as many keys as statistics may name.
func (f *fixture) heldKeys() []eureka.Key {
	keys := make([]eureka.Key, delta.HeldLimit)
	for i := range keys {
		keys[i] = f.key(fmt.Sprintf("held-%04d", i))
	}
	return keys
}

func (f *fixture) requireRecent(t *testing.T, want delta.Recent) {
	t.Helper()
	require.NoError(t, f.Publications.PutRecent(t.Context(), want))
	got, err := f.Publications.Recent(t.Context())
	require.NoError(t, err)
	require.Equal(t, canonicalEvents(want.Registered), canonicalEvents(got.Registered))
	require.Equal(t, canonicalEvents(want.Cancelled), canonicalEvents(got.Cancelled))
	require.Equal(t, canonicalEvents(want.Changed), canonicalEvents(got.Changed))
}

// events returns so many, newest first, the last two at the same time.
func (f *fixture) events(n int, id func(i int) string) []delta.Event {
	var events []delta.Event
	for i := range n {
		events = append(events, delta.Event{Time: f.after(-min(i, n-2)), Key: f.key(id(i)), What: "overridden, OUT_OF_SERVICE"})
	}
	return events
}

func recentKeepsOrder(t *testing.T, f *fixture) {
	ids := oddIDs()
	odd := f.events(len(ids), func(i int) string { return ids[i] })
	f.requireRecent(t, delta.Recent{Registered: odd, Cancelled: odd[:3]})
	f.requireRecent(t, delta.Recent{Cancelled: odd[3:]})
	f.requireRecent(t, delta.Recent{Registered: odd[3:]})
	// One instance may appear more than once.
	again := f.events(5, func(int) string { return "again" })
	f.requireRecent(t, delta.Recent{Registered: again, Cancelled: again, Changed: again})
	f.requireRecent(t, delta.Recent{})
}

// recentLarge is as much as there can be: full lists of the longest ids.
func recentLarge(t *testing.T, f *fixture) {
	for _, length := range []int{60, 1024} {
		id := func(i int) string { return noise(length-8) + "-" + strings.Repeat("0", 3) + strconv.Itoa(1000+i%9000) }
		f.requireRecent(t, delta.Recent{
			Registered: f.events(delta.RecentLimit, id),
			Cancelled:  f.events(delta.RecentLimit, id),
			Changed:    f.events(delta.RecentLimit, id),
		})
	}
}
