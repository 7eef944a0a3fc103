package storagetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/lease"
	"github.com/eurekaless/registry/core/registry"
)

func renewTests() []test {
	return []test{
		{"Renew sets Renewed and nothing else", renewChangesNothingElse},
		{"Renew looks at Dirty", renewDirty},
		{"Renew is refused to an UNKNOWN status", renewUnknown},
		{"Renew is refused to a tombstone", renewTombstone},
	}
}

func renewChangesNothingElse(t *testing.T, f *fixture) {
	key := f.key("id")
	want := f.register(t, key, overridden(eureka.OutOfService), func(l *lease.Lease) {
		l.Instance, l.Action, l.Registered = richInstance(key, f.now), eureka.Modified, f.after(-1)
	})
	for i, r := range []registry.Renewal{
		{Dirty: f.now},
		{},
		{Dirty: f.now, Exact: true},
		{Exact: true},
	} {
		r.Key, r.Now = key, f.after(10+i)
		require.NoError(t, f.Registry.Renew(t.Context(), r))
		want.Renewed = r.Now
		f.requireStored(t, want)
	}
}

func renewDirty(t *testing.T, f *fixture) {
	for name, c := range map[string]struct {
		stored, given time.Time
		ok, exactOK   bool
	}{
		"equal":              {stored: f.now, given: f.now, ok: true, exactOK: true},
		"the client's newer": {stored: f.now, given: f.after(1)},
		"the client's older": {stored: f.now, given: f.after(-1), ok: true},
		"not given":          {stored: f.now, ok: true, exactOK: true},
		"none stored":        {given: f.now},
		"neither":            {ok: true, exactOK: true},
	} {
		for _, exact := range []bool{false, true} {
			ok, suffix := c.ok, ""
			if exact {
				ok, suffix = c.exactOK, " exactly"
			}
			t.Run(name+suffix, func(t *testing.T) {
				key := f.key(name + suffix)
				before := f.register(t, key, func(l *lease.Lease) { l.Dirty = c.stored })
				err := f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(5), Dirty: c.given, Exact: exact})
				f.requireRenewal(t, before, exact, ok, err)
			})
		}
	}
}

func renewUnknown(t *testing.T, f *fixture) {
	for name, exact := range map[string]bool{"client": false, "peer": true} {
		key := f.key(name)
		before := f.register(t, key, func(l *lease.Lease) { l.Status = eureka.Unknown })
		err := f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(5), Dirty: f.now, Exact: exact})
		f.requireRenewal(t, before, exact, false, err)
	}
	for _, s := range []eureka.Status{eureka.Up, eureka.Down, eureka.Starting, eureka.OutOfService} {
		key := f.key(string(s))
		before := f.register(t, key, func(l *lease.Lease) { l.Status, l.Instance.Status = s, eureka.Unknown })
		err := f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(5), Dirty: f.now})
		f.requireRenewal(t, before, false, true, err)
	}
}

func renewTombstone(t *testing.T, f *fixture) {
	for name, exact := range map[string]bool{"client": false, "peer": true} {
		for _, dirty := range []time.Time{{}, f.now} {
			cancelled := f.cancelled(t, f.key(name+" of a cancelled one"))
			err := f.Registry.Renew(t.Context(), registry.Renewal{Key: cancelled.Key, Now: f.after(5), Dirty: dirty, Exact: exact})
			f.requireRenewal(t, cancelled, exact, false, err)
		}
		evicted := f.evicted(t, f.key(name+" of an evicted one"), eureka.Down)
		err := f.Registry.Renew(t.Context(), registry.Renewal{Key: evicted.Key, Now: f.after(5), Dirty: f.now, Exact: exact})
		f.requireRenewal(t, evicted, exact, false, err)
	}
}

// requireRenewal judges a renewal at f.after(5). Without exact the error need
// not carry what was found, but nothing else instead of it either.
func (f *fixture) requireRenewal(t *testing.T, before lease.Lease, exact, ok bool, err error) {
	t.Helper()
	if ok {
		require.NoError(t, err)
		before.Renewed = f.after(5)
		f.requireStored(t, before)
		return
	}
	var failed *registry.ConditionFailedError
	require.ErrorAs(t, err, &failed)
	if exact {
		requireFailedCondition(t, err, &before)
	} else if failed.Stored != nil {
		assert.Equal(t, canonicalLease(before), canonicalLease(*failed.Stored))
	}
	f.requireStored(t, before)
}
