package storagetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

func renewTests() []test {
	return []test{
		{"Renew sets Renewed and nothing else", renewChangesNothingElse},
		{"Renew looks at Dirty", renewDirty},
		{"Renew is refused to an UNKNOWN status", renewUnknown},
		{"Renew is refused to a tombstone", renewTombstone},
		{"Renew stores Quiet and returns the duration", renewQuiet},
		{"Quiet stays unless another is written", quietStays},
	}
}

func renewChangesNothingElse(t *testing.T, f *fixture) {
	key := f.key("id")
	want := f.register(t, key, overridden(eureka.OutOfService), func(l *eureka.Lease) {
		l.Instance, l.Action, l.Registered = richInstance(key, f.now), eureka.Modified, f.after(-1)
	})
	for i, r := range []registry.Renewal{
		{Dirty: f.now},
		{},
		{Dirty: f.now, Exact: true},
		{Exact: true},
	} {
		r.Key, r.Now = key, f.after(10+i)
		require.NoError(t, errorOf(f.Registry.Renew(t.Context(), r)))
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
				before := f.register(t, key, func(l *eureka.Lease) { l.Dirty = c.stored })
				err := errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(5), Dirty: c.given, Exact: exact}))
				f.requireRenewal(t, before, exact, ok, err)
			})
		}
	}
}

func renewUnknown(t *testing.T, f *fixture) {
	for name, exact := range map[string]bool{"client": false, "peer": true} {
		key := f.key(name)
		before := f.register(t, key, func(l *eureka.Lease) { l.Status = eureka.Unknown })
		err := errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(5), Dirty: f.now, Exact: exact}))
		f.requireRenewal(t, before, exact, false, err)
	}
	for _, s := range []eureka.Status{eureka.Up, eureka.Down, eureka.Starting, eureka.OutOfService} {
		key := f.key(string(s))
		before := f.register(t, key, func(l *eureka.Lease) { l.Status, l.Instance.Status = s, eureka.Unknown })
		err := errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(5), Dirty: f.now}))
		f.requireRenewal(t, before, false, true, err)
	}
}

func renewTombstone(t *testing.T, f *fixture) {
	for name, exact := range map[string]bool{"client": false, "peer": true} {
		for _, dirty := range []time.Time{{}, f.now} {
			cancelled := f.cancelled(t, f.key(name+" of a cancelled one"))
			err := errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: cancelled.Key, Now: f.after(5), Dirty: dirty, Exact: exact}))
			f.requireRenewal(t, cancelled, exact, false, err)
		}
		evicted := f.evicted(t, f.key(name+" of an evicted one"), eureka.Down)
		err := errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: evicted.Key, Now: f.after(5), Dirty: f.now, Exact: exact}))
		f.requireRenewal(t, evicted, exact, false, err)
	}
}

// renewQuiet holds for durations on both sides of the quiet time, and for every
// kind of renewal.
func renewQuiet(t *testing.T, f *fixture) {
	for name, r := range map[string]registry.Renewal{
		"a client's":             {Dirty: f.now},
		"without a timestamp":    {},
		"a peer's":               {Dirty: f.now, Exact: true},
		"a longer quiet time":    {Quiet: 10 * time.Minute},
		"the shortest one":       {Quiet: time.Second},
		"a sub-second renewal":   {Now: f.after(11)},
		"a client that is older": {Dirty: f.after(-1)},
	} {
		t.Run(name, func(t *testing.T) {
			want := f.register(t, f.key(name), func(l *eureka.Lease) { l.Duration = 47 * time.Second })
			r.Key = want.Key
			if r.Now.IsZero() {
				r.Now = f.after(1000)
			}
			if r.Quiet == 0 {
				r.Quiet = 75 * time.Second
			}
			duration, err := f.Registry.Renew(t.Context(), r)
			require.NoError(t, err)
			assert.Equal(t, 47*time.Second, duration)
			want.Renewed, want.Quiet = r.Now, r.Quiet
			f.requireStored(t, want)
			requireLease(t, want, f.scanned(t)[want.Key])

			r.Dirty = f.after(1)
			_, err = f.Registry.Renew(t.Context(), r)
			require.ErrorAs(t, err, new(*registry.ConditionFailedError))
			f.requireStored(t, want)
		})
	}
}

// quietStays: a process that writes every heartbeat leaves the quiet time of
// others alone, whatever it writes, since they may be answering heartbeats by
// it; an update never touches it.
func quietStays(t *testing.T, f *fixture) {
	key := f.key("id")
	quiet := func(d time.Duration) func(*eureka.Lease) { return func(l *eureka.Lease) { l.Quiet = d } }
	requireQuiet := func(want time.Duration, after string) {
		t.Helper()
		require.Equal(t, want, f.get(t, key).Quiet, after)
	}
	renew := func(d time.Duration) {
		t.Helper()
		require.NoError(t, errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(2), Quiet: d})))
	}
	f.register(t, key)
	requireQuiet(0, "a registration without")
	f.register(t, key, quiet(75*time.Second))
	requireQuiet(75*time.Second, "a registration with one")
	renew(0)
	requireQuiet(75*time.Second, "a renewal without")
	f.register(t, key)
	requireQuiet(75*time.Second, "another registration without")
	renew(30 * time.Second)
	requireQuiet(30*time.Second, "a renewal with a shorter one")
	l := f.get(t, key)
	require.NoError(t, f.Registry.Update(t.Context(), registry.Update{
		Key: key, IfVersion: l.Version, Status: eureka.Down, Action: eureka.Modified, Dirty: l.Dirty, Updated: f.after(3),
	}))
	requireQuiet(30*time.Second, "an update")
	require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(4)))
	f.register(t, key)
	requireQuiet(30*time.Second, "a registration without, over a cancelled one")
	require.NoError(t, f.Eviction.Evict(t.Context(), key, f.now, f.after(5)))
	f.register(t, key, quiet(60*time.Second))
	requireQuiet(60*time.Second, "a registration with one, over an evicted one")
}

// requireRenewal judges a renewal at f.after(5). Without exact the error need
// not carry what was found, but nothing else instead of it either.
func (f *fixture) requireRenewal(t *testing.T, before eureka.Lease, exact, ok bool, err error) {
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
