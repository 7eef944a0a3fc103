package dynamodb_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/dynamodb"
)

func refuse(code, message string) transport {
	return func(*http.Request) (*http.Response, error) { return refusal(code, message), nil }
}

func status(code int) transport {
	return func(*http.Request) (*http.Response, error) { return answer(code, ""), nil }
}

func broken(err error) transport {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

var throttle = refuse("ProvisionedThroughputExceededException", "The level of configured provisioned throughput was exceeded")

// TestErrors is the table from what DynamoDB and the network do to what callers
// see. The synctest bubble makes the pauses between tries instantaneous.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		answers []transport
		want    error
		tries   int64
	}{
		"throttled at every try":          {[]transport{throttle}, eureka.ErrThrottled, 4},
		"request limit at every try":      {[]transport{refuse("RequestLimitExceeded", "")}, eureka.ErrThrottled, 4},
		"throttling at every try":         {[]transport{refuse("ThrottlingException", "")}, eureka.ErrThrottled, 4},
		"throttled after a lost answer":   {[]transport{broken(io.ErrUnexpectedEOF), throttle}, eureka.ErrUnavailable, 4},
		"throttled after a server error":  {[]transport{status(500), throttle}, eureka.ErrUnavailable, 4},
		"server error at every try":       {[]transport{status(500)}, eureka.ErrUnavailable, 4},
		"not available at every try":      {[]transport{status(503)}, eureka.ErrUnavailable, 4},
		"connection refused":              {[]transport{broken(syscall.ECONNREFUSED)}, eureka.ErrUnavailable, 4},
		"connection lost at every try":    {[]transport{broken(io.ErrUnexpectedEOF)}, eureka.ErrUnavailable, 4},
		"no answer before the deadline":   {[]transport{silent}, eureka.ErrUnavailable, 1},
		"table missing":                   {[]transport{refuse("ResourceNotFoundException", "no table")}, eureka.ErrUnavailable, 1},
		"not allowed":                     {[]transport{refuse("AccessDeniedException", "no")}, eureka.ErrUnavailable, 1},
		"item too large":                  {[]transport{refuse("ValidationException", "Item size has exceeded the maximum allowed size")}, eureka.ErrTooLarge, 1},
		"update makes an item too large":  {[]transport{refuse("ValidationException", "Item size to update has exceeded the maximum allowed size")}, eureka.ErrTooLarge, 1},
		"no JSON":                         {[]transport{func(*http.Request) (*http.Response, error) { return answer(200, "<html>"), nil }}, eureka.ErrUnavailable, 1},
		"one lost answer and then a good": {[]transport{broken(io.ErrUnexpectedEOF), func(*http.Request) (*http.Response, error) { return answer(200, "{}"), nil }}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{steps: c.answers}
				s := dynamodb.New(clientOn(t, a), dynamodb.Config{})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()

				err := errorOf(s.Renew(ctx, registry.Renewal{Key: shop1, Now: time.Now()}))

				if c.want == nil {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, c.want)
				}
				for _, other := range []error{eureka.ErrThrottled, eureka.ErrUnavailable, eureka.ErrTooLarge} {
					assert.Equal(t, other == c.want, errors.Is(err, other), "%v is %v", err, other)
				}
				assert.Equal(t, c.tries, a.count.Load(), "tries")
			})
		})
	}
}

// TestAFaultOfThisPackageIsNoSentinel: it must become a 500 that somebody
// looks into, not a 503 that clients wait for.
func TestAFaultOfThisPackageIsNoSentinel(t *testing.T) {
	s := dynamodb.New(clientOn(t, refuse("ValidationException", "Invalid UpdateExpression")), dynamodb.Config{})

	err := errorOf(s.Renew(t.Context(), registry.Renewal{Key: shop1}))

	require.Error(t, err)
	for _, sentinel := range []error{eureka.ErrThrottled, eureka.ErrUnavailable, eureka.ErrTooLarge, eureka.ErrInvalid} {
		assert.NotErrorIs(t, err, sentinel)
	}
}

// TestARetryThatMeetsItsOwnWrite: the answer of a cancel is lost, and the
// SDK's second try finds the tombstone. The caller sees it and knows.
func TestARetryThatMeetsItsOwnWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{steps: []transport{broken(io.ErrUnexpectedEOF), func(*http.Request) (*http.Response, error) {
			return answer(400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"",
				"Item":{"app":{"S":"SHOP"},"id":{"S":"shop-1"},"version":{"N":"1700000000002"},"gone":{"N":"1700000000001"}}}`), nil
		}}}
		s := dynamodb.New(clientOn(t, a), dynamodb.Config{})

		err := s.Cancel(t.Context(), shop1, time.UnixMilli(1_700_000_000_001))

		var failed *registry.ConditionFailedError
		require.ErrorAs(t, err, &failed)
		require.True(t, failed.Stored.Tombstone())
		assert.True(t, failed.Stored.Gone.Equal(time.UnixMilli(1_700_000_000_001)))
		assert.EqualValues(t, 2, a.count.Load(), "the old item came with the answer, no read was needed")
	})
}

// TestARenewalOfNobodyIsOneCall: most 404s are heartbeats, and nobody asks what
// was found.
func TestARenewalOfNobodyIsOneCall(t *testing.T) {
	a := &answers{steps: []transport{refuse("ConditionalCheckFailedException", "The conditional request failed")}}
	s := dynamodb.New(clientOn(t, a), dynamodb.Config{})

	err := errorOf(s.Renew(t.Context(), registry.Renewal{Key: shop1, Now: time.Now(), Dirty: time.Now()}))

	assert.ErrorAs(t, err, new(*registry.ConditionFailedError))
	assert.EqualValues(t, 1, a.count.Load())
}

// TestKeysThatNoItemCanHave cost no call.
func TestKeysThatNoItemCanHave(t *testing.T) {
	a := &answers{steps: []transport{refuse("ValidationException", "key")}}
	s := dynamodb.New(clientOn(t, a), dynamodb.Config{})
	long := string(make([]byte, 1025))
	for name, key := range map[string]eureka.Key{
		"no id": {App: "SHOP"}, "no app": {ID: "shop-1"}, "long id": {App: "SHOP", ID: long},
		"long app": {App: long + long, ID: "shop-1"}, "no text": {App: "SHOP", ID: "\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Get(t.Context(), key)
			assert.ErrorIs(t, err, eureka.ErrLeaseNotFound)
			for _, err := range []error{
				errorOf(s.Renew(t.Context(), registry.Renewal{Key: key})),
				s.Update(t.Context(), registry.Update{Key: key}),
				s.Cancel(t.Context(), key, time.Now()),
				s.Evict(t.Context(), key, time.Now(), time.Now()),
			} {
				assert.Equal(t, &registry.ConditionFailedError{}, err)
			}
			l := usualLease(1)
			l.Key = key
			err = s.Register(t.Context(), registry.Registration{Lease: l})
			var invalid *eureka.InvalidError
			assert.ErrorAs(t, err, &invalid)
		})
	}
	assert.Zero(t, a.count.Load())
}
