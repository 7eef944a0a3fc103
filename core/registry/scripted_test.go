package registry_test

import (
	"context"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// rivalStore lets a rival act just before a write, or loses the answer of one:
// the write is applied, and the try that the driver makes again meets its own
// work.
type rivalStore struct {
	registry.Store
	// before runs ahead of each write, once; nil: nothing.
	before func()
	// repeat makes each write happen twice, the second answer counting.
	repeat bool
}

func (s *rivalStore) write(do func() error) error {
	if s.before != nil {
		rival := s.before
		s.before = nil
		rival()
	}
	if s.repeat {
		_ = do() // its answer is lost
	}
	return do()
}

func (s *rivalStore) Get(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
	return s.Store.Get(ctx, key)
}

func (s *rivalStore) Register(ctx context.Context, r registry.Registration) error {
	return s.write(func() error { return s.Store.Register(ctx, r) })
}

func (s *rivalStore) Renew(ctx context.Context, r registry.Renewal) (lasts time.Duration, err error) {
	err = s.write(func() error {
		lasts, err = s.Store.Renew(ctx, r)
		return err
	})
	return lasts, err
}

func (s *rivalStore) Update(ctx context.Context, u registry.Update) error {
	return s.write(func() error { return s.Store.Update(ctx, u) })
}

func (s *rivalStore) Cancel(ctx context.Context, key eureka.Key, now time.Time) error {
	return s.write(func() error { return s.Store.Cancel(ctx, key, now) })
}
