package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// load is what a kind of request held.
type load struct {
	name  string
	took  time.Duration
	late  []time.Duration // sorted: from when each was due to its answer
	first error
	// failed counts requests without the right answer.
	failed int
}

func (l load) String() string {
	line := fmt.Sprintf("%-10s %d in %.1f s, %.0f/s", l.name, len(l.late), l.took.Seconds(), float64(len(l.late))/l.took.Seconds())
	if n := len(l.late); n > 0 {
		line += fmt.Sprintf(", answered p50 %s p99 %s after they were due", l.late[n/2].Round(10*time.Microsecond), l.late[n*99/100].Round(10*time.Microsecond))
	}
	if l.failed > 0 {
		line += fmt.Sprintf(", failed %d: %v", l.failed, l.first)
	}
	return line
}

// paced sends requests 0, 1, ... at a rate a second until count were sent or
// length is over; 0 means any rate, number or length. A request that comes late
// since those before took long counts from when it was due.
func paced(ctx context.Context, name string, workers int, rate float64, count int, length time.Duration, send func(context.Context, int) error) load {
	l := load{name: name}
	var (
		mu    sync.Mutex
		next  atomic.Int64
		group sync.WaitGroup
		start = time.Now()
	)
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				due := time.Now()
				if rate > 0 {
					due = start.Add(time.Duration(float64(n) / rate * float64(time.Second)))
				}
				if count > 0 && n >= count || length > 0 && (due.Sub(start) >= length || time.Since(start) >= length) {
					return
				}
				time.Sleep(time.Until(due))
				err := send(ctx, n)
				mu.Lock()
				if err == nil {
					l.late = append(l.late, time.Since(due))
				} else if l.failed++; l.first == nil {
					l.first = err
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	l.took = time.Since(start)
	slices.Sort(l.late)
	return l
}
