package storagetest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/storagetest"
)

var (
	now = time.UnixMilli(1_700_000_000_000)
	key = eureka.NewKey("shop", "shop-1")
)

// valid returns a lease without fault, changed by the given function.
func valid(change func(l *eureka.Lease)) eureka.Lease {
	l := eureka.Lease{
		Key: key, Version: 7,
		Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App, HostName: "one", Metadata: map[string]string{"zone": "a"}},
		Status:   eureka.Up, Action: eureka.Added,
		Renewed: now, Interval: 30 * time.Second, Duration: 90 * time.Second,
	}
	if change != nil {
		change(&l)
	}
	return l
}

func tombstone(version int64) eureka.Lease {
	return eureka.Lease{Key: key, Version: version, Gone: now}
}

func TestCheckerFindsFaultyStates(t *testing.T) {
	for name, c := range map[string]struct {
		item eureka.Lease
		want []string
	}{
		"lease":                   {item: valid(nil)},
		"tombstone":               {item: tombstone(7)},
		"no version":              {item: valid(func(l *eureka.Lease) { l.Version = 0 }), want: []string{"no version"}},
		"override UNKNOWN":        {item: valid(func(l *eureka.Lease) { l.Overridden = eureka.Unknown }), want: []string{"an override of UNKNOWN"}},
		"another's":               {item: valid(func(l *eureka.Lease) { l.Instance.App = "OTHER" }), want: []string{"another's instance"}},
		"gone":                    {item: valid(func(l *eureka.Lease) { l.Gone = now }), want: []string{"a lease that is gone"}},
		"no status":               {item: valid(func(l *eureka.Lease) { l.Status = "" }), want: []string{"no status"}},
		"DELETED":                 {item: valid(func(l *eureka.Lease) { l.Action = eureka.Deleted }), want: []string{"no action"}},
		"no duration, no renewal": {item: valid(func(l *eureka.Lease) { l.Duration, l.Renewed = 0, time.Time{} }), want: []string{"no duration", "never renewed"}},
		"tombstone since never":   {item: eureka.Lease{Key: key, Version: 7}, want: []string{"a tombstone that is not gone"}},
	} {
		var want []string
		for _, fault := range c.want {
			want = append(want, fmt.Sprintf("SHOP/shop-1, version %d: %s", c.item.Version, fault))
		}
		var checker storagetest.Checker
		assert.Equal(t, want, checker.Observe(c.item), name)
	}
}

func TestCheckerFindsFaultyOrders(t *testing.T) {
	for name, c := range map[string]struct {
		first, second eureka.Lease
		want          []string
	}{
		"renewed":           {first: valid(nil), second: valid(func(l *eureka.Lease) { l.Renewed = now.Add(time.Second) })},
		"a later version":   {first: valid(nil), second: valid(func(l *eureka.Lease) { l.Version, l.Status = 9, eureka.Down })},
		"cancelled":         {first: valid(nil), second: tombstone(8)},
		"an earlier one":    {first: valid(nil), second: tombstone(6), want: []string{"SHOP/shop-1, version 6: comes after version 7"}},
		"changed silently":  {first: valid(nil), second: valid(func(l *eureka.Lease) { l.Status = eureka.Down }), want: []string{"SHOP/shop-1, version 7: the same version with another Status: want UP, got DOWN"}},
		"instance replaced": {first: valid(nil), second: valid(func(l *eureka.Lease) { l.Instance.HostName = "two" }), want: []string{"SHOP/shop-1, version 7: the same version with another Instance HostName: want one, got two"}},
	} {
		var checker storagetest.Checker
		assert.Empty(t, checker.Observe(c.first), name)
		assert.Equal(t, c.want, checker.Observe(c.second), name)
	}
}

// TestCheckerRemembersTheGreatest: an item that is not in a scan is not
// forgotten, and a fault is not taken for the new state.
func TestCheckerRemembersTheGreatest(t *testing.T) {
	var checker storagetest.Checker
	assert.Empty(t, checker.Observe(valid(nil)))
	assert.Empty(t, checker.Observe())
	assert.NotEmpty(t, checker.Observe(tombstone(5)))
	assert.NotEmpty(t, checker.Observe(tombstone(6)))
	assert.Empty(t, checker.Observe(tombstone(8)))
}

