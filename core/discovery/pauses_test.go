package discovery

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBackoffDoublesUpToTenTimes(t *testing.T) {
	b := backoff{base: time.Minute}
	assert.Equal(t, time.Minute, b.pause(), "without a failure exactly the interval")
	for _, multiple := range []time.Duration{2, 4, 8, 10, 10, 10} {
		b.grow()
		for range 100 {
			assert.LessOrEqual(t, b.pause(), multiple*time.Minute)
			assert.GreaterOrEqual(t, b.pause(), multiple*time.Minute*3/4)
		}
	}
	b.reset()
	assert.Equal(t, time.Minute, b.pause())

	for _, multiple := range []time.Duration{1, 2, 4, 8, 10, 10} {
		pause := b.next()
		assert.LessOrEqual(t, pause, multiple*time.Minute)
		assert.GreaterOrEqual(t, pause, multiple*time.Minute*3/4)
	}
}

func TestBackoffOfAnEndlessPause(t *testing.T) {
	b := backoff{base: math.MaxInt64}
	assert.Positive(t, b.next())
	for range 10 {
		assert.Positive(t, b.next())
	}
}

func TestBackoffIsRandom(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 20 {
		b := backoff{base: time.Minute}
		seen[b.next()] = true
	}
	assert.Greater(t, len(seen), 10)
}

func TestRateLimit(t *testing.T) {
	start := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	l := rateLimit{interval: 30 * time.Second}
	for _, step := range []struct {
		seconds int
		want    bool
	}{
		{0, true}, {0, true}, {0, false}, {29, false}, {30, true}, {31, false}, {59, false}, {60, true},
		{1000, true}, {1000, true}, {1000, false}, // no more than a burst is saved up
	} {
		assert.Equal(t, step.want, l.allow(start.Add(time.Duration(step.seconds)*time.Second)), step.seconds)
	}
}
