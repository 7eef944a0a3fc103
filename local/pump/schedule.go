package pump

import (
	"context"
	"log/slog"
	"time"
)

// Schedule calls task every interval, for the first time after one interval,
// until the context ends; a call under way then has five seconds left. Calls never
// overlap: one that takes longer than the interval delays the next to the next
// full interval. Failures are logged and the pace kept. An interval of 0 means
// never. task gets the time that it was called at.
func Schedule(ctx context.Context, interval time.Duration, log *slog.Logger, task func(context.Context, time.Time) error) {
	if interval <= 0 {
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-ticker.C:
			run(ctx, at, log, task)
		}
	}
}

// run lets a pass finish when the process stops, for as long as the poller may
// go on delivering.
func run(ctx context.Context, at time.Time, log *slog.Logger, task func(context.Context, time.Time) error) {
	work, cancel := outlive(ctx, flushTime)
	defer cancel()
	if err := task(work, at); err != nil {
		log.ErrorContext(ctx, "eviction pass failed, the next one follows", "error", err)
	}
}
