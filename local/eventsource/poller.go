// Package eventsource does locally what Lambda's event source mapping and EventBridge
// do on AWS: it reads the lease table's stream and calls the stream handler
// with the records that pass the filters, and it calls the evict handler at a
// steady pace.
//
// The poller follows shards that close and split, a child only after its
// parent, reads from TRIM_HORIZON, and remembers where it was. Delivery has the
// mapping's semantics, see [mapping].
package eventsource

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// The settings of the event source mapping; the template has the same.
const (
	// BatchSize is how many records one call of the handler gets at most.
	BatchSize = 100
	// MaximumAttempts is how often a record is offered before it is given up;
	// splitting a batch does not count. The template counts retries, one less.
	MaximumAttempts = 5
	// MaximumRecordAge is the age from which a record is given up.
	MaximumRecordAge = 120 * time.Second
	// Timeout ends a call of the handler.
	Timeout = 30 * time.Second
)

const (
	// discoverEvery is how often the list of shards is read; discoverSoon is
	// how often while there is nothing to read, since the shard that follows a
	// closed one may be listed late.
	discoverEvery = 10 * time.Second
	discoverSoon  = time.Second
	// flushTime is how long after a stop the poller may still deliver.
	flushTime = 5 * time.Second
)

// Handler is the stream function's handler.
type Handler func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

// Streams is what the poller needs of the DynamoDB Streams API.
type Streams interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Tables tells which stream a table has now; not every engine can list streams.
type Tables interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// Config is what a Poller works with. Every field is needed but OnFailure.
type Config struct {
	Table   string
	Tables  Tables
	Streams Streams
	Handler Handler
	// Filters are event patterns; a record that one of them matches is
	// delivered. Without any, every record is.
	Filters []string
	// OnFailure is told of records that were given up, as an on-failure queue
	// is. They are logged and counted in any case.
	OnFailure func(Discarded)
	Now       func() time.Time
	Log       *slog.Logger
}

// Stats counts records since the start.
type Stats struct {
	// Read counts every record, Matched those that passed the filters,
	// Discarded those of them that were given up.
	Read, Matched, Discarded int64
}

// Poller is a stream poller. One Run at a time.
type Poller struct {
	config  Config
	filters []Filter

	read, matched, discarded atomic.Int64
}

// New returns a poller, or an error that names the pattern that it does not
// understand.
func New(c Config) (*Poller, error) {
	p := &Poller{config: c}
	for _, pattern := range c.Filters {
		f, err := ParseFilter(pattern)
		if err != nil {
			return nil, err
		}
		p.filters = append(p.filters, f)
	}
	return p, nil
}

// Stats returns the counts so far. It may be called at any time.
func (p *Poller) Stats() Stats {
	return Stats{Read: p.read.Load(), Matched: p.matched.Load(), Discarded: p.discarded.Load()}
}

// Run reads the stream until the context ends, then delivers what is already
// in the stream, for at most five seconds, and returns. Trouble with the engine
// or the handler never ends it: it is logged and tried again.
func (p *Poller) Run(ctx context.Context) {
	work, cancel := outlive(ctx, flushTime)
	defer cancel()
	f := &follower{poller: p, ended: make(chan *shard), trouble: trouble{log: p.config.Log, what: "reading the list of shards"}}
	f.run(ctx, work)
}

// outlive returns a context that ends d after its parent.
func outlive(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// pause waits, and reports whether it was cut short by the context's end.
func pause(ctx context.Context, d time.Duration) (ended bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}

// trouble logs the beginning and the end of an outage, not every try.
type trouble struct {
	log  *slog.Logger
	what string
	on   bool
}

func (t *trouble) begin(err error) {
	if !t.on && !errors.Is(err, context.Canceled) {
		t.log.Warn("stream poller: "+t.what+" fails, trying on", "error", err)
		t.on = true
	}
}

func (t *trouble) end() {
	if t.on {
		t.log.Info("stream poller: " + t.what + " works again")
		t.on = false
	}
}
