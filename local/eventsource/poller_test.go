package eventsource

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
)

func TestChangesAreDeliveredAndRenewalsAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.change("a", "1")
		b.renewal("a", "2")
		b.change("a", "3")

		after(time.Second)

		assert.Equal(t, []string{"1", "3"}, b.got())
		assert.Equal(t, Stats{Read: 3, Matched: 2}, b.poller.Stats())
	})
}

func TestAChangeIsDeliveredWithinAFractionOfASecondAfterALongSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		after(time.Hour)

		b.change("a", "1")
		after(longestPause)

		assert.Equal(t, []string{"1"}, b.got())
		assert.Less(t, b.count("GetRecords"), int(time.Hour/longestPause)+20, "an idle shard is read at the slow pace")
		assert.Equal(t, 1, b.count("GetShardIterator"), "the iterator is kept")
	})
}

func TestAFullPageIsFollowedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newScripted()
		for i := range 5 * pageSize {
			service.change("a", fmt.Sprint(i))
		}
		b := begin(t, service)
		defer b.stop()

		synctest.Wait()
		after(0)

		assert.Len(t, b.got(), 5*pageSize)
		assert.Len(t, b.offers, 5*pageSize/BatchSize)
	})
}

func TestChildrenOfAShardAreReadAfterItInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newScripted()
		service.change("a", "1", "2")
		service.close("a")
		service.open("b", "a")
		service.open("c", "a")
		service.change("b", "3")
		service.change("c", "4")
		service.close("b")
		service.open("d", "b")
		service.change("d", "5")
		b := begin(t, service)
		defer b.stop()

		after(100 * time.Millisecond)

		got := b.got()
		assert.ElementsMatch(t, []string{"1", "2", "3", "4", "5"}, got)
		assert.Equal(t, []string{"1", "2"}, got[:2])
		assert.Less(t, slices.Index(got, "3"), slices.Index(got, "5"))
	})
}

func TestAChildWaitsForAParentThatIsStillHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		holdUp := true
		b.answer = func(keys []string) ([]string, error) {
			if holdUp && keys[0] == "1" {
				return nil, errors.New("not now")
			}
			return nil, nil
		}
		b.change("a", "1")
		b.close("a")
		b.open("b", "a")
		b.change("b", "2")

		after(shortestRedelivery)
		assert.Empty(t, b.got())

		b.adjust(func() { holdUp = false })
		after(30 * time.Second)
		assert.Equal(t, []string{"1", "2"}, b.got())
	})
}

func TestAShardThatSplitsLaterIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.change("a", "1")
		after(time.Minute)

		// The children are listed only some seconds after the parent closed.
		b.close("a")
		after(3 * time.Second)
		b.open("b", "a")
		b.change("b", "2")
		after(2 * time.Second)

		assert.Equal(t, []string{"1", "2"}, b.got())
	})
}

func TestAChildWhoseParentIsNoLongerKeptIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newScripted()
		service.open("b", "a")
		service.trim("a")
		service.change("b", "1")
		b := begin(t, service)
		defer b.stop()

		after(time.Second)

		assert.Equal(t, []string{"1"}, b.got())
	})
}

func TestAShardOfTwoPagesOfTheListIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newScripted()
		for _, id := range []string{"b", "c", "d", "e"} {
			service.open(id, "")
			service.change(id, id)
		}
		b := begin(t, service)
		defer b.stop()

		after(time.Second)

		assert.ElementsMatch(t, []string{"b", "c", "d", "e"}, b.got())
	})
}

func TestAnExpiredIteratorGoesOnWhereItWas(t *testing.T) {
	testExpiredIterator(t, false)
}

func TestAnEngineThatIgnoresTheSequenceNumberRepeatsNothing(t *testing.T) {
	testExpiredIterator(t, true)
}

