package eventsource

import (
	"context"
	"log/slog"
	"time"
)

// Schedule calls task every interval, for the first time after one interval,
// until the context ends; a call under way then has five seconds left. Calls
// never overlap: one that takes longer than the interval is followed by the
// next at once, and the calls missed meanwhile are left out. Failures are
// logged and the pace kept. An interval of 0 means never.
func Schedule(ctx context.Context, interval time.Duration, log *slog.Logger, task func(context.Context) error) {
	if interval <= 0 {
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			run(ctx, log, task)
		}
	}
}

// run lets a pass finish when the process stops, for as long as the poller may
// go on delivering.
func run(ctx context.Context, log *slog.Logger, task func(context.Context) error) {
	work, cancel := outlive(ctx, flushTime)
	defer cancel()
	if err := task(work); err != nil {
		log.ErrorContext(ctx, "eviction pass failed, the next one follows", "error", err)
	}
}
