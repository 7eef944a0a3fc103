package handlers

import "slices"

// Meter takes what the handlers measure. It is safe for concurrent use and
// never blocks on anything but itself.
type Meter interface {
	// Record takes one value of a metric.
	Record(m Metric, value float64)
	// Flush may pass on what was recorded; called after each invocation.
	Flush()
}

// Metric is one of the things that are measured. There are as many as the
// constants below: a metric costs money by the month.
type Metric int

// The metrics; [Metric.Definition] says what each means.
const (
	Leases Metric = iota
	LeasesExpected
	LeasesSeen
	SelfPreservation
	LeasesExpired
	LeasesEvicted
	EvictionsFailed
	EvictionLateness
	RowsHealed
	RowsWritten
	RowsFailed
	RecordsNotUnderstood
	StreamAge
	RegistryAge
	StoreFailures
	RegionsAbsent
	ClockDifference
	metricCount
)

// Kind says what becomes of several values between two flushes.
type Kind int

// The kinds.
const (
	// Sum adds them.
	Sum Kind = iota
	// Last keeps the last one.
	Last
	// Max keeps the greatest.
	Max
)

// Definition describes a metric.
type Definition struct {
	// Name is the metric's in CloudWatch.
	Name string
	// Unit is one of CloudWatch's.
	Unit    string
	Kind    Kind
	Meaning string
}

var definitions = [metricCount]Definition{
	Leases:               {"Leases", "Count", Last, "leases that an eviction pass found"},
	LeasesExpected:       {"LeasesExpected", "Count", Last, "leases that ought to renew"},
	LeasesSeen:           {"LeasesSeen", "Count", Last, "leases that renew as the living do"},
	SelfPreservation:     {"SelfPreservation", "Count", Last, "1 while evictions are held back, else 0"},
	LeasesExpired:        {"LeasesExpired", "Count", Last, "leases that had ended at a pass, evicted or not"},
	LeasesEvicted:        {"LeasesEvicted", "Count", Sum, "leases that were evicted"},
	EvictionsFailed:      {"EvictionsFailed", "Count", Sum, "evictions that the store failed"},
	EvictionLateness:     {"EvictionLateness", "Seconds", Max, "by how much a pass came late"},
	RowsHealed:           {"RowsHealed", "Count", Sum, "changes that no stream record had brought to the readers"},
	RowsWritten:          {"RowsWritten", "Count", Sum, "changes that the stream brought to the readers"},
	RowsFailed:           {"RowsFailed", "Count", Sum, "changes that could not be written and were reported for another try"},
	RecordsNotUnderstood: {"RecordsNotUnderstood", "Count", Sum, "stream records that were passed by"},
	StreamAge:            {"StreamAge", "Seconds", Max, "age of the oldest record of a batch when its rows were written"},
	RegistryAge:          {"RegistryAge", "Seconds", Max, "age of the view that a read was answered from"},
	RegionsAbsent:        {"RegionsAbsent", "Count", Max, "remote regions that could not be read and are left out"},
	ClockDifference:      {"ClockDifference", "Seconds", Max, "by how much the clock differs from the database's, while that is more than the allowance"},
	StoreFailures:        {"StoreFailures", "Count", Sum, "operations that the store throttled or failed, after retries"},
}

// Definition returns what describes the metric.
func (m Metric) Definition() Definition { return definitions[m] }

// Metrics returns all definitions, in the order of the constants.
func Metrics() []Definition { return slices.Clone(definitions[:]) }

// Unmetered is the Meter of those who measure nothing.
type Unmetered struct{}

// Record does nothing.
func (Unmetered) Record(Metric, float64) {}

// Flush does nothing.
func (Unmetered) Flush() {}
