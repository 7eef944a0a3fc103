package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/memory"
	"github.com/eurekaless/registry/storage/storagetest"
)

var (
	now = time.UnixMilli(1_700_000_000_000).UTC()
	key = eureka.NewKey("shop", "shop-1")
)

// after returns the time so many seconds from now on.
func after(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }

func newLease(key eureka.Key) eureka.Lease {
	return eureka.Lease{
		Key:      key,
		Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App, Status: eureka.Up},
		Status:   eureka.Up, Action: eureka.Added,
		Updated: now, Registered: now, Renewed: now,
		Interval: 30 * time.Second, Duration: 90 * time.Second,
	}
}

func register(t *testing.T, s *memory.Store, l eureka.Lease) {
	t.Helper()
	require.NoError(t, s.Register(t.Context(), registry.Registration{Lease: l}))
}

// TestEachWriteHasItsRecord goes through all writes and looks at the records
// that they leave.
func TestEachWriteHasItsRecord(t *testing.T) {
	s := memory.New(memory.Config{})
	read := func() (*eureka.Lease, error) { return s.Get(context.Background(), key) }
	var version int64
	for _, step := range []struct {
		name   string
		write  func(ctx context.Context) error
		marked bool
		passes bool
	}{
		{name: "register", marked: true, passes: true, write: func(ctx context.Context) error {
			return s.Register(ctx, registry.Registration{Lease: newLease(key)})
		}},
		{name: "renew", write: func(ctx context.Context) error {
			return errorOf(s.Renew(ctx, registry.Renewal{Key: key, Now: after(1)}))
		}},
		{name: "renew again", write: func(ctx context.Context) error {
			return errorOf(s.Renew(ctx, registry.Renewal{Key: key, Now: after(2)}))
		}},
		{name: "update", marked: true, passes: true, write: func(ctx context.Context) error {
			return s.Update(ctx, registry.Update{
				Key: key, IfVersion: version, Status: eureka.Down, Overridden: eureka.Down, Action: eureka.Modified, Updated: after(3),
			})
		}},
		{name: "evict", marked: true, passes: true, write: func(ctx context.Context) error { return s.Evict(ctx, key, after(2), after(4)) }},
		{name: "register again", marked: true, passes: true, write: func(ctx context.Context) error {
			return s.Register(ctx, registry.Registration{Lease: newLease(key), Stored: eureka.Down})
		}},
		{name: "cancel", marked: true, passes: true, write: func(ctx context.Context) error { return s.Cancel(ctx, key, after(5)) }},
	} {
		before, _ := read()
		position := len(s.Records(0))
		require.NoError(t, step.write(t.Context()), step.name)
		current, err := read()
		require.NoError(t, err)
		version = current.Version
		records := s.Records(position)
		require.Len(t, records, 1, step.name)
		assert.Equal(t, before, records[0].Old, step.name)
		assert.Equal(t, current, records[0].New, step.name)
		assert.Equal(t, step.marked, records[0].Marked, step.name)
		assert.Equal(t, step.passes, records[0].Passes(), step.name)
		assert.False(t, records[0].Removed || records[0].ByTTL, step.name)
	}
	var sequences []string
	for _, r := range s.Records(0) {
		sequences = append(sequences, r.Sequence)
	}
	assert.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7"}, sequences)
	assert.Empty(t, s.Records(7))
}

func TestWhatChangesNothingHasNoRecord(t *testing.T) {
	s := memory.New(memory.Config{})
	register(t, s, newLease(key))
	renewal := registry.Renewal{Key: key, Now: after(1)}
	require.NoError(t, errorOf(s.Renew(t.Context(), renewal)))
	position := len(s.Records(0))
	require.NoError(t, errorOf(s.Renew(t.Context(), renewal)), "the same renewal once more")
	require.Error(t, s.Evict(t.Context(), key, now, after(2)), "a failed condition")
	require.Error(t, s.Cancel(t.Context(), eureka.NewKey("shop", "none"), after(2)))
	assert.Empty(t, s.Records(position))
}

// TestExpireTTL removes each kind of item when its time is over and not
// before.
func TestExpireTTL(t *testing.T) {
	other, third := eureka.NewKey("shop", "shop-2"), eureka.NewKey("shop", "shop-3")
	s := memory.New(memory.Config{TTLGrace: time.Hour, OverrideKept: 2 * time.Hour, RowsKept: 10 * time.Minute})
	register(t, s, newLease(key))
	register(t, s, newLease(other))
	overridden := newLease(third)
	overridden.Overridden = eureka.Down
	register(t, s, overridden)
	require.NoError(t, s.Cancel(t.Context(), other, now))
	require.NoError(t, s.Evict(t.Context(), third, now, now))
	require.NoError(t, s.Put(t.Context(), []delta.Row{{Key: key, Instance: newLease(key).Instance, Written: now}}))
	left := func() (keys []eureka.Key) {
		leases, err := s.Scan(t.Context())
		require.NoError(t, err)
		for _, l := range leases {
			keys = append(keys, l.Key)
		}
		return keys
	}
	rows := func() int {
		found, err := s.Deltas(t.Context(), after(-1), now)
		require.NoError(t, err)
		return len(found)
	}
	position := len(s.Records(0))

	s.ExpireTTL(after(600))
	assert.Equal(t, 1, rows())
	s.ExpireTTL(after(601))
	assert.Equal(t, 0, rows())
	s.ExpireTTL(after(3600))
	assert.Equal(t, []eureka.Key{key, other, third}, left())
	require.Empty(t, s.Records(position))

	s.ExpireTTL(after(3601))
	assert.Equal(t, []eureka.Key{key, third}, left())
	s.ExpireTTL(after(3690))
	assert.Equal(t, []eureka.Key{key, third}, left())
	s.ExpireTTL(after(3691))
	assert.Equal(t, []eureka.Key{third}, left())
	s.ExpireTTL(after(7200))
	assert.Equal(t, []eureka.Key{third}, left())
	s.ExpireTTL(after(7201))
	assert.Empty(t, left())

	records := s.Records(position)
	require.Len(t, records, 3)
	for i, want := range []struct {
		key    eureka.Key
		passes bool
	}{{other, false}, {key, true}, {third, false}} {
		r := records[i]
		assert.Equal(t, want.key, r.Old.Key)
		assert.Equal(t, want.passes, r.Passes(), "only a live lease's removal passes the filter")
		assert.Nil(t, r.New)
		assert.True(t, r.Removed && r.ByTTL)
		assert.False(t, r.Marked)
	}
}

