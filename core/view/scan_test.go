package view_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/view"
)

// slowScans takes a second for each scan of the lease table.
type slowScans struct {
	view.Source
	begun, atOnce, most atomic.Int64
}

func (s *slowScans) Scan(context.Context) ([]eureka.Lease, error) {
	s.begun.Add(1)
	s.most.Store(max(s.most.Load(), s.atOnce.Add(1)))
	defer s.atOnce.Add(-1)
	time.Sleep(time.Second) // of a synthetic clock
	return nil, nil
}

// TestRequestsShareScans: with an interval of 0 a hundred requests at once cost
// two scans, the one that was under way when they came being too old for them.
func TestRequestsShareScans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &slowScans{}
		cache := view.New(view.Config{Source: source})
		var requests sync.WaitGroup
		read := func(n int) {
			for range n {
				requests.Go(func() {
					_, err := cache.View(t.Context())
					assert.NoError(t, err)
				})
			}
		}
		read(1)
		time.Sleep(time.Second / 2)
		read(100)
		requests.Wait()
		assert.EqualValues(t, 2, source.begun.Load())
		assert.EqualValues(t, 1, source.most.Load(), "at once")

		before := source.begun.Load()
		_, err := cache.View(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, before+1, source.begun.Load(), "a later request sees what is there now")
	})
}
