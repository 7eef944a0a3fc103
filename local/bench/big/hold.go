package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/local/bench/process"
	"github.com/eurekaless/registry/local/eventsource"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/dynamodb"
)

// held is a fleet on an engine.
type held struct {
	o      options
	out    io.Writer
	engine *engine
	tables storage.Tables
	write  handler
	sink   *countedRows
	// gone are the numbers of instances that were cancelled.
	gone sync.Map
	// failed are errors of renewals, which do not end the run at once: what
	// the readers saw meanwhile is judged too.
	failed error
}

// holdFleet is the first part: registrations, a pause, then renewals, changes
// and reads together.
func holdFleet(ctx context.Context, o options, e *engine, out io.Writer) error {
	parts, err := o.parts(e, ignoreUsage)
	if err != nil {
		return err
	}
	h := &held{
		o: o, out: out, engine: e, tables: parts.Tables, write: parts.Write(),
		sink: &countedRows{DeltaTable: parts.Tables.DeltaTable},
	}
	ctx, stop := context.WithCancel(ctx)
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return h.background(ctx, parts) })
	work.Go(func() error { return h.watch(ctx) })
	work.Go(func() error {
		defer stop()
		return h.hold(ctx)
	})
	return work.Wait()
}

func ignoreUsage(context.Context, dynamodb.Usage) {}

// background is what the stream and the schedule call for.
func (h *held) background(ctx context.Context, parts *boot.Parts) error {
	counted := *parts
	counted.Tables.DeltaTable = h.sink
	evict, err := counted.Evict()
	if err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return h.engine.follow(ctx, &counted) })
	work.Go(func() error {
		eventsource.Schedule(ctx, counted.Config.EvictionInterval, counted.Log, evict.Handle)
		return nil
	})
	return work.Wait()
}

// countedRows counts rows that were put, and keeps the longest time that it
// took. Containers agree on a boundary as long as that is less than a tenth of
// the interval: one that turned over before a row was there shows it a boundary
// later.
type countedRows struct {
	storage.DeltaTable
	rows    atomic.Int64
	mu      sync.Mutex
	slowest time.Duration
}

