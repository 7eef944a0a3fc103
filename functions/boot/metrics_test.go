package boot_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
)

// clock is a time that a test moves on.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.UnixMilli(1_773_100_000_000)} }

func (c *clock) Now() time.Time { return c.now }

func TestMetricsLine(t *testing.T) {
	var out bytes.Buffer
	m := boot.NewMetrics(&out, "read", boot.FlushEvery, newClock().Now)
	m.Record(handlers.RowsWritten, 2)
	m.Record(handlers.RowsWritten, 3)
	m.Record(handlers.Leases, 7)
	m.Record(handlers.Leases, 5)
	m.Record(handlers.RegistryAge, 9)
	m.Record(handlers.RegistryAge, 4)
	m.Flush()
	assert.JSONEq(t, `{
		"_aws": {"Timestamp": 1773100000000, "CloudWatchMetrics": [{
			"Namespace": "EurekaRegistry", "Dimensions": [["FunctionName"]],
			"Metrics": [
				{"Name": "Leases", "Unit": "Count"},
				{"Name": "RowsWritten", "Unit": "Count"},
				{"Name": "RegistryAge", "Unit": "Seconds"}
			]
		}]},
		"FunctionName": "read", "Leases": 5, "RowsWritten": 5, "RegistryAge": 9
	}`, out.String())
	assert.True(t, strings.HasSuffix(out.String(), "}\n"))
}

// TestMetricsAtMostOnceAMinute: whatever happens, one line a minute, and what
// is recorded between is in the next.
func TestMetricsAtMostOnceAMinute(t *testing.T) {
	var out bytes.Buffer
	c := newClock()
	m := boot.NewMetrics(&out, "read", boot.FlushEvery, c.Now)
	m.Flush()
	assert.Empty(t, out.String(), "nothing to say")
	total := 0.0
	for range 1000 {
		m.Record(handlers.RowsWritten, 1)
		m.Flush()
		c.now = c.now.Add(300 * time.Millisecond)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	assert.Len(t, lines, 5, "in five minutes")
	for _, line := range lines {
		var values struct{ RowsWritten float64 }
		require.NoError(t, json.Unmarshal([]byte(line), &values))
		total += values.RowsWritten
	}
	assert.Equal(t, 801.0, total, "up to the last flush")
}

func TestMetricsEachTime(t *testing.T) {
	var out bytes.Buffer
	m := boot.NewMetrics(&out, "evict", 0, newClock().Now)
	for range 3 {
		m.Record(handlers.Leases, 1)
		m.Flush()
	}
	assert.Equal(t, 3, strings.Count(out.String(), "\n"))
}

func TestMetricsConcurrently(t *testing.T) {
	var out bytes.Buffer
	m := boot.NewMetrics(&out, "read", boot.FlushEvery, newClock().Now)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				m.Record(handlers.StoreFailures, 1)
				m.Flush()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 1, strings.Count(out.String(), "\n"))
}
