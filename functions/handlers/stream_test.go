package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage/dynamodb"
)

// sink keeps rows by what makes them unique; put, if set, decides.
type sink struct {
	rows map[string]delta.Row
	puts int
	put  func(rows []delta.Row) error
	// hold, if set, is called first and may wait.
	hold func(ctx context.Context)
}

func (s *sink) Put(ctx context.Context, rows []delta.Row) error {
	s.puts++
	if s.hold != nil {
		s.hold(ctx)
	}
	var unwritten *delta.UnwrittenError
	if s.put != nil {
		if err := s.put(rows); err != nil && !errors.As(err, &unwritten) {
			return err
		}
	}
	for i, r := range rows {
		if unwritten == nil || !contains(unwritten.Indexes, i) {
			s.rows[r.Key.String()+r.Sequence+r.Written.String()] = r
		}
	}
	if unwritten != nil {
		return unwritten
	}
	return nil
}

func contains(list []int, n int) bool {
	for _, m := range list {
		if m == n {
			return true
		}
	}
	return false
}

// harness is a stream handler with all that it touches.
type harness struct {
	sink  sink
	meter meter
	log   bytes.Buffer
	now   time.Time
}

func newHarness() *harness {
	return &harness{sink: sink{rows: map[string]delta.Row{}}, meter: meter{}, now: start.Add(2 * time.Second)}
}

func (h *harness) handler() *handlers.Stream {
	return handlers.NewStream(handlers.StreamConfig{
		Decode: dynamodb.Image, Sink: &h.sink, Meter: h.meter,
		Now: func() time.Time { return h.now }, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
	})
}

func (h *harness) invoke(t *testing.T, payload []byte) (failed []string) {
	t.Helper()
	answer, err := h.handler().Invoke(t.Context(), payload)
	require.NoError(t, err)
	var response events.DynamoDBEventResponse
	require.NoError(t, json.Unmarshal(answer, &response))
	for _, f := range response.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	return failed
}

// bySequence returns the rows by the record that they come from.
func (h *harness) bySequence() map[string]delta.Row {
	out := map[string]delta.Row{}
	for _, r := range h.sink.rows {
		out[r.Sequence] = r
	}
	return out
}

// meter keeps the sum of each metric.
type meter map[handlers.Metric]float64

func (m meter) Record(metric handlers.Metric, value float64) { m[metric] += value }
func (m meter) Flush()                                       {}

func TestStreamBatch(t *testing.T) {
	h := newHarness()
	assert.Empty(t, h.invoke(t, read(t, batchFile)))
	rows := h.bySequence()
	require.Len(t, rows, 3, "the renewal tells readers nothing")

	added, modified, deleted := rows["100"], rows["300"], rows["400"]
	assert.Equal(t, eureka.Added, added.Instance.Action)
	assert.Equal(t, int64(1_773_100_000_000), added.Version)
	assert.Equal(t, eureka.Up, added.Instance.Status)
	assert.Equal(t, h.now, added.Written)
	assert.Equal(t, eureka.Modified, modified.Instance.Action)
	assert.Equal(t, eureka.OutOfService, modified.Instance.Status)
	assert.Equal(t, eureka.Deleted, deleted.Instance.Action)
	assert.Equal(t, "192.0.2.10", deleted.Instance.IPAddr, "whole, from the old image")
	assert.Equal(t, int64(1_773_100_000_002), deleted.Version)

	assert.Equal(t, 3.0, h.meter[handlers.RowsWritten])
	assert.NotZero(t, h.meter[handlers.StreamAge])
	assert.Empty(t, h.log.String())
}

// TestStreamTTLDelete: a lease that the database's TTL removed is DELETED at
// the version after its last; a tombstone's removal is nothing (TestH25).
func TestStreamTTLDelete(t *testing.T) {
	h := newHarness()
	assert.Empty(t, h.invoke(t, read(t, ttlFile)))
	rows := h.bySequence()
	require.Len(t, rows, 1)
	assert.Equal(t, eureka.Deleted, rows["500"].Instance.Action)
	assert.Equal(t, int64(1_773_100_000_001), rows["500"].Version)
}

