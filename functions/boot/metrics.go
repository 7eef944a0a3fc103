package boot

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/eurekaless/registry/functions/handlers"
)

// Namespace is where the metrics are in CloudWatch; Dimension is their only
// dimension, the function's name.
const (
	Namespace = "EurekaRegistry"
	Dimension = "FunctionName"
)

// FlushEvery is the least time between two lines of metrics. A function that
// is invoked once a minute writes a line each time (0).
const FlushEvery = time.Minute

// Metrics writes what the handlers measure in CloudWatch's embedded metric
// format: one log line a flush, whatever the number of invocations between.
// What a container measured since its last flush is lost with it. It is safe
// for concurrent use.
type Metrics struct {
	out      io.Writer
	function string
	every    time.Duration
	now      func() time.Time

	mu      sync.Mutex
	values  map[handlers.Metric]float64
	flushed time.Time
}

// NewMetrics returns a meter that writes to out at most every so often.
func NewMetrics(out io.Writer, function string, every time.Duration, now func() time.Time) *Metrics {
	return &Metrics{out: out, function: function, every: every, now: now, values: map[handlers.Metric]float64{}}
}

var _ handlers.Meter = (*Metrics)(nil)

// Record takes a value.
func (m *Metrics) Record(metric handlers.Metric, value float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, ok := m.values[metric]
	switch metric.Definition().Kind {
	case handlers.Sum:
		value += held
	case handlers.Max:
		if ok {
			value = max(value, held)
		}
	}
	m.values[metric] = value
}

// Flush writes a line when there is something to write and the last one is
// long enough ago.
func (m *Metrics) Flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if len(m.values) == 0 || !m.flushed.IsZero() && now.Sub(m.flushed) < m.every {
		return
	}
	m.flushed = now
	line := m.line(now)
	clear(m.values)
	// A line that cannot be written has nowhere to be complained of.
	_, _ = m.out.Write(line)
}

// emfMetric and emfDirective are the format's own:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
type emfMetric struct {
	Name string
	Unit string
}

type emfDirective struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []emfMetric
}

type emfMetadata struct {
	Timestamp         int64
	CloudWatchMetrics []emfDirective
}

// line returns the values as a line of the log.
func (m *Metrics) line(now time.Time) []byte {
	directive := emfDirective{Namespace: Namespace, Dimensions: [][]string{{Dimension}}}
	document := map[string]any{Dimension: m.function}
	for _, metric := range slices.Sorted(maps.Keys(m.values)) {
		d := metric.Definition()
		directive.Metrics = append(directive.Metrics, emfMetric{d.Name, d.Unit})
		document[d.Name] = m.values[metric]
	}
	document["_aws"] = emfMetadata{Timestamp: now.UnixMilli(), CloudWatchMetrics: []emfDirective{directive}}
	line, err := json.Marshal(document)
	if err != nil {
		// Only a value that is no number can be the cause.
		return nil
	}
	return append(line, '\n')
}
