package delta_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

var (
	key   = eureka.NewKey("shop", "shop-1")
	start = time.UnixMilli(1_700_000_000_000)
)

// alive returns a lease of a version.
func alive(version int64, change func(*eureka.Lease)) *eureka.Lease {
	l := &eureka.Lease{
		Key: key,
		Instance: &eureka.InstanceInfo{
			InstanceID: "shop-1", HostName: "shop-1.example.org", App: "SHOP", IPAddr: "192.0.2.10",
			Status: eureka.Up, Metadata: map[string]string{"zone": "a"},
		},
		Version: version, Status: eureka.Up, Action: eureka.Added,
		Dirty: start.Add(-time.Second), Updated: start, Registered: start, Renewed: start.Add(time.Minute), ServiceUp: start,
		Interval: 30 * time.Second, Duration: 90 * time.Second,
	}
	if change != nil {
		change(l)
	}
	return l
}

// tombstone returns a tombstone of a version.
func tombstone(version int64) *eureka.Lease {
	return &eureka.Lease{Key: key, Version: version, Overridden: eureka.OutOfService, Gone: start.Add(2 * time.Minute)}
}

func TestProject(t *testing.T) {
	overridden := alive(8, func(l *eureka.Lease) {
		l.Status, l.Overridden, l.Action = eureka.OutOfService, eureka.OutOfService, eureka.Modified
	})
	for _, test := range []struct {
		name    string
		image   delta.Image
		version int64
		// instance is what the row carries; nil: no row.
		instance *eureka.InstanceInfo
	}{
		{"a first registration", delta.Image{New: alive(7, nil), Marked: true}, 7, alive(7, nil).Effective()},
		{"a registration over a lease", delta.Image{Old: alive(6, nil), New: alive(7, nil), Marked: true}, 7, alive(7, nil).Effective()},
		{"a registration over a tombstone", delta.Image{Old: tombstone(6), New: alive(7, nil), Marked: true}, 7, alive(7, nil).Effective()},
		{"an override", delta.Image{Old: alive(7, nil), New: overridden, Marked: true}, 8, overridden.Effective()},
		{"a renewal", delta.Image{Old: alive(7, nil), New: alive(7, nil)}, 0, nil},
		{"a cancel", delta.Image{Old: alive(7, nil), New: tombstone(8), Marked: true}, 8, gone(alive(7, nil), start.Add(2*time.Minute))},
		{"an eviction under an override", delta.Image{Old: overridden, New: tombstone(9), Marked: true}, 9, gone(overridden, start.Add(2*time.Minute))},
		{"a tombstone over a tombstone", delta.Image{Old: tombstone(7), New: tombstone(8), Marked: true}, 0, nil},
		{"a tombstone out of nothing", delta.Image{New: tombstone(8), Marked: true}, 0, nil},
		{"an unmarked tombstone", delta.Image{Old: alive(7, nil), New: tombstone(8)}, 0, nil},
		{"a lease's removal", delta.Image{Old: alive(7, nil), Removed: true}, 8, gone(alive(7, nil), start.Add(time.Minute+90*time.Second))},
		{"a removal that only the missing image shows", delta.Image{Old: alive(7, nil)}, 8, gone(alive(7, nil), start.Add(time.Minute+90*time.Second))},
		{"a tombstone's removal", delta.Image{Old: tombstone(8), Removed: true}, 0, nil},
		{"a removal without images", delta.Image{Removed: true}, 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.image.Sequence = "000123"
			row, ok := delta.Project(test.image)
			if test.instance == nil {
				assert.False(t, ok)
				assert.Zero(t, row)
				return
			}
			require.True(t, ok)
			assert.Equal(t, delta.Row{Key: key, Version: test.version, Instance: test.instance, Sequence: "000123"}, row)
			assert.Equal(t, test.instance.Action == eureka.Deleted, row.Deleted())
		})
	}
}

// gone returns the lease's instance as a delta shows it after it has gone.
func gone(l *eureka.Lease, when time.Time) *eureka.InstanceInfo {
	i := l.Effective()
	i.Action, i.LastUpdated, i.Lease.Evicted = eureka.Deleted, when, when
	return i
}

// TestProjectChangesNothing holds that images are only read, since a store may
// share them.
func TestProjectChangesNothing(t *testing.T) {
	old, new := alive(7, nil), tombstone(8)
	_, ok := delta.Project(delta.Image{Old: old, New: new, Marked: true})
	require.True(t, ok)
	assert.Equal(t, alive(7, nil), old)
	assert.Equal(t, tombstone(8), new)
}

func TestLatest(t *testing.T) {
	other := eureka.NewKey("shop", "shop-2")
	first := delta.Row{Key: key, Version: 7, Instance: alive(7, nil).Effective(), Sequence: "5", Written: start}
	second := delta.Row{Key: key, Version: 8, Instance: alive(8, nil).Effective(), Sequence: "4", Written: start.Add(-time.Second)}
	again := second
	again.Written = start.Add(time.Second)
	elsewhere := delta.Row{Key: other, Version: 1, Instance: alive(1, nil).Effective(), Sequence: "6", Written: start}

	sequel := again
	sequel.Sequence = "5"

	rows := []delta.Row{first, second, again, sequel, elsewhere}
	rapid.Check(t, func(t *rapid.T) {
		latest := delta.Latest(rapid.Permutation(rows).Draw(t, "rows"))
		assert.Equal(t, map[eureka.Key]delta.Row{key: sequel, other: elsewhere}, latest)
	})
	assert.Empty(t, delta.Latest(nil))
}

func TestUnwrittenErrorHasItsCause(t *testing.T) {
	var err error = &delta.UnwrittenError{Indexes: []int{2}, Err: eureka.ErrThrottled}
	assert.ErrorIs(t, err, eureka.ErrThrottled)
	assert.EqualError(t, err, "rows not written: throttled")
}
