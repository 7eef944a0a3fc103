package discovery

import "time"

// burst is how many changes are registered at once before the rate counts.
const burst = 2

// rateLimit allows a burst, and then one in each interval. The zero value with
// an interval is full.
type rateLimit struct {
	interval time.Duration
	// used are the times at which what is taken comes back.
	used []time.Time
}

// allow takes one if there is one.
func (l *rateLimit) allow(now time.Time) bool {
	for len(l.used) > 0 && !now.Before(l.used[0]) {
		l.used = l.used[1:]
	}
	if len(l.used) == burst {
		return false
	}
	back := now.Add(l.interval)
	if n := len(l.used); n > 0 {
		back = l.used[n-1].Add(l.interval)
	}
	l.used = append(l.used, back)
	return true
}
