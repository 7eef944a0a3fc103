package dynamodb_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// clockRig is a clock of which only the test says how far it is off, before an
// engine whose clock is right.
type clockRig struct {
	*dynamodb.Clock
	client  *awsdynamodb.Client
	off     atomic.Int64
	changed []time.Duration
	differs []time.Duration
}

func newClockRig(t *testing.T, endpoint string) *clockRig {
	r := &clockRig{}
	r.Clock = dynamodb.NewClock(dynamodb.ClockConfig{
		Now:     func() time.Time { return time.Now().Add(time.Duration(r.off.Load())) },
		Differs: func(offset time.Duration) { r.differs = append(r.differs, offset) },
		Changed: func(_ context.Context, offset time.Duration) { r.changed = append(r.changed, offset) },
	})
	r.client = enginetest.Engine{Endpoint: endpoint}.Client(t, r.Observe)
	return r
}

// call makes a call, whatever becomes of it.
func (r *clockRig) call(t *testing.T) {
	t.Helper()
	_, _ = r.client.DescribeTable(t.Context(), &awsdynamodb.DescribeTableInput{TableName: aws.String("none")})
}

// TestClockFollowsTheDatabase: a process whose clock is ahead, behind, or set
// back while it runs has the database's time after two calls.
func TestClockFollowsTheDatabase(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		r := newClockRig(t, e.Endpoint)
		for _, c := range []struct {
			off       time.Duration
			corrected bool
		}{
			{0, false},
			{3 * time.Second, false},
			{2 * time.Minute, true},
			{-90 * time.Second, true},
			{-24 * time.Hour, true},
			{0, false},
			{-3 * time.Second, false},
		} {
			r.off.Store(int64(c.off))
			r.call(t)
			r.call(t)
			off := time.Until(r.Now())
			if c.corrected {
				assert.InDelta(t, 0, off.Seconds(), 2, "off by %s", c.off)
				continue
			}
			assert.InDelta(t, c.off.Seconds(), off.Seconds(), 0.1, "its own clock is near enough")
		}
		require.Len(t, r.changed, 4)
		assert.InDelta(t, -120, r.changed[0].Seconds(), 2)
		assert.InDelta(t, 90, r.changed[1].Seconds(), 2)
		assert.Zero(t, r.changed[3], "it is right again")
		assert.NotContains(t, r.differs, time.Duration(0))
		assert.NotEmpty(t, r.differs)
	})
}

// TestOneMeasurementProvesNothing: a response that says another time once, that
// took long, or that says none changes nothing.
func TestOneMeasurementProvesNothing(t *testing.T) {
	var off atomic.Int64
	var silent atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if silent.Load() {
			w.Header()["Date"] = nil
		} else {
			w.Header().Set("Date", time.Now().Add(time.Duration(off.Load())).UTC().Format(http.TimeFormat))
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	r := newClockRig(t, server.URL)
	r.call(t)
	off.Store(int64(time.Hour))
	r.call(t)
	off.Store(int64(2 * time.Hour))
	r.call(t)
	silent.Store(true)
	r.call(t)
	r.call(t)
	assert.Empty(t, r.changed)
	assert.InDelta(t, 0, time.Until(r.Now()).Seconds(), 0.1)
	silent.Store(false)
	r.call(t)
	assert.Len(t, r.changed, 1, "the second that says so")
}
