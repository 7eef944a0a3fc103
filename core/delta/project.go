package delta

import (
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Image is one change of the lease table: an item before and after one write.
type Image struct {
	// Old and New are the item before and after the write, a lease or a
	// tombstone; nil where there was none. Both are only read.
	Old, New *eureka.Lease
	// Removed says that the item was taken out of the table, by its TTL or by
	// hand; New is nil then.
	Removed bool
	// Marked says that the new image carries the change marker: the write is
	// one that readers must see. Renewals take the marker away.
	Marked bool
	// Sequence is the stream record's sequence number.
	Sequence string
}

// Project returns the row that readers need for a change, and false for a
// change that tells them nothing: a renewal, and the removal of a tombstone
// that has served its time. The row's Written is left for its writer to set.
//
//   - A live lease is its effective instance, with its own action and version.
//   - A tombstone is the instance as it last was, DELETED, at the tombstone's
//     version. A tombstone over a tombstone deletes nothing; nor does one whose
//     old image is missing, since there is nothing to show: healing finds it.
//   - The removal of a live lease is DELETED at the version after the last.
func Project(c Image) (Row, bool) {
	switch {
	case c.Removed || c.New == nil:
		if !live(c.Old) {
			return Row{}, false
		}
		return c.row(c.Old.Key, c.Old.Version+1, DeletedInstance(c.Old.Effective(), c.Old.End())), true
	case !c.Marked:
		return Row{}, false
	case live(c.New):
		return c.row(c.New.Key, c.New.Version, c.New.Effective()), true
	case live(c.Old):
		return c.row(c.New.Key, c.New.Version, DeletedInstance(c.Old.Effective(), c.New.Gone)), true
	}
	return Row{}, false
}

// row returns the row of this change.
func (c *Image) row(key eureka.Key, version int64, instance *eureka.InstanceInfo) Row {
	return Row{Key: key, Version: version, Instance: instance, Sequence: c.Sequence}
}

// live reports whether there is a lease that is not a tombstone.
func live(l *eureka.Lease) bool { return l != nil && !l.Tombstone() }

// DeletedInstance returns an instance as the deltas show one that is gone: as
// it last was, with action DELETED, and with the time at which it went as both
// its eviction and its last update, as the stock server answers. The argument
// is not changed; maps are shared.
func DeletedInstance(instance *eureka.InstanceInfo, gone time.Time) *eureka.InstanceInfo {
	out := *instance
	out.Action = eureka.Deleted
	out.LastUpdated = gone
	out.Lease.Evicted = gone
	return &out
}

// Latest returns of each instance the row with the greatest version, in no
// order of its own. Of equal versions, which are repetitions of one change, it
// is the row that was written last.
func Latest(rows []Row) map[eureka.Key]Row {
	latest := make(map[eureka.Key]Row, len(rows))
	for _, row := range rows {
		if held, ok := latest[row.Key]; !ok || row.newer(&held) {
			latest[row.Key] = row
		}
	}
	return latest
}

// newer reports whether the row replaces one of the same key in [Latest].
func (r *Row) newer(held *Row) bool {
	if r.Version != held.Version {
		return r.Version > held.Version
	}
	if !r.Written.Equal(held.Written) {
		return r.Written.After(held.Written)
	}
	return r.Sequence > held.Sequence
}
