package storagetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

func updateTests() []test {
	return []test{
		{"Update writes its fields and no other", updateFields},
		{"Update writes what is empty too", updateEmpties},
		{"Update demands the version", updateVersion},
		{"Update is neither failed nor undone by renewals", updateAndRenewals},
		{"Update is refused to a tombstone", updateTombstone},
	}
}

func updateFields(t *testing.T, f *fixture) {
	for name, instance := range map[string]*eureka.InstanceInfo{
		"instance left":     nil,
		"instance replaced": richInstance(f.key("instance replaced"), f.now),
	} {
		key := f.key(name)
		want := f.register(t, key, func(l *eureka.Lease) {
			l.Interval, l.Duration, l.Registered, l.Renewed = 5*time.Second, 15*time.Second, f.after(-2), f.after(-1)
		})
		u := registry.Update{
			Key: key, IfVersion: want.Version, Instance: instance,
			Status: eureka.OutOfService, Overridden: eureka.OutOfService, Action: eureka.Modified,
			Dirty: f.after(1), Updated: f.after(2), ServiceUp: f.after(3),
		}
		require.NoError(t, f.Registry.Update(t.Context(), u))
		if instance != nil {
			want.Instance = instance
		}
		want.Version++
		want.Status, want.Overridden, want.Action = u.Status, u.Overridden, u.Action
		want.Dirty, want.Updated, want.ServiceUp = u.Dirty, u.Updated, u.ServiceUp
		f.requireStored(t, want)
	}
}

func updateEmpties(t *testing.T, f *fixture) {
	for name, none := range map[string]eureka.Status{"empty": "", "unknown": eureka.Unknown} {
		key := f.key(name)
		want := f.register(t, key, overridden(eureka.Down))
		require.NoError(t, f.Registry.Update(t.Context(), registry.Update{
			Key: key, IfVersion: want.Version, Status: eureka.Unknown, Overridden: none, Action: eureka.Modified, Updated: f.after(1),
		}))
		want.Version++
		want.Status, want.Overridden, want.Action = eureka.Unknown, "", eureka.Modified
		want.Dirty, want.Updated, want.ServiceUp = time.Time{}, f.after(1), time.Time{}
		f.requireStored(t, want)
	}
}

func updateVersion(t *testing.T, f *fixture) {
	key := f.key("id")
	before := f.register(t, key)
	u := registry.Update{
		Key: key, Status: eureka.Down, Action: eureka.Modified, Dirty: f.now, Updated: f.after(1), ServiceUp: f.now,
	}
	for _, off := range []int64{-1, 1, -before.Version} {
		u.IfVersion = before.Version + off
		requireFailedCondition(t, f.Registry.Update(t.Context(), u), &before)
		f.requireStored(t, before)
	}
	u.IfVersion = before.Version
	require.NoError(t, f.Registry.Update(t.Context(), u))
	after := f.get(t, key)
	requireFailedCondition(t, f.Registry.Update(t.Context(), u), &after)
	f.requireStored(t, after)
}

func updateAndRenewals(t *testing.T, f *fixture) {
	key := f.key("id")
	read := f.register(t, key)
	renew := func(at time.Time) {
		t.Helper()
		require.NoError(t, errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: at, Dirty: f.now})))
	}
	renew(f.after(100))
	instance := read.Instance.Clone()
	instance.Metadata = map[string]string{"colour": "green"}
	require.NoError(t, f.Registry.Update(t.Context(), registry.Update{
		Key: key, IfVersion: read.Version, Instance: instance,
		Status: eureka.Down, Action: eureka.Modified, Dirty: f.now, Updated: f.after(2), ServiceUp: f.now,
	}))
	got := f.get(t, key)
	assert.True(t, got.Renewed.Equal(f.after(100)), "the renewal is lost")
	renew(f.after(200))
	got = f.get(t, key)
	assert.Equal(t, read.Version+1, got.Version)
	assert.Equal(t, instance.Metadata, got.Instance.Metadata, "the update is lost")
	assert.Equal(t, eureka.Down, got.Status)
	assert.Equal(t, eureka.Modified, got.Action)
}

func updateTombstone(t *testing.T, f *fixture) {
	for _, tombstone := range []eureka.Lease{
		f.cancelled(t, f.key("cancelled")),
		f.evicted(t, f.key("evicted"), eureka.OutOfService),
	} {
		for _, instance := range []*eureka.InstanceInfo{nil, usualInstance(tombstone.Key, f.now)} {
			err := f.Registry.Update(t.Context(), registry.Update{
				Key: tombstone.Key, IfVersion: tombstone.Version, Instance: instance,
				Status: eureka.Up, Action: eureka.Added, Dirty: f.now, Updated: f.after(2),
			})
			requireFailedCondition(t, err, &tombstone)
			f.requireStored(t, tombstone)
		}
	}
}
