package handlers

import (
	"context"
	"encoding/json"
	"io"
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
	return invoke(ctx, h, payload, h.gateway.Invoke)
}

// Stream is Invoke for a function behind a function URL or REST API that streams
// answers.
func (h *HTTP) Stream(ctx context.Context, payload json.RawMessage) (io.Reader, error) {
	return invoke(ctx, h, payload, h.gateway.Stream)
}

// invoke answers one event by one of the gateway's ways.
func invoke[A any](ctx context.Context, h *HTTP, payload []byte, by func(context.Context, []byte) (A, error)) (A, error) {
	defer h.meter.Flush()
	ctx, cancel := within(ctx)
	defer cancel()
	answer, err := by(ctx, payload)
	if h.age != nil {
		if age, ok := h.age(); ok {
			h.meter.Record(RegistryAge, age.Seconds())
		}
	}
	return answer, err
}
