package dynamodb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

const (
	// batchSize is the most that a BatchWriteItem takes.
	batchSize = 25
	// parallelBatches is how many batches are written at once.
	parallelBatches = 4
	// batchTries is how often a batch is tried while parts of it are left.
	batchTries = 6
	// batchPause is the longest pause before the second try; it doubles.
	batchPause = 50 * time.Millisecond
)

// Put implements [delta.Sink]: a write unit for each row and KB. Of rows with
// one key the last is written.
func (s *Store) Put(ctx context.Context, rows []delta.Row) error {
	var left unwritten
	var group errgroup.Group
	group.SetLimit(parallelBatches)
	for batch := range slices.Chunk(s.puts(rows, &left), batchSize) {
		group.Go(func() error {
			left.add(s.putBatch(ctx, batch))
			return nil // the other batches are tried all the same
		})
	}
	_ = group.Wait()
	return left.error()
}

// put is an item to be written, and the rows that it stands for.
type put struct {
	item item
	rows []int
}

// unwritten collects what becomes of the batches.
type unwritten struct {
	mu   sync.Mutex
	rows []int
	err  error
}

func (u *unwritten) add(left []*put, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range left {
		u.rows = append(u.rows, p.rows...)
	}
	if u.err == nil {
		u.err = err
	}
}

func (u *unwritten) error() error {
	if len(u.rows) == 0 {
		return nil
	}
	slices.Sort(u.rows)
	return &delta.UnwrittenError{Indexes: u.rows, Err: u.err}
}

// puts returns the items of rows, each key once, as a batch demands. Rows that
// cannot be stored are left.
func (s *Store) puts(rows []delta.Row, left *unwritten) []*put {
	puts := make([]*put, 0, len(rows))
	byKey := make(map[deltaKey]*put, len(rows))
	for i := range rows {
		row, err := s.rowItem(&rows[i])
		if err != nil {
			left.add([]*put{{rows: []int{i}}}, err)
			continue
		}
		p, ok := byKey[keyOf(row)]
		if !ok {
			p = &put{}
			byKey[keyOf(row)] = p
			puts = append(puts, p)
		}
		p.item = row
		p.rows = append(p.rows, i)
	}
	return puts
}

// deltaKey is a primary key of the delta table.
type deltaKey struct{ partition, position string }

func keyOf(in item) deltaKey {
	return deltaKey{textOf(in, AttrPartition), textOf(in, AttrPosition)}
}

// putBatch writes a batch and returns what is not known to be written.
func (s *Store) putBatch(ctx context.Context, batch []*put) ([]*put, error) {
	for try := range batchTries {
		if try > 0 {
			if err := pause(ctx, batchPause<<(try-1)); err != nil {
				return batch, err
			}
		}
		out, err := s.api.BatchWriteItem(ctx, s.batchInput(batch))
		if err != nil {
			return batch, classify(ctx, err)
		}
		if batch = unprocessed(batch, out.UnprocessedItems[s.cfg.DeltaTable]); len(batch) == 0 {
			return nil, nil
		}
	}
	return batch, fmt.Errorf("%d rows left after %d tries: %w", len(batch), batchTries, eureka.ErrThrottled)
}

func (s *Store) batchInput(batch []*put) *dynamodb.BatchWriteItemInput {
	requests := make([]types.WriteRequest, len(batch))
	for i, p := range batch {
		requests[i].PutRequest = &types.PutRequest{Item: p.item}
	}
	return &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.cfg.DeltaTable: requests}}
}

// unprocessed returns those of a batch that the database left.
func unprocessed(batch []*put, requests []types.WriteRequest) []*put {
	if len(requests) == 0 {
		return nil
	}
	left := make(map[deltaKey]bool, len(requests))
	for _, r := range requests {
		if r.PutRequest != nil {
			left[keyOf(r.PutRequest.Item)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(batch), func(p *put) bool { return !left[keyOf(p.item)] })
}

// pause waits for a random part of a time.
func pause(ctx context.Context, longest time.Duration) error {
	timer := time.NewTimer(rand.N(longest) + 1)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctxError(ctx)
	}
}
