package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/eurekaless/registry/core/delta"
)

// putTime bounds the writing of a batch's rows. They say when they are written,
// and readers look back no further than ten seconds behind their last cut, so
// a row that becomes visible later than that after its time would be missed. What
// is not written by then is reported, and written under a new time when it
// comes again (TestStreamPutIsBounded).
const putTime = 5 * time.Second

// StreamConfig is what a [Stream] works with.
type StreamConfig struct {
	// Decode makes an image of a stream record; required. An error says that
	// the record cannot be understood, now or later.
	Decode func(*events.DynamoDBEventRecord) (delta.Image, error)
	// Sink takes the rows; required.
	Sink delta.Sink
	// Meter takes the metrics; default none.
	Meter Meter
	// Now is the servers' clock; default time.Now.
	Now func() time.Time
	// Log gets records that are not understood and writes that failed;
	// default slog.Default.
	Log *slog.Logger
}

// Stream brings changes of the lease table to the readers: stream records in,
// rows of the delta table out. A repeated record writes its row again, in the
// same place or in a later bucket, which readers pass over by its version. It
// is safe for concurrent use.
type Stream struct {
	cfg StreamConfig
}

// NewStream returns a handler of the lease table's stream.
func NewStream(cfg StreamConfig) *Stream {
	if cfg.Meter == nil {
		cfg.Meter = Unmetered{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Stream{cfg: cfg}
}

// Invoke handles one event as Lambda sends it. Records are decoded one by one,
// so that one that is no record at all does not keep the others.
func (s *Stream) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var ev struct {
		Records []json.RawMessage `json:"Records"`
	}
	if err := json.Unmarshal(payload, &ev); err != nil {
		return nil, fmt.Errorf("decode stream event: %w", err)
	}
	records := make([]events.DynamoDBEventRecord, 0, len(ev.Records))
	for _, raw := range ev.Records {
		var r events.DynamoDBEventRecord
		if err := json.Unmarshal(raw, &r); err != nil {
			s.passBy(ctx, sequenceNumber(raw), err)
			continue
		}
		records = append(records, r)
	}
	response, err := s.Handle(ctx, events.DynamoDBEvent{Records: records})
	if err != nil {
		return nil, err
	}
	return json.Marshal(response)
}

// sequenceNumber returns what of a record that cannot be decoded says which
// one it is.
func sequenceNumber(raw json.RawMessage) string {
	var r struct {
		Change struct {
			SequenceNumber string
		} `json:"dynamodb"`
	}
	// Whatever else is wrong with it, a number that can be read is read.
	_ = json.Unmarshal(raw, &r)
	return r.Change.SequenceNumber
}

// Handle writes the rows of a batch. Records that cannot be understood are
// logged, counted and passed by: trying them again would hold up the shard for
// nothing. Records whose rows were not written are reported; Lambda offers
// everything from the first of them again. When nothing is known of what was
// written, that is an error, and Lambda offers the batch again in two halves.
func (s *Stream) Handle(ctx context.Context, ev events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	defer s.cfg.Meter.Flush()
	ctx, cancel := within(ctx)
	defer cancel()

	now := s.cfg.Now().Truncate(time.Millisecond)
	rows := s.project(ctx, ev.Records, now)
	if len(rows) == 0 {
		return events.DynamoDBEventResponse{}, nil
	}
	limited, cancelPut := context.WithTimeout(ctx, putTime)
	defer cancelPut()
	err := s.cfg.Sink.Put(limited, rows)
	s.recordAge(ev.Records)
	var unwritten *delta.UnwrittenError
	switch {
	case err == nil:
		s.cfg.Meter.Record(RowsWritten, float64(len(rows)))
		return events.DynamoDBEventResponse{}, nil
	case errors.As(err, &unwritten):
		return s.report(ctx, rows, unwritten), nil
	}
	s.cfg.Meter.Record(RowsFailed, float64(len(rows)))
	return events.DynamoDBEventResponse{}, fmt.Errorf("write %d rows: %w", len(rows), err)
}

// Change writes the row of one change, for tables that make no stream records
// because they are in this very process.
func (s *Stream) Change(ctx context.Context, change delta.Image) error {
	row, ok := delta.Project(change)
	if !ok {
		return nil
	}
	row.Written = s.cfg.Now().Truncate(time.Millisecond)
	if err := s.cfg.Sink.Put(ctx, []delta.Row{row}); err != nil {
		s.cfg.Meter.Record(RowsFailed, 1)
		return fmt.Errorf("write the row of %s: %w", row.Key, err)
	}
	s.cfg.Meter.Record(RowsWritten, 1)
	return nil
}

// project returns the rows that a batch of records is to readers.
func (s *Stream) project(ctx context.Context, records []events.DynamoDBEventRecord, now time.Time) []delta.Row {
	rows := make([]delta.Row, 0, len(records))
	for i := range records {
		r := &records[i]
		image, err := s.cfg.Decode(r)
		if err != nil {
			s.passBy(ctx, r.Change.SequenceNumber, err)
			continue
		}
		row, ok := delta.Project(image)
		if !ok {
			continue
		}
		row.Sequence, row.Written = r.Change.SequenceNumber, now
		rows = append(rows, row)
	}
	return rows
}

// passBy logs and counts a record that cannot be understood.
func (s *Stream) passBy(ctx context.Context, sequence string, err error) {
	s.cfg.Meter.Record(RecordsNotUnderstood, 1)
	s.cfg.Log.ErrorContext(ctx, "stream record cannot be understood, passed by", "sequence", sequence, "error", err)
}

// report names the records whose rows were not written.
func (s *Stream) report(ctx context.Context, rows []delta.Row, unwritten *delta.UnwrittenError) events.DynamoDBEventResponse {
	failed := len(unwritten.Indexes)
	s.cfg.Meter.Record(RowsWritten, float64(len(rows)-failed))
	s.cfg.Meter.Record(RowsFailed, float64(failed))
	s.cfg.Log.WarnContext(ctx, "rows not written, reported for another try", "rows", failed, "error", unwritten.Err)
	response := events.DynamoDBEventResponse{BatchItemFailures: make([]events.DynamoDBBatchItemFailure, failed)}
	for i, at := range unwritten.Indexes {
		response.BatchItemFailures[i].ItemIdentifier = rows[at].Sequence
	}
	return response
}

// recordAge measures how long after its change the oldest record was handled.
func (s *Stream) recordAge(records []events.DynamoDBEventRecord) {
	now := s.cfg.Now()
	for _, r := range records {
		if made := r.Change.ApproximateCreationDateTime; !made.IsZero() {
			s.cfg.Meter.Record(StreamAge, now.Sub(made.Time).Seconds())
		}
	}
}
