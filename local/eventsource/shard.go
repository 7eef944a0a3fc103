package eventsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
)

// The pace of reading a shard: at once while pages are full, soon after a
// change, and slower the longer nothing happens.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 100 * time.Millisecond
	// throttledPause is the shortest pause once the service has complained:
	// AWS allows five reads a second and shard.
	throttledPause = 250 * time.Millisecond
	// The pause after a failure doubles from one to the other.
	shortestRetry = 50 * time.Millisecond
	longestRetry  = 2 * time.Second
	pageSize      = 1000
)

// shard reads one shard, in order, once. Its reader's goroutine owns it while
// running is set, the follower otherwise.
type shard struct {
	poller  *Poller
	stream  string
	id      string
	mapping mapping
	trouble trouble

	running bool
	// closed says that the shard was read to its end.
	closed bool
	// iterator is kept from read to read; empty when a new one is needed.
	iterator string
	// done is the sequence number up to which records were dealt with.
	done string
	// floor is the shortest pause; failures counts failed reads in a row.
	floor    time.Duration
	failures int
}

func newShard(p *Poller, stream, id string) *shard {
	return &shard{
		poller: p, stream: stream, id: id,
		mapping: mapping{poller: p, shard: id},
		trouble: trouble{log: p.config.Log, what: "reading the stream"},
		floor:   shortestPause,
	}
}

// run reads until the shard's end, until the shard is no more, or, after stop
// has ended, until there is nothing left to read. Calls are made on work.
func (s *shard) run(stop, work context.Context) {
	wait := s.floor
	for {
		page, more, err := s.read(work)
		if err != nil && stop.Err() != nil {
			return
		}
		if err != nil {
			gone, pauseFor := s.failed(err)
			if gone {
				return
			}
			pause(stop, pauseFor)
			continue
		}
		s.works()
		if s.deal(work, page) != nil {
			return
		}
		if s.closed = !more; s.closed {
			return
		}
		if len(page) == 0 && stop.Err() != nil {
			return
		}
		wait = s.next(wait, len(page))
		pause(stop, wait)
	}
}

// next is the pause before the next read.
func (s *shard) next(last time.Duration, records int) time.Duration {
	switch {
	case records >= pageSize && s.floor == shortestPause:
		return 0
	case records > 0:
		return s.floor
	}
	return max(s.floor, min(2*max(last, shortestPause), longestPause))
}

// read returns the next records; more says that the shard goes on.
func (s *shard) read(ctx context.Context) (page []types.Record, more bool, err error) {
	if s.iterator == "" {
		if s.iterator, err = s.newIterator(ctx); err != nil {
			return nil, true, fmt.Errorf("shard iterator of %s %s: %w", s.poller.config.Table, s.id, err)
		}
	}
	out, err := s.poller.config.Streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
		ShardIterator: aws.String(s.iterator),
		Limit:         aws.Int32(pageSize),
	})
	if err != nil {
		return nil, true, fmt.Errorf("read shard of %s %s: %w", s.poller.config.Table, s.id, err)
	}
	s.iterator = aws.ToString(out.NextShardIterator)
	return out.Records, s.iterator != "", nil
}

// newIterator begins where the shard was left, or at its beginning.
func (s *shard) newIterator(ctx context.Context) (string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn:         &s.stream,
		ShardId:           &s.id,
		ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
	if s.done != "" {
		in.ShardIteratorType = types.ShardIteratorTypeAfterSequenceNumber
		in.SequenceNumber = &s.done
	}
	out, err := s.poller.config.Streams.GetShardIterator(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ShardIterator), nil
}

// unseen drops records that were dealt with before. The embedded engine starts
// every new iterator at the beginning, whatever sequence number is given
// (TestAnEngineThatIgnoresTheSequenceNumberRepeatsNothing).
func (s *shard) unseen(records []types.Record) []types.Record {
	if s.done == "" {
		return records
	}
	for i, r := range records {
		if later(sequence(r), s.done) {
			return records[i:]
		}
	}
	return nil
}

// deal filters a page and delivers what is left. It fails only when the
// context has ended.
func (s *shard) deal(ctx context.Context, page []types.Record) error {
	records := s.unseen(page)
	if len(records) == 0 {
		return nil
	}
	s.poller.read.Add(int64(len(records)))
	var matched []events.DynamoDBEventRecord
	for _, r := range records {
		record := convert(r, s.stream)
		if s.poller.match(record) {
			matched = append(matched, record)
		}
	}
	s.poller.matched.Add(int64(len(matched)))
	if err := s.mapping.deliver(ctx, matched); err != nil {
		return err
	}
	s.done = sequence(records[len(records)-1])
	return nil
}

// match reports whether a record is for the handler.
func (p *Poller) match(r events.DynamoDBEventRecord) bool {
	for _, f := range p.filters {
		if f.Match(r) {
			return true
		}
	}
	return len(p.filters) == 0
}

// failed looks at a failed read: it says whether the shard is gone, and for
// how long to wait otherwise.
func (s *shard) failed(err error) (gone bool, wait time.Duration) {
	var (
		missing *types.ResourceNotFoundException
		expired *types.ExpiredIteratorException
		trimmed *types.TrimmedDataAccessException
		limited *types.LimitExceededException
	)
	s.failures++
	switch {
	case errors.As(err, &missing):
		s.iterator = ""
		return true, 0
	case errors.As(err, &expired):
		s.iterator = ""
	case errors.As(err, &trimmed):
		s.poller.config.Log.Warn("stream poller: records were lost, older than the stream keeps", "shard", s.id, "after", s.done)
		s.iterator, s.done = "", ""
	case errors.As(err, &limited) || throttled(err):
		s.floor = throttledPause
	default:
		s.trouble.begin(err)
	}
	return false, backoff(s.failures, shortestRetry, longestRetry)
}

func (s *shard) works() {
	s.failures = 0
	s.trouble.end()
}

func throttled(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		return true
	}
	return false
}

// backoff doubles from shortest with each failure, up to longest.
func backoff(failures int, shortest, longest time.Duration) time.Duration {
	d := shortest
	for i := 1; i < failures && d < longest; i++ {
		d *= 2
	}
	return min(d, longest)
}

func sequence(r types.Record) string {
	if r.Dynamodb == nil {
		return ""
	}
	return aws.ToString(r.Dynamodb.SequenceNumber)
}

// later compares sequence numbers: decimal digits, up to 40 of them, with or
// without leading zeros.
func later(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}
