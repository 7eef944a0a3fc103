package dynamodb_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/dynamodb"
)

// batches is a database that takes batches as it is told.
type batches struct {
	dynamodb.API
	// take returns how many of a batch's requests are taken, from the first
	// on, or an error. n counts the calls.
	take func(n, requests int) (int, error)

	mu    sync.Mutex
	calls int
	taken map[string]int
}

func (b *batches) BatchWriteItem(_ context.Context, in *awsdynamodb.BatchWriteItemInput, _ ...func(*awsdynamodb.Options)) (*awsdynamodb.BatchWriteItemOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	requests := in.RequestItems[dynamodb.DefaultDeltaTable]
	n, err := b.take(b.calls, len(requests))
	b.calls++
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, r := range requests {
		position := r.PutRequest.Item[dynamodb.AttrPosition].(*types.AttributeValueMemberS).Value
		if seen[position] {
			return nil, errors.New("a key twice in one batch")
		}
		seen[position] = true
		if i < n {
			b.taken[position]++
		}
	}
	return &awsdynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{dynamodb.DefaultDeltaTable: requests[n:]}}, nil
}

func batchRows(n int) []row {
	var rows []row
	for i := range n {
		l := usualLease(i)
		rows = append(rows, row{Key: l.Key, Version: 1, Instance: l.Effective(), Sequence: strconv.Itoa(i), Written: began})
	}
	return rows
}

func putTo(t *testing.T, rows []row, take func(n, requests int) (int, error)) (*batches, error) {
	t.Helper()
	b := &batches{take: take, taken: map[string]int{}}
	return b, dynamodb.New(b, dynamodb.Config{}).Put(t.Context(), rows)
}

func TestWhatABatchLeavesIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		b, err := putTo(t, batchRows(60), func(n, requests int) (int, error) {
			if n < 8 {
				return requests / 2, nil
			}
			return requests, nil
		})
		require.NoError(t, err)
		assert.Len(t, b.taken, 60)
		for position, times := range b.taken {
			assert.Equal(t, 1, times, position)
		}
		assert.Greater(t, time.Since(start), time.Duration(0), "there is a pause between tries")
		assert.Less(t, time.Since(start), time.Second)
	})
}

func TestWhatIsLeftForGoodIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := batchRows(10)
		rows = append(rows, rows[9], rows[0]) // repeats share the fate of their item
		b, err := putTo(t, rows, func(n, _ int) (int, error) {
			if n == 0 {
				return 6, nil
			}
			return 0, nil
		})

		var left *delta.UnwrittenError
		require.ErrorAs(t, err, &left)
		assert.Equal(t, []int{6, 7, 8, 9, 10}, left.Indexes)
		require.ErrorIs(t, err, eureka.ErrThrottled)
		assert.Equal(t, 6, b.calls, "tries")
	})
}

func TestABatchThatFailsDoesNotKeepTheOthers(t *testing.T) {
	b, err := putTo(t, batchRows(75), func(n, requests int) (int, error) {
		if n == 1 {
			return 0, context.DeadlineExceeded
		}
		return requests, nil
	})

	var left *delta.UnwrittenError
	require.ErrorAs(t, err, &left)
	assert.Len(t, left.Indexes, 25)
	require.ErrorIs(t, err, eureka.ErrUnavailable)
	assert.Len(t, b.taken, 50)
}

func TestARowThatCannotBeStoredDoesNotKeepTheOthers(t *testing.T) {
	rows := batchRows(30)
	rows[3].Instance.Metadata = map[string]string{"text": incompressible(500_000)}

	b, err := putTo(t, rows, func(_, requests int) (int, error) { return requests, nil })

	var left *delta.UnwrittenError
	require.ErrorAs(t, err, &left)
	assert.Equal(t, []int{3}, left.Indexes)
	require.ErrorIs(t, err, eureka.ErrTooLarge)
	assert.Len(t, b.taken, 29)
}

func TestAPauseEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		defer cancel()
		b := &batches{take: func(int, int) (int, error) { return 0, nil }, taken: map[string]int{}}

		err := dynamodb.New(b, dynamodb.Config{}).Put(ctx, batchRows(1))

		require.ErrorIs(t, err, eureka.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
