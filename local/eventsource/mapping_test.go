package eventsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
)

func keys(from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func TestReportedRecordsAreOfferedAgainWithThoseAfterThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		first := true
		b.answer = func([]string) ([]string, error) {
			if first {
				first = false
				return []string{"4", "3"}, nil
			}
			return nil, nil
		}
		b.change("a", keys(1, 5)...)

		after(time.Minute)

		assert.Equal(t, [][]string{{"1", "2", "3", "4", "5"}, {"3", "4", "5"}}, b.offers)
		assert.Empty(t, b.discarded)
	})
}

func TestABatchThatFailsIsBisectedUntilOnlyTheBadRecordIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.answer = func(keys []string) ([]string, error) {
			if slices.Contains(keys, "3") {
				return nil, errors.New("cannot")
			}
			return nil, nil
		}
		b.change("a", keys(1, 8)...)

		after(time.Minute)

		assert.Equal(t, []string{"1", "2", "4", "5", "6", "7", "8"}, b.got())
		if assert.Len(t, b.discarded, 1) {
			d := b.discarded[0]
			assert.Equal(t, Discarded{Shard: "a", First: "3", Last: "3", Records: 1, Attempts: MaximumAttempts, Err: d.Err}, d)
			assert.EqualError(t, d.Err, "cannot")
		}
		alone := 0
		for _, call := range b.offers {
			if slices.Equal(call, []string{"3"}) {
				alone++
			}
		}
		assert.Equal(t, MaximumAttempts, alone)
	})
}

func TestABatchThatIsReportedForEverIsGivenUpAfterTheAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.answer = func(keys []string) ([]string, error) {
			if keys[0] == "9" {
				return nil, nil
			}
			return keys, nil
		}
		b.change("a", keys(1, 3)...)
		after(time.Second)
		b.change("a", "9")

		after(time.Minute)

		assert.Len(t, b.offers, MaximumAttempts+1)
		assert.Equal(t, []string{"9"}, b.got(), "the shard goes on")
		if assert.Len(t, b.discarded, 1) {
			assert.Equal(t, 3, b.discarded[0].Records)
		}
		assert.EqualValues(t, 3, b.poller.Stats().Discarded)
	})
}

func TestThePausesBetweenAttemptsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.answer = func([]string) ([]string, error) { return nil, errors.New("cannot") }
		b.change("a", "1")

		after(time.Minute)

		for i := 2; i < MaximumAttempts; i++ {
			assert.Greater(t, b.at[i].Sub(b.at[i-1]), b.at[i-1].Sub(b.at[i-2]))
		}
	})
}

func TestAnOldRecordIsGivenUpUnoffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newScripted()
		service.change("a", "1", "2")
		after(MaximumRecordAge + time.Second)
		service.change("a", "3")
		b := begin(t, service)
		defer b.stop()

		after(time.Second)

		assert.Equal(t, []string{"3"}, b.got())
		if assert.Len(t, b.discarded, 1) {
			assert.Equal(t, Discarded{Shard: "a", First: "1", Last: "2", Records: 2}, b.discarded[0])
		}
	})
}

func TestARecordGrowsTooOldWhileTheHandlerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.poller.config.Handler = func(ctx context.Context, _ events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
			<-ctx.Done()
			return events.DynamoDBEventResponse{}, ctx.Err()
		}
		b.change("a", "1")

		after(MaximumRecordAge + 2*Timeout)

		if assert.Len(t, b.discarded, 1) {
			assert.Less(t, b.discarded[0].Attempts, MaximumAttempts)
			assert.ErrorIs(t, b.discarded[0].Err, context.DeadlineExceeded)
		}
	})
}

func TestAPanicIsAFailedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.answer = func(keys []string) ([]string, error) {
			if keys[0] == "1" {
				panic("bad record")
			}
			return nil, nil
		}
		b.change("a", "1", "2")

		after(time.Minute)

		assert.Equal(t, []string{"2"}, b.got())
		assert.Len(t, b.discarded, 1)
	})
}

func TestFirstFailure(t *testing.T) {
	records := make([]events.DynamoDBEventRecord, 3)
	for i := range records {
		records[i].Change.SequenceNumber = fmt.Sprint(10 + i)
	}
	cases := []struct {
		name     string
		reported []string
		from     int
		err      error
	}{
		{"none", nil, 3, nil},
		{"one", []string{"11"}, 1, nil},
		{"the lowest counts", []string{"12", "10"}, 0, nil},
		{"no such record", []string{"11", "99"}, 0, errUnknownItem},
		{"empty", []string{""}, 0, errUnknownItem},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var failures []events.DynamoDBBatchItemFailure
			for _, id := range c.reported {
				failures = append(failures, events.DynamoDBBatchItemFailure{ItemIdentifier: id})
			}

			from, err := firstFailure(records, failures)

			assert.Equal(t, c.from, from)
			assert.ErrorIs(t, err, c.err)
		})
	}
}
