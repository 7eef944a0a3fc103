package storagetest

import (
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// Two values that mean the same may differ in Go: a time by its location and
// by what lies below the millisecond that is kept, an empty map by being nil.
// The functions of this file return the one form that require.Equal compares.

func canonicalTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

func canonicalMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

func canonicalInstance(in *eureka.InstanceInfo) *eureka.InstanceInfo {
	if in == nil {
		return nil
	}
	out := *in
	out.Metadata = canonicalMap(in.Metadata)
	out.DataCenter.Metadata = canonicalMap(in.DataCenter.Metadata)
	out.LastUpdated, out.LastDirty = canonicalTime(in.LastUpdated), canonicalTime(in.LastDirty)
	l := &out.Lease
	l.Registered, l.LastRenewed = canonicalTime(l.Registered), canonicalTime(l.LastRenewed)
	l.Evicted, l.ServiceUp = canonicalTime(l.Evicted), canonicalTime(l.ServiceUp)
	return &out
}

// canonicalLease also leaves out what a tombstone does not promise to keep.
func canonicalLease(l eureka.Lease) eureka.Lease {
	if l.Tombstone() {
		return eureka.Lease{Key: l.Key, Version: l.Version, Overridden: l.Overridden, Gone: canonicalTime(l.Gone)}
	}
	l.Instance = canonicalInstance(l.Instance)
	l.Dirty, l.Updated = canonicalTime(l.Dirty), canonicalTime(l.Updated)
	l.Registered, l.Renewed = canonicalTime(l.Registered), canonicalTime(l.Renewed)
	l.ServiceUp, l.Gone = canonicalTime(l.ServiceUp), canonicalTime(l.Gone)
	return l
}

func canonicalRow(r delta.Row) delta.Row {
	r.Instance = canonicalInstance(r.Instance)
	r.Written = canonicalTime(r.Written)
	return r
}

func canonicalEntry(e delta.Entry) delta.Entry {
	e.Instance = canonicalInstance(e.Instance)
	return e
}

func canonicalStatistics(s delta.Statistics) delta.Statistics {
	s.Pass, s.Settled = canonicalTime(s.Pass), canonicalTime(s.Settled)
	if len(s.Held) == 0 {
		s.Held = nil
	}
	return s
}

// canonicalEvents makes an empty list nil.
func canonicalEvents(events []delta.Event) []delta.Event {
	var out []delta.Event
	for _, e := range events {
		e.Time = canonicalTime(e.Time)
		out = append(out, e)
	}
	return out
}
