package registry

import (
	"context"
	"errors"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// quietStore is a [Store] that answers heartbeats from memory while the renewal
// that this process wrote before them is recent enough. Every renewal that it
// writes says for how long others must expect that (see eureka.Lease.Quiet), so
// that a lease outlives this process by one duration after its last heartbeat.
type quietStore struct {
	Store
	// quiet is the setting, and stored the same in whole seconds.
	quiet, stored time.Duration
	monotonic     func() time.Duration
	memory        *renewals
}

func newQuietStore(next Store, cfg Config) *quietStore {
	s := &quietStore{
		Store: next, quiet: cfg.RenewalWriteInterval, monotonic: cfg.Monotonic,
		stored: (cfg.RenewalWriteInterval + time.Second - 1).Truncate(time.Second),
		memory: newRenewals(cfg.MaxRemembered),
	}
	if s.monotonic == nil {
		started := time.Now()
		s.monotonic = func() time.Duration { return time.Since(started) }
	}
	return s
}

// Renew writes a heartbeat, or answers it from memory: one with the same dirty
// timestamp as the one that was written less than the quiet time, or the
// lease's duration, before. Peers' heartbeats are always written, since peers
// compare timestamps exactly, and so are those without a timestamp.
func (s *quietStore) Renew(ctx context.Context, r Renewal) (time.Duration, error) {
	at := moment{wall: r.Now.UnixMilli(), monotonic: s.monotonic()}
	remembers := !r.Exact && !r.Dirty.IsZero()
	if remembers {
		if duration, ok := s.memory.answer(r.Key, r.Dirty.UnixMilli(), at); ok {
			return duration, nil
		}
	}
	r.Quiet = s.stored
	changes := s.memory.seenChanges()
	duration, err := s.Store.Renew(ctx, r)
	switch {
	case err != nil:
		s.memory.drop(r.Key)
	case remembers:
		s.memory.put(r.Key, remembered{
			dirty: r.Dirty.UnixMilli(), written: at, duration: duration, lasts: min(s.quiet, duration),
		}, changes)
	}
	return duration, err
}

// Get reads a lease. What it shows to be gone, or UNKNOWN, is not answered from
// memory any more.
func (s *quietStore) Get(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
	l, err := s.Store.Get(ctx, key)
	if errors.Is(err, eureka.ErrLeaseNotFound) || err == nil && (l.Tombstone() || l.Status == eureka.Unknown) {
		s.memory.changed(key)
	}
	return l, err
}

// Register writes a registration that is as quiet as a renewal.
func (s *quietStore) Register(ctx context.Context, r Registration) error {
	defer s.memory.changed(r.Lease.Key)
	r.Lease.Quiet = s.stored
	return s.Store.Register(ctx, r)
}

// Update changes a lease, whose next heartbeat is written then.
func (s *quietStore) Update(ctx context.Context, u Update) error {
	defer s.memory.changed(u.Key)
	return s.Store.Update(ctx, u)
}

// Cancel ends a lease, whose next heartbeat finds that out.
func (s *quietStore) Cancel(ctx context.Context, key eureka.Key, now time.Time) error {
	defer s.memory.changed(key)
	return s.Store.Cancel(ctx, key, now)
}
