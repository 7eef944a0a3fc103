package view

import "time"

// schedule says when views turn over: at multiples of the interval of the wall
// clock, as Eureka's read-only cache does, so that all containers show the same
// at the same time; but each looks a while later, its offset, so that late rows
// are there and not all containers read at once.
type schedule struct {
	// interval is zero where each view is of its own moment.
	interval time.Duration
	offset   time.Duration
}

// boundary returns the boundary of the view that is due at a time.
func (s schedule) boundary(now time.Time) time.Time {
	if s.interval == 0 {
		return now.Truncate(time.Millisecond)
	}
	return now.Add(-s.offset).Truncate(s.interval)
}

// next returns when the view of a boundary is to be replaced.
func (s schedule) next(boundary time.Time) time.Time {
	return boundary.Add(s.interval + s.offset)
}
