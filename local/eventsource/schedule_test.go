package eventsource

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestScheduleKeepsThePaceAndNeverOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		start := time.Now()
		var at []time.Duration
		running := false

		Schedule(ctx, time.Second, slog.New(slog.DiscardHandler), func(context.Context) error {
			assert.False(t, running)
			running = true
			at = append(at, time.Since(start))
			if len(at) == 3 {
				<-time.After(2500 * time.Millisecond)
			}
			running = false
			return errors.New("a failure does not end the pace")
		})

		s := time.Second
		assert.Equal(t, []time.Duration{1 * s, 2 * s, 3 * s, 5500 * time.Millisecond, 6 * s, 7 * s, 8 * s, 9 * s, 10 * s}, at)
	})
}

func TestScheduleOfZeroIsNever(t *testing.T) {
	Schedule(t.Context(), 0, slog.New(slog.DiscardHandler), func(context.Context) error {
		t.Error("called")
		return nil
	})
}

func TestScheduleLetsAPassFinishWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var passed error
		Schedule(ctx, time.Second, slog.New(slog.DiscardHandler), func(work context.Context) error {
			cancel()
			<-time.After(time.Second)
			passed = work.Err()
			return nil
		})
		assert.NoError(t, passed)
	})
}