func testExpiredIterator(t *testing.T, ignoresSequence bool) {
	synctest.Test(t, func(t *testing.T) {
		service := newScripted()
		service.ignoresSequence = ignoresSequence
		b := begin(t, service)
		defer b.stop()
		b.change("a", "1", "2")
		after(time.Second)

		service.mu.Lock()
		service.generation++
		service.mu.Unlock()
		b.change("a", "3")
		after(time.Second)

		assert.Equal(t, []string{"1", "2", "3"}, b.got())
	})
}

func TestALongStreamIsPassedOverQuicklyWhenTheIteratorExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newScripted()
		service.ignoresSequence = true
		for i := range 20 * pageSize {
			service.renewal("a", fmt.Sprint(i))
		}
		b := begin(t, service)
		defer b.stop()
		after(time.Second)

		service.mu.Lock()
		service.generation++
		service.mu.Unlock()
		b.change("a", "last")
		after(time.Second)

		assert.Equal(t, []string{"last"}, b.got())
	})
}

func TestTrimmedRecordsAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.change("a", "1")
		after(time.Second)
		b.failNext("GetRecords", &types.TrimmedDataAccessException{})
		service := b.scripted
		service.change("a", "2", "3")
		service.mu.Lock()
		service.find("a").trimmed = 2
		service.mu.Unlock()

		after(time.Second)

		assert.Equal(t, []string{"1", "3"}, b.got())
	})
}

func TestTroubleWithTheServiceIsWaitedOut(t *testing.T) {
	refused := errors.New("connection refused")
	slow := &smithy.GenericAPIError{Code: "ProvisionedThroughputExceededException"}
	cases := []struct {
		name, operation string
		errs            []error
	}{
		{"reading fails", "GetRecords", []error{refused, refused, refused}},
		{"throttled", "GetRecords", []error{slow, slow}},
		{"limited", "GetRecords", []error{&types.LimitExceededException{}}},
		{"iterator fails", "GetShardIterator", []error{refused, refused}},
		{"list fails", "DescribeStream", []error{refused, &types.LimitExceededException{}}},
		{"table is not there yet", "DescribeTable", []error{&types.ResourceNotFoundException{}, refused}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service := newScripted()
				service.failNext(c.operation, c.errs...)
				service.change("a", "1")
				b := begin(t, service)
				defer b.stop()
				after(5 * time.Second)
				b.change("a", "2")
				after(time.Second)

				assert.Equal(t, []string{"1", "2"}, b.got())
			})
		})
	}
}

func TestAThrottledShardIsReadMoreSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.failNext("GetRecords", &types.LimitExceededException{})
		after(time.Minute)
		before := b.count("GetRecords")

		for i := range 100 {
			b.change("a", fmt.Sprint(i))
			after(100 * time.Millisecond)
		}

		assert.LessOrEqual(t, b.count("GetRecords")-before, 41, "at most four reads a second")
	})
}

func TestATableMadeAnewIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		defer b.stop()
		b.change("a", "1")
		after(time.Second)

		b.recreate("stream-2", "a")
		b.change("a", "2")
		after(discoverEvery)

		assert.Equal(t, []string{"1", "2"}, b.got())
	})
}

func TestStoppingDeliversWhatIsInTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		after(time.Second)
		b.change("a", "1", "2", "3")

		b.stop()

		assert.Equal(t, []string{"1", "2", "3"}, b.got())
	})
}

func TestStoppingDoesNotWaitForAHandlerThatFailsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, newScripted())
		b.answer = func([]string) ([]string, error) { return nil, errors.New("never") }
		b.change("a", "1", "2", "3")
		after(200 * time.Millisecond)
		asked := time.Now()

		b.stop()

		assert.LessOrEqual(t, time.Since(asked), flushTime)
	})
}

func TestAPatternThatIsNotUnderstoodIsAnError(t *testing.T) {
	_, err := New(Config{Filters: []string{`{"eventName":[{"prefix":"RE"}]}`}})
	assert.ErrorContains(t, err, "prefix")
}
