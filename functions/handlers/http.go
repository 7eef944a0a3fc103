package handlers

import (
	"context"
	"time"

	"github.com/eurekaless/registry/functions/gateway"
)

// HTTP is the handler of the write and of the read function: gateway events,
// answered by the core's HTTP handler. It is safe for concurrent use.
type HTTP struct {
	gateway *gateway.Handler
	meter   Meter
	age     func() (time.Duration, bool)
}

// HTTPConfig is what an [HTTP] works with.
type HTTPConfig struct {
	// Gateway answers events; required.
	Gateway *gateway.Handler
	// Meter takes the metrics; default none.
	Meter Meter
	// Age returns how old the registry is that reads are answered from, and
	// false before there is one; nil in a function that has none.
	Age func() (time.Duration, bool)
}

// NewHTTP returns a handler of gateway events.
func NewHTTP(cfg HTTPConfig) *HTTP {
	h := &HTTP{gateway: cfg.Gateway, meter: cfg.Meter, age: cfg.Age}
	if h.meter == nil {
		h.meter = Unmetered{}
	}
	return h
}

// Invoke answers one gateway event.
func (h *HTTP) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	defer h.meter.Flush()
	ctx, cancel := within(ctx)
	defer cancel()
	answer, err := h.gateway.Invoke(ctx, payload)
	if h.age != nil {
		if age, ok := h.age(); ok {
			h.meter.Record(RegistryAge, age.Seconds())
		}
	}
	return answer, err
}