// TestStreamRepeated: a batch that comes again at once changes nothing, and
// one that comes again later makes rows of the same versions.
func TestStreamRepeated(t *testing.T) {
	h := newHarness()
	h.invoke(t, read(t, batchFile))
	h.invoke(t, read(t, batchFile))
	assert.Len(t, h.sink.rows, 3)
	h.now = h.now.Add(time.Minute)
	h.invoke(t, read(t, batchFile))
	assert.Len(t, h.sink.rows, 6)
	for _, r := range h.sink.rows {
		assert.Equal(t, h.bySequence()[r.Sequence].Version, r.Version)
	}
}

// TestStreamPartlyFailed: the records whose rows were not written are
// reported, the others are not.
func TestStreamPartlyFailed(t *testing.T) {
	h := newHarness()
	h.sink.put = func([]delta.Row) error {
		return &delta.UnwrittenError{Indexes: []int{1, 2}, Err: eureka.ErrThrottled}
	}
	assert.Equal(t, []string{"300", "400"}, h.invoke(t, read(t, batchFile)))
	assert.Len(t, h.sink.rows, 1)
	assert.Equal(t, 1.0, h.meter[handlers.RowsWritten])
	assert.Equal(t, 2.0, h.meter[handlers.RowsFailed])
	assert.Contains(t, h.log.String(), "throttled")

	h.sink.put = nil
	assert.Empty(t, h.invoke(t, read(t, batchFile)), "offered again")
	assert.Len(t, h.sink.rows, 3)
}

// TestStreamFailed: when nothing is known of the rows, the whole batch fails.
func TestStreamFailed(t *testing.T) {
	h := newHarness()
	h.sink.put = func([]delta.Row) error { return eureka.ErrUnavailable }
	_, err := h.handler().Invoke(t.Context(), read(t, batchFile))
	assert.ErrorIs(t, err, eureka.ErrUnavailable)
	assert.Equal(t, 3.0, h.meter[handlers.RowsFailed])
}

// TestStreamPutIsBounded: a row must be visible soon after the time that it
// says, or readers, who look back only ten seconds, miss it. What takes longer
// is reported though the invocation has time left, and gets a new time.
func TestStreamPutIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness()
		h.now = time.Now().Truncate(time.Millisecond)
		h.sink.hold = func(ctx context.Context) { <-ctx.Done() }
		h.sink.put = func([]delta.Row) error {
			return &delta.UnwrittenError{Indexes: []int{0, 2}, Err: eureka.ErrUnavailable}
		}
		asked := time.Now()
		assert.Equal(t, []string{"100", "400"}, h.invoke(t, read(t, batchFile)))
		assert.Equal(t, 5*time.Second, time.Since(asked))

		h.sink.hold, h.sink.put, h.now = nil, nil, h.now.Add(time.Since(asked))
		assert.Empty(t, h.invoke(t, read(t, batchFile)), "offered again")
		assert.Equal(t, h.now, h.bySequence()["100"].Written)
	})
}

