package access

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound a [Buckets].
type Limits struct {
	// PerSecond is how many tokens come back to a bucket in a second; above 0.
	PerSecond float64
	// Burst is how many a bucket holds; at least 1.
	Burst int
	// MaxNames is how many names have a bucket of their own at a time; at
	// least 1.
	MaxNames int
}

// Buckets holds a token bucket for each name. Callers choose the names, so their
// number is bounded: names beyond the bound share one bucket. It is safe for
// concurrent use.
type Buckets struct {
	limits Limits

	mu sync.Mutex // holding it, buckets and swept agree
	// buckets are those that are not known to be full.
	buckets map[string]*rate.Limiter
	shared  *rate.Limiter
	// swept is when full buckets were last removed.
	swept time.Time
}

// NewBuckets returns full buckets.
func NewBuckets(limits Limits) *Buckets {
	b := &Buckets{limits: limits, buckets: map[string]*rate.Limiter{}}
	b.shared = b.bucket()
	return b
}

func (b *Buckets) bucket() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(b.limits.PerSecond), b.limits.Burst)
}

// Take takes a token from the name's bucket. When there is none it reports
// false, and after which time there will be one.
func (b *Buckets) Take(name string, now time.Time) (after time.Duration, ok bool) {
	return take(b.find(name, now), now)
}

// take takes one token from a bucket.
func take(bucket *rate.Limiter, now time.Time) (after time.Duration, ok bool) {
	if bucket.AllowN(now, 1) {
		return 0, true
	}
	missing := math.Max(0, 1-bucket.TokensAt(now))
	return time.Duration(missing / float64(bucket.Limit()) * float64(time.Second)), false
}

// find returns the name's bucket, or the shared one when there are too many.
func (b *Buckets) find(name string, now time.Time) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bucket, ok := b.buckets[name]; ok {
		return bucket
	}
	if len(b.buckets) >= b.limits.MaxNames {
		b.sweep(now)
	}
	if len(b.buckets) >= b.limits.MaxNames {
		return b.shared
	}
	bucket := b.bucket()
	b.buckets[name] = bucket
	return bucket
}

// sweep removes full buckets, which are as good as new ones. It looks at most
// once in the time that an empty one takes to fill: so many new names do not
// each cost a walk over all.
func (b *Buckets) sweep(now time.Time) {
	burst := float64(b.limits.Burst)
	if fill := time.Duration(burst / b.limits.PerSecond * float64(time.Second)); now.Sub(b.swept) < fill {
		return
	}
	b.swept = now
	for name, bucket := range b.buckets {
		if bucket.TokensAt(now) >= burst {
			delete(b.buckets, name)
		}
	}
}