// TestRecordsTellReaders: rows made of the records that pass the filter leave
// a reader with what a scan gives.
func TestRecordsTellReaders(t *testing.T) {
	s := memory.New(memory.Config{})
	gone := eureka.NewKey("shop", "gone")
	register(t, s, newLease(key))
	register(t, s, newLease(gone))
	require.NoError(t, s.Cancel(t.Context(), gone, after(1)))
	require.NoError(t, errorOf(s.Renew(t.Context(), registry.Renewal{Key: key, Now: after(2)})))
	l, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	require.NoError(t, s.Update(t.Context(), registry.Update{
		Key: key, IfVersion: l.Version, Status: eureka.OutOfService, Overridden: eureka.OutOfService, Action: eureka.Modified, Updated: after(3),
	}))

	var rows []delta.Row
	for _, r := range s.Records(0) {
		if row, ok := delta.Project(r.Image); ok && r.Passes() {
			rows = append(rows, row)
		}
	}
	var held []*eureka.InstanceInfo
	for _, row := range delta.Latest(rows) {
		if !row.Deleted() {
			held = append(held, row.Instance)
		}
	}
	scan, err := s.Scan(t.Context())
	require.NoError(t, err)
	assert.Empty(t, storagetest.DiffReaders(held, scan))
}

// TestWritesThatBreakARuleFail: they are refused, and nothing is stored or
// told.
func TestWritesThatBreakARuleFail(t *testing.T) {
	s := memory.New(memory.Config{})
	register(t, s, newLease(key))
	before, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	records := len(s.Records(0))
	for name, write := range map[string]func() error{
		"a registration without an instance": func() error {
			return s.Register(t.Context(), registry.Registration{Lease: eureka.Lease{Key: key}})
		},
		"a registration of another's instance": func() error {
			another := newLease(eureka.NewKey("shop", "another"))
			another.Key = key
			return s.Register(t.Context(), registry.Registration{Lease: another})
		},
		"an update to another's instance": func() error {
			return s.Update(t.Context(), registry.Update{
				Key: key, IfVersion: before.Version, Instance: &eureka.InstanceInfo{InstanceID: "another", App: key.App}, Status: eureka.Up,
			})
		},
		"a cancel at no time": func() error { return s.Cancel(t.Context(), key, time.Time{}) },
	} {
		assert.ErrorContains(t, write(), "breaks a rule", name)
		got, err := s.Get(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, before, got, name)
		assert.Len(t, s.Records(0), records, name)
	}
}

// TestASubscriberGetsWhatPassesTheFilters: in order, before the write returns,
// and instead of the records.
func TestASubscriberGetsWhatPassesTheFilters(t *testing.T) {
	s := memory.New(memory.Config{})
	var told []memory.Record
	s.Subscribe(func(r memory.Record) {
		told = append(told, r)
		require.NoError(t, s.Put(t.Context(), []delta.Row{{Key: key, Instance: newLease(key).Instance, Sequence: r.Sequence, Written: now}}))
	})
	register(t, s, newLease(key))
	require.Len(t, told, 1)
	for n := range 100 {
		_, err := s.Renew(t.Context(), registry.Renewal{Key: key, Now: after(n)})
		require.NoError(t, err)
	}
	require.Len(t, told, 1)
	require.NoError(t, s.Cancel(t.Context(), key, after(5)))
	register(t, s, newLease(eureka.NewKey("shop", "silent")))
	rows, err := s.Deltas(t.Context(), after(-1), now)
	require.NoError(t, err)
	assert.Len(t, rows, len(told))
	s.ExpireTTL(after(48 * 3600))

	var got []string
	for _, r := range told {
		require.True(t, r.Passes())
		state := "lease"
		switch {
		case r.Removed:
			state = "removed"
		case r.New.Tombstone():
			state = "tombstone"
		}
		got = append(got, r.Sequence+" "+state)
	}
	assert.Equal(t, []string{"1 lease", "102 tombstone", "103 lease", "105 removed"}, got)
	assert.Empty(t, s.Records(0))
}

// TestLaterChangesByTheCallerAreNotStored: what was given is copied.
func TestLaterChangesByTheCallerAreNotStored(t *testing.T) {
	s := memory.New(memory.Config{})
	l := newLease(key)
	l.Instance.Metadata = map[string]string{"zone": "a"}
	register(t, s, l)
	l.Instance.Metadata["zone"] = "b"
	l.Instance.HostName = "other"
	got, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"zone": "a"}, got.Instance.Metadata)
	assert.Empty(t, got.Instance.HostName)
}

// errorOf returns the error of a call that returns a value too.
func errorOf[T any](_ T, err error) error { return err }
