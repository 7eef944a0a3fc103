package eviction

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/registry"
)

// evict evicts what is planned, within the eviction time, and counts the
// outcomes in the report. The error is the first failure of the store.
func (r *Runner) evict(ctx context.Context, plan Plan, report *Report) error {
	limited, cancel := context.WithTimeout(ctx, r.cfg.EvictionTime)
	defer cancel()
	var (
		mu      sync.Mutex
		failure error
	)
	now := plan.Statistics.Pass
	each(plan.Evict, r.cfg.Concurrency, func(c Candidate) {
		evicted, err := false, limited.Err()
		if err == nil {
			evicted, err = r.evictOne(limited, c, now)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case evicted:
			report.Evicted++
		case err == nil:
			report.Spared++
		case limited.Err() != nil:
			report.Postponed++
		default:
			report.Failed++
			if failure == nil {
				failure = fmt.Errorf("evict %s: %w", c.Key, err)
			}
		}
	})
	if report.Failed > 1 {
		failure = fmt.Errorf("%d evictions failed, the first: %w", report.Failed, failure)
	}
	return errors.Join(failure, ctx.Err())
}

// evictOne reports whether the lease was evicted by this pass. When it was not
// and there is no error, it had renewed or gone since the scan.
func (r *Runner) evictOne(ctx context.Context, c Candidate, now time.Time) (bool, error) {
	err := r.cfg.Store.Evict(ctx, c.Key, c.Renewed, now)
	var found *registry.ConditionFailedError
	if errors.As(err, &found) {
		return evictedAt(found, now), nil
	}
	return err == nil, err
}

// evictedAt reports whether the tombstone is the one that this pass wrote, by
// a try whose answer was lost.
func evictedAt(found *registry.ConditionFailedError, now time.Time) bool {
	return found.Stored != nil && found.Stored.Tombstone() && found.Stored.Gone.Equal(now)
}

// each calls do for every item, from at most limit goroutines, and returns
// when all calls have.
func each[T any](items []T, limit int, do func(T)) {
	queue := make(chan T, len(items))
	for _, item := range items {
		queue <- item
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(limit, len(items)) {
		workers.Go(func() {
			for item := range queue {
				do(item)
			}
		})
	}
	workers.Wait()
}
