package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/gateway"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/local/bench/process"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/memory"
)

// BenchmarkHandlers measures the Lambda handlers, event JSON in and answer JSON
// out, with the tables in memory: what is left is the functions' own work.
func BenchmarkHandlers(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		s := newStage(b, n)
		cases := []struct {
			name    string
			handler handler
			request func(i int) request
		}{
			{"renew", s.write, func(i int) request { return s.fleet.heartbeat(i % n) }},
			{"register", s.write, func(i int) request { return s.fleet.register(n + i) }},
			{"full read", s.read, func(int) request { return request{method: http.MethodGet, path: "/apps", want: http.StatusOK} }},
			{"delta", s.read, func(int) request {
				return request{method: http.MethodGet, path: "/apps/delta", want: http.StatusOK}
			}},
			{"one app", s.read, func(i int) request { return s.fleet.application(i % n) }},
		}
		for _, c := range cases {
			b.Run(fmt.Sprintf("%s/instances=%d", c.name, n), func(b *testing.B) {
				s.measure(b, c.handler, c.request)
			})
		}
	}
}

// BenchmarkHeartbeatFromMemory measures a heartbeat that needs no write beside
// what the gateway's translation of the same event costs alone: at most 5 us of
// processor time more.
func BenchmarkHeartbeatFromMemory(b *testing.B) {
	const n = 1000
	s := newStage(b, n)
	s.parts.Config.RenewalWriteInterval = time.Hour
	remembering := s.parts.Write()
	for i := range n {
		s.ask(b, remembering, s.fleet.heartbeat(i))
	}
	nothing := handlers.NewHTTP(handlers.HTTPConfig{Gateway: gateway.New(gateway.Config{
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
		Log:  s.parts.Log,
	})})
	heartbeat := func(i int) request { return s.fleet.heartbeat(i % n) }
	b.Run("gateway", func(b *testing.B) { s.measure(b, nothing, heartbeat) })
	b.Run("memory", func(b *testing.B) { s.measure(b, remembering, heartbeat) })
	b.Run("written", func(b *testing.B) { s.measure(b, s.write, heartbeat) })
}

type handler interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
}

// stage is both HTTP functions on a fleet that has registered.
type stage struct {
	fleet       fleet
	now         time.Time
	write, read handler
	parts       *boot.Parts
}

// newStage registers n instances and lets a read container load them: all are
// in its view, and in the deltas too.
func newStage(b *testing.B, n int) *stage {
	b.Helper()
	cfg, err := boot.Load(func(string) (string, bool) { return "", false }, boot.Local)
	require.NoError(b, err)
	store := memory.New(memory.Config{})
	s := &stage{fleet: fleet{perApp: 10}, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	parts := &boot.Parts{
		Config: cfg, Tables: storage.Tables{LeaseTable: store, DeltaTable: store},
		Log: slog.New(slog.DiscardHandler), Meter: handlers.Unmetered{},
		Now: func() time.Time { return s.now }, Environment: "bench",
	}
	s.parts, s.write, s.read = parts, parts.Write(), parts.Read()
	for i := range n {
		s.ask(b, s.write, s.fleet.register(i))
	}
	require.NoError(b, store.Put(b.Context(), rows(store, s.now)))
	s.now = s.now.Add(time.Minute)
	s.ask(b, s.read, request{method: http.MethodGet, path: "/apps", want: http.StatusOK})
	return s
}

// rows is what the stream handler makes of the table's changes so far.
func rows(store *memory.Store, now time.Time) []delta.Row {
	var out []delta.Row
	for _, record := range store.Records(0) {
		if row, ok := delta.Project(record.Image); ok {
			row.Written = now
			out = append(out, row)
		}
	}
	return out
}

// ask calls a handler once and checks the answer's status.
func (s *stage) ask(b *testing.B, h handler, r request) []byte {
	b.Helper()
	answer, err := h.Invoke(b.Context(), event(b, r))
	require.NoError(b, err)
	var got struct{ StatusCode int }
	require.NoError(b, json.Unmarshal(answer, &got))
	require.Equal(b, r.want, got.StatusCode, string(answer))
	return answer
}

// measure asks again and again with events made before.
func (s *stage) measure(b *testing.B, h handler, r func(i int) request) {
	events := make([][]byte, 1000)
	for i := range events {
		events[i] = event(b, r(i))
	}
	size := len(s.ask(b, h, r(0)))
	b.ReportAllocs()
	b.ReportMetric(float64(size), "answer-bytes")
	i := 0
	before := processorTime(b)
	for b.Loop() {
		if _, err := h.Invoke(b.Context(), events[i%len(events)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// processorTime is what this process has used so far, garbage collection
// included: on a machine that others use too it says more than the time that
// went by.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	used, err := process.Of(os.Getpid())
	require.NoError(b, err)
	return used.Processor
}

// event is the request as an HTTP API hands it on.
func event(b *testing.B, r request) []byte {
	b.Helper()
	path, query, _ := strings.Cut(r.path, "?")
	out, err := json.Marshal(map[string]any{
		"version": "2.0", "routeKey": "$default", "rawPath": "/eureka" + path, "rawQueryString": query, "body": string(r.body),
		"headers": map[string]string{
			"accept": "application/json", "accept-encoding": "gzip", "content-type": "application/json",
			"host": "abcdef1234.execute-api.eu-central-1.amazonaws.com", "user-agent": "Java-EurekaClient/v2.0.4",
		},
		"requestContext": map[string]any{
			"domainName": "abcdef1234.execute-api.eu-central-1.amazonaws.com", "stage": "$default",
			"http": map[string]string{"method": r.method, "path": "/eureka" + path, "sourceIp": "192.0.2.44"},
		},
	})
	require.NoError(b, err)
	return out
}
