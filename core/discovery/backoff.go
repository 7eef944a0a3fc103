package discovery

import (
	"math"
	"math/rand/v2"
	"time"
)

// longestPause is the longest pause of a backoff, in multiples of its base, as
// the Java client has it.
const longestPause = 10

// backoff is a pause that doubles from failure to failure up to ten times its
// base. Doubled pauses are shortened by up to a quarter at random, so that
// clients that failed together do not try again together.
type backoff struct {
	base     time.Duration
	failures int
}

// grow notes a failure.
func (b *backoff) grow() { b.failures++ }

// reset notes a success.
func (b *backoff) reset() { b.failures = 0 }

// pause returns the pause after the failures noted: the base after none.
func (b *backoff) pause() time.Duration {
	if b.failures == 0 {
		return b.base
	}
	base := min(b.base, math.MaxInt64/(2*longestPause)) // 14 years, so that doubling does not overflow
	longest := longestPause * base
	pause := base
	for n := 0; n < b.failures && pause < longest; n++ {
		pause *= 2
	}
	return shortened(min(pause, longest))
}

// next notes a failure and returns the pause until the next try, which after
// the first failure is the base.
func (b *backoff) next() time.Duration {
	pause := b.pause()
	b.grow()
	if b.failures == 1 {
		pause = shortened(pause)
	}
	return pause
}

// shortened takes up to a quarter from a pause.
func shortened(pause time.Duration) time.Duration {
	return pause - rand.N(pause/4+1)
}
