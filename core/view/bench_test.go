package view

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// sizes are the fleets that are measured, ten instances to an application.
var sizes = []int{1000, 10_000, 100_000}

// benchSource hands out a fixed snapshot and the rows of the next turn.
type benchSource struct {
	entries []delta.Entry
	rows    []delta.Row
	began   time.Time
}

func (s *benchSource) Snapshot(context.Context) (*delta.Snapshot, error) {
	return &delta.Snapshot{Began: s.began, Entries: slices.Clone(s.entries)}, nil
}

func (s *benchSource) Scan(context.Context) ([]eureka.Lease, error) { panic("there is a snapshot") }

func (s *benchSource) Deltas(context.Context, time.Time, time.Time) ([]delta.Row, error) {
	return s.rows, nil
}

// bench is a cache of n instances of which some change each turn.
type bench struct {
	*Cache
	source *benchSource
	now    time.Time
	turn   int
}

func newBench(n int) *bench {
	b := &bench{source: &benchSource{began: start, entries: make([]delta.Entry, n)}, now: start.Add(3 * time.Second)}
	for i := range b.source.entries {
		instance := fleetInstance(i)
		b.source.entries[i] = delta.Entry{Key: instance.Key(), Version: 1, Instance: instance}
	}
	b.Cache = b.cold()
	return b
}

// cold returns a cold cache.
func (b *bench) cold() *Cache {
	return New(Config{
		Source: b.source, Interval: 30 * time.Second, Offset: 0.1,
		Now: func() time.Time { return b.now }, Logger: slog.New(slog.DiscardHandler),
	})
}

// change makes the rows of the next turn: so many instances, far apart, change
// their status.
func (b *bench) change(count int) {
	b.turn++
	b.now = b.now.Add(30 * time.Second)
	rows := make([]delta.Row, count)
	for i := range rows {
		n := (i*len(b.source.entries)/count + b.turn*37) % len(b.source.entries)
		instance := *b.source.entries[n].Instance
		instance.Action = eureka.Modified
		if instance.Status = eureka.Up; b.turn%2 == 1 {
			instance.Status = eureka.Down
		}
		rows[i] = delta.Row{
			Key: b.source.entries[n].Key, Version: int64(b.turn + 1), Instance: &instance,
			Written: b.now.Add(-10 * time.Second),
		}
	}
	b.source.rows = rows
}

func (b *bench) view(tb testing.TB) *View {
	v, err := b.View(context.Background())
	require.NoError(tb, err)
	return v
}

func eachSizeAndChange(b *testing.B, run func(b *testing.B, cache *bench, changes int)) {
	for _, n := range sizes {
		cache := newBench(n)
		cache.view(b).All(jsonFull).Gzip()
		for _, changes := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("instances=%d/changes=%d", n, changes), func(b *testing.B) {
				b.ReportAllocs()
				run(b, cache, changes)
			})
		}
	}
}

// BenchmarkRefresh is the turn from one view to the next, reading excluded.
func BenchmarkRefresh(b *testing.B) {
	eachSizeAndChange(b, func(b *testing.B, cache *bench, changes int) {
		for b.Loop() {
			b.StopTimer()
			cache.change(changes)
			b.StartTimer()
			cache.view(b)
		}
	})
}

// BenchmarkFirstRead is the first full answer after a turn, as gzip JSON.
func BenchmarkFirstRead(b *testing.B) {
	eachSizeAndChange(b, func(b *testing.B, cache *bench, changes int) {
		for b.Loop() {
			b.StopTimer()
			cache.change(changes)
			v := cache.view(b)
			b.StartTimer()
			v.All(jsonFull).Gzip()
		}
	})
}

// BenchmarkNextRead is every other full answer.
func BenchmarkNextRead(b *testing.B) {
	cache := newBench(10_000)
	cache.view(b).All(jsonFull).Gzip()
	b.ReportAllocs()
	for b.Loop() {
		body := cache.view(b).All(jsonFull)
		body.Gzip()
		body.ETag(true)
	}
}

// BenchmarkColdLoad is what a load costs beside reading and decoding the
// snapshot: the view alone, and with its first answer.
func BenchmarkColdLoad(b *testing.B) {
	for _, n := range sizes {
		cache := newBench(n)
		for _, answer := range []bool{false, true} {
			b.Run(fmt.Sprintf("instances=%d/answer=%v", n, answer), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					v, err := cache.cold().View(context.Background())
					require.NoError(b, err)
					if answer {
						v.All(jsonFull).Gzip()
					}
				}
			})
		}
	}
}

// BenchmarkBody is a body made from nothing, with its size in bytes.
func BenchmarkBody(b *testing.B) {
	for _, n := range sizes[:2] {
		s := fleet(n)
		for _, e := range encodings {
			for name, c := range map[string]coding{"plain": plain, "gzip": gzipped} {
				b.Run(fmt.Sprintf("all/instances=%d/%v/compact=%v/%s", n, e.Format, e.Compact, name), func(b *testing.B) {
					b.ReportAllocs()
					var d deflaters
					size := 0
					for b.Loop() {
						lent := d.get()
						size = len(newDocument(s.applications, s.counts.HashCode(), representation{e, c}, lent, nil).data)
						d.put(lent)
					}
					b.ReportMetric(float64(size), "bytes")
				})
			}
		}
	}
	cache := newBench(10_000)
	cache.view(b)
	cache.change(1000)
	v := cache.view(b)
	application, _ := v.Application("SERVICE-0001", jsonFull)
	for name, body := range map[string]*Body{
		"delta of 1000": v.Delta(jsonFull), "application of 10": application, "VIP of 10": v.VIP("SERVICE-0001.vip", jsonFull),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body.maker.make(gzipped)
			}
		})
	}
}

// BenchmarkFootprint reports what a warm cache holds in memory while it turns
// over and answers gzip JSON.
func BenchmarkFootprint(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			for b.Loop() {
				before := liveHeap()
				cache := newBench(n)
				cache.view(b).All(jsonFull).Gzip()
				for range 3 {
					cache.change(100)
					cache.view(b).All(jsonFull).Gzip()
				}
				all := liveHeap()
				cache.Cache = nil
				instances := liveHeap()
				b.ReportMetric(float64(instances-before)/(1<<20), "MiB-instances")
				b.ReportMetric(float64(all-instances)/(1<<20), "MiB-cache")
				runtime.KeepAlive(cache)
			}
		})
	}
}

// liveHeap returns how many bytes are reachable.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