func TestDiffLeases(t *testing.T) {
	other := valid(func(l *eureka.Lease) { l.Key = eureka.NewKey("shop", "shop-2") })
	for name, c := range map[string]struct {
		want, got []eureka.Lease
		diffs     []string
	}{
		"equal": {want: []eureka.Lease{valid(nil), other}, got: []eureka.Lease{other, valid(nil)}},
		"equal to the millisecond": {want: []eureka.Lease{valid(nil)}, got: []eureka.Lease{valid(func(l *eureka.Lease) {
			l.Renewed = l.Renewed.Add(time.Microsecond).In(time.FixedZone("elsewhere", 3600))
		})}},
		"equal tombstones": {want: []eureka.Lease{tombstone(7)}, got: []eureka.Lease{{Key: key, Version: 7, Gone: now, Status: eureka.Up}}},
		"nothing":          {},
		"missing":          {want: []eureka.Lease{valid(nil), other}, got: []eureka.Lease{other}, diffs: []string{"SHOP/shop-1: missing"}},
		"too many":         {got: []eureka.Lease{other}, diffs: []string{"SHOP/shop-2: should not be there"}},
		"twice":            {want: []eureka.Lease{other}, got: []eureka.Lease{other, other, other}, diffs: []string{"SHOP/shop-2: more than once"}},
		"other fields": {
			want: []eureka.Lease{valid(nil)},
			got: []eureka.Lease{valid(func(l *eureka.Lease) {
				l.Version, l.Renewed, l.Instance.Metadata = 8, now.Add(time.Second), nil
			})},
			diffs: []string{
				"SHOP/shop-1 Instance Metadata: want map[zone:a], got map[]",
				"SHOP/shop-1 Version: want 7, got 8",
				"SHOP/shop-1 Renewed: want 2023-11-14 22:13:20 +0000 UTC, got 2023-11-14 22:13:21 +0000 UTC",
			},
		},
	} {
		assert.Equal(t, c.diffs, storagetest.DiffLeases(c.want, c.got), name)
	}
}

func TestDiffLeasesTellsALeaseFromATombstone(t *testing.T) {
	bare := valid(func(l *eureka.Lease) { l.Instance = &eureka.InstanceInfo{} })
	assert.NotEmpty(t, storagetest.DiffLeases([]eureka.Lease{tombstone(7)}, []eureka.Lease{bare}))
	assert.NotEmpty(t, storagetest.DiffLeases([]eureka.Lease{bare}, []eureka.Lease{tombstone(7)}))
}

func TestDiffReaders(t *testing.T) {
	scan := []eureka.Lease{valid(nil), {Key: eureka.NewKey("shop", "gone"), Version: 3, Gone: now}}
	held := func(change func(i *eureka.InstanceInfo)) []*eureka.InstanceInfo {
		i := scan[0].Effective().Clone()
		change(i)
		return []*eureka.InstanceInfo{i}
	}
	for name, c := range map[string]struct {
		held  []*eureka.InstanceInfo
		diffs []string
	}{
		"equal":            {held: held(func(*eureka.InstanceInfo) {})},
		"an older renewal": {held: held(func(i *eureka.InstanceInfo) { i.Lease.LastRenewed = now.Add(-time.Hour) })},
		"another status": {
			held:  held(func(i *eureka.InstanceInfo) { i.Status = eureka.Down }),
			diffs: []string{"SHOP/shop-1 Status: want UP, got DOWN"},
		},
		"another lease duration": {
			held:  held(func(i *eureka.InstanceInfo) { i.Lease.Duration = time.Second }),
			diffs: []string{"SHOP/shop-1 Lease Duration: want 1m30s, got 1s"},
		},
		"none": {diffs: []string{"SHOP/shop-1: missing"}},
		"one that is gone": {
			held:  append(held(func(*eureka.InstanceInfo) {}), &eureka.InstanceInfo{InstanceID: "gone", App: "SHOP"}),
			diffs: []string{"SHOP/gone: should not be there"},
		},
	} {
		assert.Equal(t, c.diffs, storagetest.DiffReaders(c.held, scan), name)
	}
	assert.Equal(t, "UP_1_", storagetest.HashCode(scan))
}
