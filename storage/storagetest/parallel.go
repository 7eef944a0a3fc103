package storagetest

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// rivals is the number of goroutines that go for one key.
const rivals = 8

func parallelTests() []test {
	return []test{
		{"Parallel registrations each take a version", parallelRegister},
		{"Parallel updates of one version: one wins", parallelUpdate},
		{"Parallel updates that try again all survive", parallelRetries},
		{"Parallel renewals disturb no update", parallelRenewals},
		{"Parallel cancels: one wins", parallelCancel},
		{"Parallel evictions: one wins", parallelEvict},
		{"Renewal against eviction: one wins", renewalAgainstEviction},
		{"Override against registration: neither is lost", overrideAgainstRegistration},
		{"Operations on one key are linearizable", linearizable},
	}
}

// atOnce runs the function in so many goroutines, which start together, and
// returns their errors.
func atOnce(n int, run func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = run(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// requireOneWinner demands one success and failed conditions besides.
func requireOneWinner(t *testing.T, errs []error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.True(t, conditionFailed(err), "%v", err)
	}
	require.Equal(t, 1, won, "successes")
}

func parallelRegister(t *testing.T, f *fixture) {
	key := f.key("id")
	errs := atOnce(rivals, func(i int) error {
		l := f.lease(key)
		l.Instance.CountryID = i
		return f.Registry.Register(t.Context(), registry.Registration{Lease: l})
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	assert.GreaterOrEqual(t, f.get(t, key).Version, f.now.UnixMilli()+rivals-1)
}

func parallelUpdate(t *testing.T, f *fixture) {
	key := f.key("id")
	read := f.register(t, key)
	var winner atomic.Int64
	errs := atOnce(rivals, func(i int) error {
		instance := read.Instance.Clone()
		instance.CountryID = 1000 + i
		err := f.Registry.Update(t.Context(), registry.Update{
			Key: key, IfVersion: read.Version, Instance: instance,
			Status: eureka.Up, Action: eureka.Added, Dirty: f.now, Updated: f.after(1), ServiceUp: f.now,
		})
		if err == nil {
			winner.Store(int64(1000 + i))
		}
		return err
	})
	requireOneWinner(t, errs)
	got := f.get(t, key)
	assert.Equal(t, read.Version+1, got.Version)
	assert.EqualValues(t, winner.Load(), got.Instance.CountryID)
}

// setMetadata adds an entry as the registry does: from what was read or what
// the failed condition found, again and again.
func (f *fixture) setMetadata(t *testing.T, key eureka.Key, name string) error {
	stored, err := f.Registry.Get(t.Context(), key)
	for err == nil {
		instance := stored.Instance.Clone()
		instance.Metadata[name] = name
		err = f.Registry.Update(t.Context(), registry.Update{
			Key: key, IfVersion: stored.Version, Instance: instance, Status: stored.Status, Overridden: stored.Overridden,
			Action: eureka.Added, Dirty: stored.Dirty, Updated: f.after(1), ServiceUp: stored.ServiceUp,
		})
		if !conditionFailed(err) {
			return err
		}
		stored, err = f.Registry.Get(t.Context(), key)
	}
	return err
}

func parallelRetries(t *testing.T, f *fixture) {
	const each = 3
	key := f.key("id")
	before := f.register(t, key)
	errs := atOnce(rivals, func(i int) error {
		for n := range each {
			if err := f.setMetadata(t, key, strconv.Itoa(i)+"-"+strconv.Itoa(n)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	got := f.get(t, key)
	assert.Len(t, got.Instance.Metadata, len(before.Instance.Metadata)+rivals*each)
	assert.Equal(t, before.Version+rivals*each, got.Version)
}

// parallelRenewals has one updater, whose updates must all succeed at the
// first try.
func parallelRenewals(t *testing.T, f *fixture) {
	const each = 10
	key := f.key("id")
	before := f.register(t, key)
	errs := atOnce(rivals, func(i int) error {
		for n := range each {
			var err error
			if i == 0 {
				err = f.Registry.Update(t.Context(), registry.Update{
					Key: key, IfVersion: before.Version + int64(n), Status: eureka.Up, Action: eureka.Modified,
					Dirty: f.now, Updated: f.after(n), ServiceUp: f.now,
				})
			} else {
				err = errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(n + 1), Dirty: f.now}))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	got := f.get(t, key)
	assert.Equal(t, before.Version+each, got.Version)
	assert.True(t, got.Updated.Equal(f.after(each-1)))
	assert.True(t, got.Renewed.Equal(f.after(each)), "each renewer's last one says so")
}

func parallelCancel(t *testing.T, f *fixture) {
	key := f.key("id")
	f.register(t, key)
	requireOneWinner(t, atOnce(rivals, func(i int) error {
		return f.Registry.Cancel(t.Context(), key, f.after(i))
	}))
	require.True(t, f.get(t, key).Gone.Before(f.after(rivals)))
}

func parallelEvict(t *testing.T, f *fixture) {
	key := f.key("id")
	l := f.register(t, key)
	requireOneWinner(t, atOnce(rivals, func(i int) error {
		return f.Eviction.Evict(t.Context(), key, l.Renewed, f.after(i))
	}))
}

// renewalAgainstEviction: whichever comes first fails the other.
func renewalAgainstEviction(t *testing.T, f *fixture) {
	for round := range 10 {
		key := f.key(strconv.Itoa(round))
		l := f.register(t, key)
		errs := atOnce(2, func(i int) error {
			if i == 0 {
				return errorOf(f.Registry.Renew(t.Context(), registry.Renewal{Key: key, Now: f.after(1), Dirty: f.now}))
			}
			return f.Eviction.Evict(t.Context(), key, l.Renewed, f.after(1))
		})
		requireOneWinner(t, errs)
		got := f.get(t, key)
		assert.Equal(t, errs[1] == nil, got.Tombstone())
	}
}

// overrideAgainstRegistration: a registration that saw no override must not
// wipe out one that was set meanwhile; it fails, or comes first and fails the
// other.
func overrideAgainstRegistration(t *testing.T, f *fixture) {
	for round := range 10 {
		key := f.key(strconv.Itoa(round))
		read := f.register(t, key)
		errs := atOnce(2, func(i int) error {
			if i == 0 {
				return f.Registry.Register(t.Context(), registry.Registration{Lease: f.lease(key)})
			}
			return f.Registry.Update(t.Context(), registry.Update{
				Key: key, IfVersion: read.Version, Status: eureka.OutOfService, Overridden: eureka.OutOfService,
				Action: eureka.Modified, Dirty: f.now, Updated: f.after(1), ServiceUp: f.now,
			})
		})
		requireOneWinner(t, errs)
		var want eureka.Status
		if errs[1] == nil {
			want = eureka.OutOfService
		}
		got := f.get(t, key)
		assert.Equal(t, want, got.Overridden)
		assert.Equal(t, read.Version+1, got.Version)
	}
}
