package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/local/bench/process"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/dynamodb"
)

// turning is read containers that turn over together.
type turning struct {
	o      options
	out    io.Writer
	tables storage.Tables
	caches []*view.Cache

	mu    sync.Mutex
	turns []turn
	units float64
	reads int
}

// turn is one turn of one container.
type turn struct {
	view.Refresh
	ended time.Time
}

// turnOver is the second part: containers with all instances in their views
// turn over, each at its own moment between a tenth and two tenths of the
// interval after the boundary, as requests come all the time.
func turnOver(ctx context.Context, o options, e *engine, out io.Writer) error {
	unbilled, err := o.parts(e, ignoreUsage)
	if err != nil {
		return err
	}
	t := &turning{o: o, out: out, tables: unbilled.Tables}
	billed, err := o.parts(e, t.bill)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d containers of %d instances\n", o.turning, o.instances)
	snapshot := &delta.Snapshot{Began: time.Now().Add(-time.Minute), Entries: entries(o.instances, time.Now().Add(-time.Hour))}
	if err := t.tables.PutSnapshot(ctx, snapshot); err != nil {
		return err
	}
	if err := t.past(ctx, billed.Config.DeltaRetention); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return t.changes(ctx) })
	work.Go(func() error {
		defer stop()
		if err := t.load(ctx, billed.Config, billed.Tables); err != nil {
			return err
		}
		return t.run(ctx)
	})
	return work.Wait()
}

// load makes the containers, and lets each load.
func (t *turning) load(ctx context.Context, cfg boot.Config, from view.Source) error {
	source := &sharedSnapshot{Source: from}
	for range t.o.turning {
		c := view.New(view.Config{
			Source: source, Interval: cfg.CacheRefresh, Retention: cfg.DeltaRetention,
			OnRefresh: t.note, Logger: slog.New(slog.DiscardHandler),
		})
		if _, err := c.View(ctx); err != nil {
			return err
		}
		t.caches = append(t.caches, c)
	}
	used, err := process.Of(os.Getpid())
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "all loaded, %d MiB resident\n", used.Resident>>20)
	return nil
}

// sharedSnapshot loads the snapshot once: the instances of 150 containers
// would not fit into one machine. Each container's view of them is its own, and
// so is what it reads of the deltas.
type sharedSnapshot struct {
	view.Source
	once     sync.Once
	snapshot *delta.Snapshot
	err      error
}

// Snapshot implements [view.Source].
func (s *sharedSnapshot) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	s.once.Do(func() {
		if s.snapshot, s.err = s.Source.Snapshot(ctx); s.err != nil {
			return
		}
		for i, e := range s.snapshot.Entries {
			s.snapshot.Entries[i].Instance = view.Settled(e.Instance)
		}
	})
	if s.err != nil {
		return nil, s.err
	}
	return &delta.Snapshot{Began: s.snapshot.Began, Entries: slices.Clone(s.snapshot.Entries)}, nil
}

// bill adds up what the containers read.
func (t *turning) bill(_ context.Context, u dynamodb.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.units += u.ReadUnits
	t.reads += u.Attempts
}

// note takes a turn.
func (t *turning) note(_ context.Context, made view.Refresh) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turns = append(t.turns, turn{made, time.Now()})
}

// run asks all containers again and again, for so many turns, and tells about
// each.
func (t *turning) run(ctx context.Context) error {
	// Not in the middle of a turn.
	next := time.Now().Truncate(t.o.refresh).Add(t.o.refresh)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	work, ctx := errgroup.WithContext(ctx)
	for _, c := range t.caches {
		work.Go(func() error { return serve(ctx, c) })
	}
	work.Go(func() error {
		defer stop()
		for range t.o.turns {
			if !sleep(ctx, time.Until(next)) {
				return ctx.Err()
			}
			t.begin()
			if !sleep(ctx, time.Until(next.Add(t.o.refresh*9/10))) {
				return ctx.Err()
			}
			if err := t.tell(next); err != nil {
				return err
			}
			next = next.Add(t.o.refresh)
		}
		return nil
	})
	return work.Wait()
}

// serve asks a container twenty times a second, as its clients would.
func serve(ctx context.Context, c *view.Cache) error {
	for sleep(ctx, 50*time.Millisecond) {
		if _, err := c.View(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (t *turning) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turns, t.units, t.reads = nil, 0, 0
}

// tell prints a turn, and fails when not all containers made it until the next
// is near. Tries that failed are counted: a container serves the view before
// and tries again.
func (t *turning) tell(boundary time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var took, ended []time.Duration
	rows, failed := 0, 0
	for _, made := range t.turns {
		if made.Err != nil {
			failed++
		} else if made.Boundary.Equal(boundary) {
			took, ended, rows = append(took, made.Took), append(ended, made.ended.Sub(boundary)), rows+made.Rows
		}
	}
	if len(took) != len(t.caches) {
		return fmt.Errorf("%d of %d containers turned over to %s, %d tries failed", len(took), len(t.caches), boundary.Format(time.TimeOnly), failed)
	}
	slices.Sort(took)
	slices.Sort(ended)
	n := len(took)
	fmt.Fprintf(t.out, "turn: %d containers %.1f to %.1f s after the boundary, %.1f read units and %.1f requests each for %d rows; took p50 %s, p99 %s; %d tries failed\n",
		n, ended[0].Seconds(), ended[n-1].Seconds(), t.units/float64(n), float64(t.reads)/float64(n), rows/n,
		took[n/2].Round(time.Millisecond), took[n*99/100].Round(time.Millisecond), failed)
	return nil
}

// entries is the registry as a snapshot holds it.
func entries(instances int, began time.Time) []delta.Entry {
	out := make([]delta.Entry, instances)
	for n := range out {
		i := instance(n, eureka.Up, began)
		out[n] = delta.Entry{Key: i.Key(), Version: 1, Instance: i}
	}
	return out
}

// perSecond is how many instances change a second.
func (t *turning) perSecond() int {
	return int(math.Ceil(t.o.churn * float64(t.o.instances) / 60))
}

// changes puts the rows of the changes as they come, once a second.
func (t *turning) changes(ctx context.Context) error {
	perSecond := t.perSecond()
	for n := 0; sleep(ctx, time.Second); n += perSecond {
		if err := t.tables.Put(ctx, t.rows(n, perSecond, time.Now())); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// past puts the rows of the changes before now.
func (t *turning) past(ctx context.Context, retention time.Duration) error {
	perSecond := t.perSecond()
	now := time.Now()
	for second := range int(retention.Seconds()) {
		if err := t.tables.Put(ctx, t.rows(second*perSecond, perSecond, now.Add(-time.Duration(second+1)*time.Second))); err != nil {
			return err
		}
	}
	return nil
}

// rows are of instances that went down.
func (t *turning) rows(from, count int, written time.Time) []delta.Row {
	var out []delta.Row
	for n := from; n < from+count; n++ {
		i := instance(n*7919%t.o.instances, eureka.Down, written)
		i.Action = eureka.Modified
		out = append(out, delta.Row{
			Key: i.Key(), Version: written.UnixMilli(), Instance: i, Sequence: strconv.FormatInt(written.UnixMilli()*1000+int64(n-from), 10), Written: written,
		})
	}
	return out
}
