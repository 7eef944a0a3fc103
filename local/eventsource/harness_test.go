package eventsource

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	store "github.com/eurekaless/registry/storage/dynamodb"
)

var patterns = []string{store.FilterChange, store.FilterRemoval}

// recorder is a handler that notes what it took, and fails as a test says.
type recorder struct {
	mu     sync.Mutex
	taken  []string
	offers [][]string
	at     []time.Time
	// answer decides about a call; nil takes everything.
	answer func(keys []string) (failed []string, err error)
}

func key(r events.DynamoDBEventRecord) string { return r.Change.Keys["id"].String() }

func (r *recorder) handle(_ context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []string
	for _, record := range event.Records {
		keys = append(keys, key(record))
	}
	r.offers = append(r.offers, keys)
	r.at = append(r.at, time.Now())
	var failed []string
	if r.answer != nil {
		var err error
		if failed, err = r.answer(keys); err != nil {
			return events.DynamoDBEventResponse{}, err
		}
	}
	var response events.DynamoDBEventResponse
	for _, record := range event.Records {
		if slices.Contains(failed, key(record)) {
			response.BatchItemFailures = append(response.BatchItemFailures,
				events.DynamoDBBatchItemFailure{ItemIdentifier: record.Change.SequenceNumber})
			continue
		}
		r.taken = append(r.taken, key(record))
	}
	return response, nil
}

func (r *recorder) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken)
}

// bench is a poller at work on a scripted service, in a bubble of its own time.
type bench struct {
	*scripted
	*recorder
	poller    *Poller
	discarded []Discarded
	stop      func()
}

func begin(t *testing.T, service *scripted) *bench {
	t.Helper()
	b := &bench{scripted: service, recorder: &recorder{}}
	var err error
	b.poller, err = New(Config{
		Table: service.table, Tables: service, Streams: service,
		Handler: b.handle, Filters: patterns,
		OnFailure: func(d Discarded) { b.discarded = append(b.discarded, d) },
		Now:       time.Now,
		Log:       slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		b.poller.Run(ctx)
	}()
	b.stop = func() {
		cancel()
		<-ran
	}
	return b
}

// after lets d go by, then everything that is due happen.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// adjust changes what answer looks at.
func (b *bench) adjust(change func()) {
	b.recorder.mu.Lock()
	defer b.recorder.mu.Unlock()
	change()
}
