package storagetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// DiffLeases says in which fields the items that were found differ from those
// that should be there; nothing when they are equal. Times are compared to the
// millisecond, and of a tombstone what the contracts promise: key, version,
// override and when it went.
func DiffLeases(want, got []eureka.Lease) []string {
	canonical := func(leases []eureka.Lease) map[eureka.Key]eureka.Lease {
		byKey := make(map[eureka.Key]eureka.Lease, len(leases))
		for _, l := range leases {
			byKey[l.Key] = canonicalLease(l)
		}
		return byKey
	}
	return append(repeated(got, func(l eureka.Lease) eureka.Key { return l.Key }), diffMaps(canonical(want), canonical(got))...)
}

// DiffReaders says in which fields the instances that a reader holds differ
// from what a scan of the lease table gives; nothing when they are equal. The
// last renewal is not compared: renewals tell readers nothing, so theirs may
// be an older one.
func DiffReaders(held []*eureka.InstanceInfo, scan []eureka.Lease) []string {
	want, got := map[eureka.Key]eureka.InstanceInfo{}, map[eureka.Key]eureka.InstanceInfo{}
	for _, i := range Live(scan) {
		want[i.Key()] = withoutRenewal(i)
	}
	for _, i := range held {
		got[i.Key()] = withoutRenewal(i)
	}
	return append(repeated(held, (*eureka.InstanceInfo).Key), diffMaps(want, got)...)
}

// Live returns the effective instances of a scan, without tombstones: what
// readers see.
func Live(scan []eureka.Lease) []*eureka.InstanceInfo {
	var live []*eureka.InstanceInfo
	for _, l := range scan {
		if !l.Tombstone() {
			live = append(live, l.Effective())
		}
	}
	return live
}

// HashCode returns the apps hash code that a scan gives.
func HashCode(scan []eureka.Lease) string {
	counts := eureka.StatusCounts{}
	counts.Count(Live(scan)...)
	return counts.HashCode()
}

func withoutRenewal(i *eureka.InstanceInfo) eureka.InstanceInfo {
	out := *canonicalInstance(i)
	out.Lease.LastRenewed = time.Time{}
	return out
}

// repeated names what appears more than once.
func repeated[V any](list []V, key func(V) eureka.Key) []string {
	var diffs []string
	counts := map[eureka.Key]int{}
	for _, v := range list {
		k := key(v)
		counts[k]++
		if counts[k] == 2 {
			diffs = append(diffs, fmt.Sprintf("%s: more than once", k))
		}
	}
	return diffs
}

// diffMaps compares by key, in the keys' order.
func diffMaps[V any](want, got map[eureka.Key]V) []string {
	all := map[eureka.Key]bool{}
	for k := range want {
		all[k] = true
	}
	for k := range got {
		all[k] = true
	}
	byName := func(a, b eureka.Key) int { return strings.Compare(a.String(), b.String()) }
	var diffs []string
	for _, k := range slices.SortedFunc(maps.Keys(all), byName) {
		w, wanted := want[k]
		g, found := got[k]
		switch {
		case !found:
			diffs = append(diffs, fmt.Sprintf("%s: missing", k))
		case !wanted:
			diffs = append(diffs, fmt.Sprintf("%s: should not be there", k))
		default:
			diffs = append(diffs, diffValues(k.String(), reflect.ValueOf(w), reflect.ValueOf(g))...)
		}
	}
	return diffs
}

// diffValues compares values field for field, through structs and pointers.
func diffValues(path string, want, got reflect.Value) []string {
	if reflect.DeepEqual(want.Interface(), got.Interface()) {
		return nil
	}
	if want.Kind() == reflect.Pointer && !want.IsNil() && !got.IsNil() {
		return diffValues(path, want.Elem(), got.Elem())
	}
	if _, isTime := want.Interface().(time.Time); isTime || want.Kind() != reflect.Struct {
		return []string{fmt.Sprintf("%s: want %v, got %v", path, want, got)}
	}
	var diffs []string
	for _, field := range reflect.VisibleFields(want.Type()) {
		diffs = append(diffs, diffValues(path+" "+field.Name, want.FieldByIndex(field.Index), got.FieldByIndex(field.Index))...)
	}
	return diffs
}
