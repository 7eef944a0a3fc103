package eventsource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// The pause between attempts doubles from one to the other.
const (
	shortestRedelivery = 250 * time.Millisecond
	longestRedelivery  = 10 * time.Second
)

// mapping delivers one shard's records as Lambda's event source mapping does,
// with bisecting and ReportBatchItemFailures: in order, a batch at a time. A
// handler that fails gets the batch again in two halves; one that reports
// records gets everything again from the first of them. A batch that cannot be
// split is offered MaximumAttempts times, with growing pauses; then, or when
// its records are too old, it is given up and the shard goes on.
type mapping struct {
	poller *Poller
	shard  string
}

// batch is records that were offered together attempts times.
type batch struct {
	records  []events.DynamoDBEventRecord
	attempts int
	err      error
}

// Discarded is a batch that was given up.
type Discarded struct {
	Shard string
	// First and Last are sequence numbers.
	First, Last string
	Records     int
	Attempts    int
	// Err is the handler's last word, or nil when the records were too old
	// before they were offered.
	Err error
}

// deliver returns when each record was taken or given up, or with the
// context's error when that ended first.
func (m *mapping) deliver(ctx context.Context, records []events.DynamoDBEventRecord) error {
	records = m.dropOld(batch{records: records}).records
	for len(records) > 0 {
		n := min(BatchSize, len(records))
		if err := m.deliverBatch(ctx, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

func (m *mapping) deliverBatch(ctx context.Context, records []events.DynamoDBEventRecord) error {
	pending := []batch{{records: records}}
	for len(pending) > 0 {
		b := m.dropOld(pending[0])
		pending = pending[1:]
		if len(b.records) == 0 {
			continue
		}
		if b.attempts >= MaximumAttempts {
			m.discard(b)
			continue
		}
		if b.attempts > 0 && pause(ctx, jitter(backoff(b.attempts, shortestRedelivery, longestRedelivery))) {
			return ctx.Err()
		}
		from, err := m.invoke(ctx, b.records)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pending = append(again(b, from, err), pending...)
	}
	return nil
}

// again returns what of a batch is to be offered again, when the handler took
// the records before from.
func again(b batch, from int, err error) []batch {
	switch {
	case err == nil && from == len(b.records):
		return nil
	case from > 0:
		return []batch{{records: b.records[from:], attempts: b.attempts, err: err}}
	case err != nil && len(b.records) > 1:
		half := len(b.records) / 2
		return []batch{
			{records: b.records[:half], attempts: b.attempts, err: err},
			{records: b.records[half:], attempts: b.attempts, err: err},
		}
	}
	return []batch{{records: b.records, attempts: b.attempts + 1, err: err}}
}

// invoke calls the handler once. It returns the position of the first record
// that was not taken, or the handler's failure.
func (m *mapping) invoke(ctx context.Context, records []events.DynamoDBEventRecord) (from int, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	defer func() {
		// On AWS a panic ends the container and fails the call.
		if r := recover(); r != nil {
			m.poller.config.Log.ErrorContext(ctx, "stream handler: panic", "panic", r, "stack", string(debug.Stack()))
			from, err = 0, fmt.Errorf("stream handler: panic: %v", r)
		}
	}()
	response, err := m.poller.config.Handler(ctx, events.DynamoDBEvent{Records: records})
	if err != nil {
		return 0, err
	}
	return firstFailure(records, response.BatchItemFailures)
}

var errUnknownItem = errors.New("stream handler: a batch item failure names no record of the batch")

// firstFailure returns the position of the first reported record, or the
// number of records when none is. A report that names no record of the batch
// fails the whole batch.
func firstFailure(records []events.DynamoDBEventRecord, failures []events.DynamoDBBatchItemFailure) (int, error) {
	first := len(records)
	for _, failure := range failures {
		at := position(records, failure.ItemIdentifier)
		if at < 0 {
			return 0, errUnknownItem
		}
		first = min(first, at)
	}
	return first, nil
}

func position(records []events.DynamoDBEventRecord, sequenceNumber string) int {
	for i, r := range records {
		if r.Change.SequenceNumber == sequenceNumber {
			return i
		}
	}
	return -1
}

// dropOld gives up the records at the front that are too old.
func (m *mapping) dropOld(b batch) batch {
	limit := m.poller.config.Now().Add(-MaximumRecordAge)
	n := 0
	for n < len(b.records) && b.records[n].Change.ApproximateCreationDateTime.Before(limit) {
		n++
	}
	if n > 0 {
		m.discard(batch{records: b.records[:n], attempts: b.attempts, err: b.err})
		b.records = b.records[n:]
	}
	return b
}

func (m *mapping) discard(b batch) {
	d := Discarded{
		Shard:    m.shard,
		First:    b.records[0].Change.SequenceNumber,
		Last:     b.records[len(b.records)-1].Change.SequenceNumber,
		Records:  len(b.records),
		Attempts: b.attempts,
		Err:      b.err,
	}
	m.poller.discarded.Add(int64(d.Records))
	level := slog.LevelError
	if d.Attempts == 0 {
		// As after a start on a table that has been in use.
		level = slog.LevelWarn
	}
	m.poller.config.Log.Log(context.Background(), level, "stream poller: records given up, an eviction pass heals what readers miss",
		"shard", d.Shard, "records", d.Records, "first", d.First, "last", d.Last, "attempts", d.Attempts, "error", d.Err)
	if m.poller.config.OnFailure != nil {
		m.poller.config.OnFailure(d)
	}
}

// jitter takes up to a quarter off, so that shards do not retry in step.
func jitter(d time.Duration) time.Duration { return d - rand.N(d/4) }
