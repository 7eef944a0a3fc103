package httpapi_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/view"
)

// counting counts reads of the tables.
type counting struct {
	view.Source
	httpapi.Publications
	scans, loads, statistics, recent int
}

func (c *counting) Scan(ctx context.Context) ([]eureka.Lease, error) {
	c.scans++
	return c.Source.Scan(ctx)
}

func (c *counting) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	c.loads++
	return c.Source.Snapshot(ctx)
}

func (c *counting) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	c.loads++
	return c.Source.Deltas(ctx, since, until)
}

func (c *counting) Statistics(ctx context.Context) (delta.Statistics, error) {
	c.statistics++
	return c.Publications.Statistics(ctx)
}

func (c *counting) Recent(ctx context.Context) (delta.Recent, error) {
	c.recent++
	return c.Publications.Recent(ctx)
}

// countingServer returns a server whose reads of the tables are counted.
func countingServer(t *testing.T, interval time.Duration) (*server, *counting) {
	reads := &counting{}
	var s *server
	s = newServer(t, func(c *httpapi.Config) {
		reads.Source, reads.Publications = c.Publications.(view.Source), c.Publications
		c.Cache = view.New(view.Config{Source: reads, Interval: interval, Now: func() time.Time { return s.now }})
		c.Publications = reads
	})
	return s, reads
}

// TestHealthReadsLittle: however often health is asked, by anybody, and however
// the pages are, they read little from the tables, and with an interval of 0
// health scans nothing.
func TestHealthReadsLittle(t *testing.T) {
	const requests = 1000 // in a second of the server's clock
	for _, c := range []struct {
		path                             string
		interval                         time.Duration
		scans, loads, statistics, recent int
	}{
		{"/health", 0, 0, 0, 12, 0},
		{"/eureka/health", 0, 0, 0, 12, 0},
		{"/health", 30 * time.Second, 1, 2, 12, 0},
		{"/status", 0, 0, 0, 12, 0},
		{"/lastn", 0, 0, 0, 0, 12},
	} {
		t.Run(fmt.Sprint(c.path, " ", c.interval), func(t *testing.T) {
			s, reads := countingServer(t, c.interval)
			for range requests {
				s.must(200, s.do("GET", c.path, ""))
			}
			assert.LessOrEqual(t, reads.scans, c.scans, "scans")
			assert.LessOrEqual(t, reads.loads, c.loads, "loads")
			assert.LessOrEqual(t, reads.statistics, c.statistics, "statistics")
			assert.LessOrEqual(t, reads.recent, c.recent, "lists")
		})
	}
}

// TestHealthTellsOfChanges: what is spared is a second, no more.
func TestHealthTellsOfChanges(t *testing.T) {
	source := &failingSource{}
	var s *server
	s = newServer(t, func(c *httpapi.Config) {
		source.Source = c.Publications.(view.Source)
		c.Cache = view.New(view.Config{Source: source, Interval: 30 * time.Second, Now: func() time.Time { return s.now }})
	})
	for range 100 {
		s.must(200, s.do("GET", "/health", ""))
	}
	source.broken = true
	s.now = s.now.Add(time.Minute)
	s.must(503, s.do("GET", "/health", ""))
}

// TestColdHealthReadsLittle: a table that cannot be read is not read all the
// more because somebody asks.
func TestColdHealthReadsLittle(t *testing.T) {
	source := &failingSource{broken: true}
	tries := 0
	var s *server
	s = newServer(t, func(c *httpapi.Config) {
		source.Source = c.Publications.(view.Source)
		c.Cache = view.New(view.Config{
			Source: source, Interval: 30 * time.Second, Now: func() time.Time { return s.now },
			OnRefresh: func(context.Context, view.Refresh) { tries++ },
		})
	})
	for range 1000 {
		s.must(503, s.do("GET", "/health", ""))
	}
	assert.LessOrEqual(t, tries, 12)
}
