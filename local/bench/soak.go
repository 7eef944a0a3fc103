package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// sampleEvery is how often a soak reads the server's memory.
const sampleEvery = time.Minute

// soak keeps a fleet alive for a time: each instance renews every o.every, and
// one client fetches the deltas every 30 seconds. It prints the server's memory
// each minute, and at the end whether it was level over the last half.
func soak(ctx context.Context, o options, f fleet, s *server, out io.Writer) error {
	if s.pid == 0 {
		return errors.New("a soak measures memory, so it needs -pid")
	}
	if err := registerAll(ctx, o, f, s); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.soak)
	defer cancel()
	l := &load{o: o, fleet: f, server: s}
	var group sync.WaitGroup
	group.Go(func() { l.renew(ctx) })
	group.Go(func() { l.read(ctx) })
	samples, err := sample(ctx, s, l, out)
	cancel()
	group.Wait()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, summary(samples, l.sent.Load(), l.failed.Load()))
	if n := l.failed.Load(); n > 0 {
		return fmt.Errorf("%d requests failed, the first: %w", n, l.first)
	}
	return nil
}

func registerAll(ctx context.Context, o options, f fleet, s *server) error {
	for i := range o.instances {
		if _, err := s.ask(ctx, f.register(i)); err != nil {
			return err
		}
	}
	return nil
}

// load is the requests of a soak.
type load struct {
	o            options
	fleet        fleet
	server       *server
	sent, failed atomic.Int64
	once         sync.Once
	first        error
}

// renew sends heartbeats at a steady pace, a hundred times a second as many as
// are due, so that a slow answer delays no other.
func (l *load) renew(ctx context.Context) {
	due := make(chan int, l.o.instances)
	var workers sync.WaitGroup
	for range l.o.workers {
		workers.Go(func() {
			for i := range due {
				l.ask(ctx, l.fleet.heartbeat(i))
			}
		})
	}
	defer workers.Wait()
	defer close(due)
	const tick = 10 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	began, sent := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for want := int(time.Since(began).Seconds() / l.o.every.Seconds() * float64(l.o.instances)); sent < want; sent++ {
			select {
			case due <- sent % l.o.instances:
			case <-ctx.Done():
				return
			}
		}
	}
}

// read fetches the deltas as one client does.
func (l *load) read(ctx context.Context) {
	ticker := time.NewTicker(30 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			l.ask(ctx, request{method: "GET", path: "/apps/delta", want: 200})
		}
	}
}

// ask sends a request and counts it; one that the end of the soak cuts off does
// not count.
func (l *load) ask(ctx context.Context, r request) {
	_, err := l.server.ask(ctx, r)
	switch {
	case err == nil:
		l.sent.Add(1)
	case ctx.Err() == nil:
		l.failed.Add(1)
		l.once.Do(func() { l.first = err })
	}
}

// sample reads the server's resident memory, in bytes, until the context ends.
func sample(ctx context.Context, s *server, l *load, out io.Writer) (resident []int64, err error) {
	began := time.Now()
	ticker := time.NewTicker(min(sampleEvery, max(l.o.soak/10, 10*time.Millisecond)))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return resident, nil
		case <-ticker.C:
		}
		used, err := s.usage()
		if err != nil {
			return resident, err
		}
		resident = append(resident, used.Resident)
		fmt.Fprintf(out, "%8s  %9d requests  %4d MiB resident  %6.1f s of processor\n",
			time.Since(began).Round(time.Second), l.sent.Load(), used.Resident>>20, used.Processor.Seconds())
	}
}

// summary tells how memory went.
func summary(resident []int64, sent, failed int64) string {
	if len(resident) == 0 {
		return "the soak was too short for a sample"
	}
	half := resident[len(resident)/2:]
	return fmt.Sprintf("%d requests, %d failed; most %.1f MiB resident; over the last half between %.1f and %.1f MiB",
		sent, failed, mib(slices.Max(resident)), mib(slices.Min(half)), mib(slices.Max(half)))
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