// TestStreamNotUnderstood: a record that cannot be understood is passed by,
// logged and counted; those around it arrive.
func TestStreamNotUnderstood(t *testing.T) {
	good := string(read(t, eventFile))
	damages := map[string]struct{ old, new string }{
		"no record":        {`"eventName": "INSERT"`, `"eventName": 7`},
		"attribute's type": {`"N": "1773100000000"`, `"S": "1773100000000"`},
		"unknown type":     {`"B": "`, `"X": "`},
		"number":           {`"N": "1773100000000"`, `"N": "many"`},
		"base64":           {`"B": "`, `"B": "%`},
		"info":             {`"B": "`, `"B": "AAAA`},
		"no key":           {`"app"`, `"appp"`},
		"no sequence":      {`"SequenceNumber": "100"`, `"SequenceNumber": ""`},
		"removed, but new": {`"INSERT"`, `"REMOVE"`},
	}
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			bad := strings.ReplaceAll(good, d.old, d.new)
			require.NotEqual(t, good, bad)
			h := newHarness()
			assert.Empty(t, h.invoke(t, batchOf(t, bad, good)))
			assert.Len(t, h.sink.rows, 1)
			assert.Equal(t, 1.0, h.meter[handlers.RecordsNotUnderstood])
			assert.Contains(t, h.log.String(), "passed by")
			if name != "no sequence" {
				assert.Contains(t, h.log.String(), "sequence=100")
			}
		})
	}
}

// batchOf returns one event of the records of several.
func batchOf(t *testing.T, texts ...string) []byte {
	t.Helper()
	var all struct {
		Records []json.RawMessage
	}
	for _, text := range texts {
		one := all
		one.Records = nil
		require.NoError(t, json.Unmarshal([]byte(text), &one))
		all.Records = append(all.Records, one.Records...)
	}
	out, err := json.Marshal(all)
	require.NoError(t, err)
	return out
}

func TestStreamNothingToDo(t *testing.T) {
	h := newHarness()
	assert.Empty(t, h.invoke(t, []byte(`{"Records": []}`)))
	assert.Zero(t, h.sink.puts)
	_, err := h.handler().Invoke(t.Context(), []byte(`[`))
	assert.Error(t, err)
}

// FuzzStream: no record makes the handler panic or fail.
func FuzzStream(f *testing.F) {
	f.Add([]byte(`{"eventName":"INSERT","dynamodb":{"NewImage":{"app":{"S":"A"}},"SequenceNumber":"1"}}`))
	f.Add([]byte(`{"eventName":"REMOVE","dynamodb":{"OldImage":{"info":{"B":"AAAA"}}}}`))
	f.Fuzz(func(t *testing.T, record []byte) {
		if !json.Valid(record) {
			return
		}
		h := newHarness()
		payload := append(append([]byte(`{"Records":[`), record...), `]}`...)
		if _, err := h.handler().Invoke(t.Context(), payload); err != nil {
			t.Fatal(err)
		}
	})
}

// TestChangeIsWritten: a change of tables in the same process becomes a row at
// once, or an error.
func TestChangeIsWritten(t *testing.T) {
	key := eureka.NewKey("shop", "shop-1")
	live := &eureka.Lease{Key: key, Version: 7, Instance: &eureka.InstanceInfo{InstanceID: key.ID, App: key.App}, Action: eureka.Added}
	now := time.UnixMilli(1_700_000_000_000)
	for name, c := range map[string]struct {
		change delta.Image
		put    error
		rows   int
		fails  bool
	}{
		"a registration":     {change: delta.Image{New: live, Marked: true, Sequence: "1"}, rows: 1},
		"a renewal":          {change: delta.Image{Old: live, New: live, Sequence: "1"}},
		"a sink that failed": {change: delta.Image{New: live, Marked: true, Sequence: "1"}, put: eureka.ErrUnavailable, fails: true},
	} {
		s := &sink{rows: map[string]delta.Row{}, put: func([]delta.Row) error { return c.put }}
		h := handlers.NewStream(handlers.StreamConfig{Sink: s, Now: func() time.Time { return now.Add(300 * time.Microsecond) }})
		err := h.Change(t.Context(), c.change)
		if c.fails {
			assert.ErrorIs(t, err, c.put, name)
		} else {
			assert.NoError(t, err, name)
		}
		assert.Len(t, s.rows, c.rows, name)
		for _, row := range s.rows {
			assert.Equal(t, delta.Row{Key: key, Version: 7, Instance: live.Effective(), Sequence: "1", Written: now}, row, name)
		}
	}
}