// Put implements [delta.Sink].
func (c *countedRows) Put(ctx context.Context, rows []delta.Row) error {
	start := time.Now()
	err := c.DeltaTable.Put(ctx, rows)
	if err == nil {
		c.rows.Add(int64(len(rows)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slowest = max(c.slowest, time.Since(start))
	return err
}

// reset returns the longest time since it was last asked.
func (c *countedRows) reset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	slowest := c.slowest
	c.slowest = 0
	return slowest
}

var errMemory = errors.New("the engine takes more memory than it may")

// watch ends everything when the engine takes too much memory.
func (h *held) watch(ctx context.Context) error {
	for sleep(ctx, 2*time.Second) {
		used, err := process.Of(h.engine.pid)
		if err != nil {
			return fmt.Errorf("the engine: %w", err)
		}
		if used.Resident > h.o.memory {
			return fmt.Errorf("%w: %d MiB", errMemory, used.Resident>>20)
		}
	}
	return nil
}

func (h *held) hold(ctx context.Context) error {
	fmt.Fprintf(h.out, "%d instances on %s\n", h.o.instances, h.o.engine)
	if err := h.load(ctx, "register", 0, h.o.instances, 0, func(ctx context.Context, n int) error {
		return h.insist(ctx, register(n, 0, eureka.Up), http.StatusNoContent)
	}); err != nil {
		return err
	}
	if err := h.caughtUp(ctx, int64(h.o.instances)); err != nil {
		return err
	}
	if !sleep(ctx, h.o.settle) {
		return ctx.Err()
	}
	book := &ledger{}
	readers, err := h.containers(book)
	if err != nil {
		return err
	}
	h.sink.reset()
	if err := h.together(ctx, readers); err != nil {
		return err
	}
	if slowest := h.sink.reset(); slowest > h.o.refresh/10 {
		fmt.Fprintf(h.out, "THE ENGINE WAS TOO BUSY: rows took up to %.1f s to be written, more than the %.1f s for which containers wait for them\n",
			slowest.Seconds(), h.o.refresh.Seconds()/10)
	}
	if err := book.judge(h.out); err != nil {
		return err
	}
	return errors.Join(h.asTable(ctx, readers), h.failed)
}

// load sends requests and prints what they held, and what engine and functions
// used meanwhile.
func (h *held) load(ctx context.Context, name string, rate float64, count int, length time.Duration, send func(context.Context, int) error) error {
	before, err := h.usage()
	if err != nil {
		return err
	}
	l := paced(ctx, name, h.o.workers, rate, count, length, send)
	after, err := h.usage()
	if err != nil {
		return err
	}
	done := len(l.late)
	if l.failed > 0 {
		h.failed = fmt.Errorf("%s: %d of %d failed: %w", name, l.failed, done+l.failed, l.first)
	}
	if count > 0 && h.failed != nil {
		return h.failed
	}
	fmt.Fprintf(h.out, "%s\n  functions and load: %s", l, after.functions.Since(before.functions).Each(done))
	if h.engine.pid != os.Getpid() {
		fmt.Fprintf(h.out, "; engine: %s", after.engine.Since(before.engine).Each(done))
	}
	fmt.Fprintln(h.out)
	return ctx.Err()
}

// usage is what was used so far, by this process and the engine's.
type usage struct{ functions, engine process.Usage }

func (h *held) usage() (u usage, err error) {
	if u.functions, err = process.Of(os.Getpid()); err != nil {
		return u, err
	}
	u.engine, err = process.Of(h.engine.pid)
	return u, err
}

// send asks the write function.
func (h *held) send(ctx context.Context, event []byte, want int) error {
	a, err := ask(ctx, h.write, event)
	if err == nil && a.StatusCode != want {
		err = fmt.Errorf("status %d: %s", a.StatusCode, a.Body)
	}
	return err
}

// insist sends again, as clients do, what the table did not take in time.
func (h *held) insist(ctx context.Context, event []byte, want int) error {
	const tries, pause = 10, time.Second
	var err error
	for range tries {
		if err = h.send(ctx, event, want); err == nil || !sleep(ctx, pause) {
			break
		}
	}
	return err
}

// caughtUp waits until so many rows came to the readers.
func (h *held) caughtUp(ctx context.Context, rows int64) error {
	start := time.Now()
	for h.sink.rows.Load() < rows {
		if !sleep(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
	fmt.Fprintf(h.out, "the stream followed %.1f s later\n", time.Since(start).Seconds())
	return nil
}

// containers are cold read containers, each with clients of its own.
func (h *held) containers(book *ledger) ([]*container, error) {
	var out []*container
	for n := range h.o.containers {
		parts, err := h.o.parts(h.engine, ignoreUsage)
		if err != nil {
			return nil, err
		}
		out = append(out, &container{number: n, read: parts.Read(), ledger: book})
	}
	return out, nil
}

// together renews, changes and reads at the same time.
func (h *held) together(ctx context.Context, readers []*container) error {
	ctx, stop := context.WithCancel(ctx)
	work, ctx := errgroup.WithContext(ctx)
	for _, c := range readers {
		work.Go(func() error { return c.live(ctx, h.o.refresh) })
	}
	work.Go(func() error {
		perSecond := h.o.churn * float64(h.o.instances) / 60
		l := paced(ctx, "change", 2, perSecond, 0, h.o.length, h.change)
		fmt.Fprintln(h.out, l)
		return ctx.Err()
	})
	work.Go(func() error {
		defer stop()
		err := h.load(ctx, "renew", h.o.rate, 0, h.o.length, h.renew)
		sleep(ctx, h.o.refresh/2) // the changes end, and what they made is asked for
		return err
	})
	if err := work.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// renew sends the n-th heartbeat. One whose instance is or was just cancelled
// may get 404.
func (h *held) renew(ctx context.Context, n int) error {
	n %= h.o.instances
	err := h.send(ctx, renew(n), http.StatusOK)
	if _, gone := h.gone.Load(n); gone {
		return nil
	}
	return err
}

// change makes the n-th change: instances, far apart from each other, go down,
// come back, get other metadata, go, and new ones come.
func (h *held) change(ctx context.Context, n int) error {
	const stride = 7919 // a prime, so that no instance comes twice
	target := n * stride % h.o.instances
	switch n % 4 {
	case 0:
		return h.insist(ctx, register(target, 1, eureka.Down), http.StatusNoContent)
	case 1:
		return h.insist(ctx, register(target, 1, eureka.Up), http.StatusNoContent)
	case 2:
		h.gone.Store(target, true)
		return h.send(ctx, cancel(target), http.StatusOK)
	}
	return h.insist(ctx, register(h.o.instances+n, 0, eureka.Starting), http.StatusNoContent)
}

// asTable demands that, once nothing changes any more, all containers show the
// hash code of what the table holds.
func (h *held) asTable(ctx context.Context, readers []*container) error {
	// Two turns later all that was written is in the view of each.
	sleep(ctx, 2*h.o.refresh+h.o.refresh/4)
	leases, err := h.tables.Scan(ctx)
	if err != nil {
		return err
	}
	counts := eureka.StatusCounts{}
	for i := range leases {
		if instance := leases[i].Effective(); instance != nil {
			counts.Count(instance)
		}
	}
	last := &ledger{}
	for _, c := range readers {
		c.ledger, c.lastTag = last, ""
		if err := c.look(ctx); err != nil {
			return err
		}
	}
	for _, s := range last.sightings {
		if s.hash != counts.HashCode() {
			return fmt.Errorf("container %d shows %s, the table holds %s", s.container, s.hash, counts.HashCode())
		}
	}
	if len(last.sightings) != len(readers) {
		return fmt.Errorf("%d of %d containers show changes", len(last.sightings), len(readers))
	}
	fmt.Fprintf(h.out, "in the end all %d containers and the table have %s\n", len(readers), counts.HashCode())
	return nil
}
