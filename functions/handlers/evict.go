package handlers

import (
	"context"
	"fmt"

	"github.com/eurekaless/registry/core/eviction"
)

// Pass is what an eviction pass is to [Evict].
type Pass interface {
	Run(ctx context.Context) (eviction.Report, error)
}

// EvictConfig is what an [Evict] works with.
type EvictConfig struct {
	// Pass is run at each invocation; required.
	Pass Pass
	// Meter takes the metrics; default none.
	Meter Meter
}

// Evict runs one eviction pass an invocation. Of two at once, one does nothing.
type Evict struct {
	cfg EvictConfig
}

// NewEvict returns the handler of the schedule.
func NewEvict(cfg EvictConfig) *Evict {
	if cfg.Meter == nil {
		cfg.Meter = Unmetered{}
	}
	return &Evict{cfg: cfg}
}

// Invoke handles one event of the schedule, whatever is in it: the time that
// counts is that of the pass itself.
func (e *Evict) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	if err := e.Handle(ctx); err != nil {
		return nil, err
	}
	return []byte("null"), nil
}

// Handle runs a pass. A pass that did a part of its work has an error too; the
// next one does the rest.
func (e *Evict) Handle(ctx context.Context) error {
	defer e.cfg.Meter.Flush()
	ctx, cancel := within(ctx)
	defer cancel()
	report, err := e.cfg.Pass.Run(ctx)
	e.record(&report)
	if err != nil {
		return fmt.Errorf("eviction pass: %w", err)
	}
	return nil
}

// record measures what a pass found and did. Without a scan it found nothing,
// which must not look like an empty registry.
func (e *Evict) record(r *eviction.Report) {
	if !r.Scanned {
		return
	}
	preserved := 0.0
	if r.Statistics.SelfPreservation {
		preserved = 1
	}
	for metric, value := range map[Metric]float64{
		Leases:           float64(r.Statistics.Leases),
		LeasesExpected:   float64(r.Statistics.Expected),
		LeasesSeen:       float64(r.Statistics.Seen),
		SelfPreservation: preserved,
		LeasesExpired:    float64(r.Expired),
		LeasesEvicted:    float64(r.Evicted),
		EvictionsFailed:  float64(r.Failed),
		EvictionLateness: r.Lateness.Seconds(),
		RowsHealed:       float64(r.Healed),
	} {
		e.cfg.Meter.Record(metric, value)
	}
}
