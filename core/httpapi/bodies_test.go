package httpapi_test

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/registry"
)

// slowBody is a body whose sender waits in the middle, and notes how many such
// senders were read so far.
type slowBody struct {
	parts []string
	wait  <-chan struct{}
	inner *atomic.Int64
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.parts) == 0 {
		return 0, io.EOF
	}
	if len(b.parts) == 1 && b.wait != nil {
		b.inner.Add(1)
		<-b.wait
		b.wait = nil
	}
	n := copy(p, b.parts[0])
	if b.parts[0] = b.parts[0][n:]; b.parts[0] == "" {
		b.parts = b.parts[1:]
	}
	return n, nil
}

// register sends a registration whose sender may wait before its last part.
func register(s *server, body io.Reader, length int64) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://registry.example.org/eureka/apps/SHOP", body)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = length
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// TestLargeBodiesWait: of large bodies only so many are read at once as there is
// memory for, and whoever sends one slowly keeps no small one waiting.
func TestLargeBodiesWait(t *testing.T) {
	large := `{"x":"` + strings.Repeat("x", 1<<20-100) + `",` + strings.TrimPrefix(shop(nil), "{")
	for name, length := range map[string]int64{"of known length": int64(len(large)), "of unknown length": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, func(c *httpapi.Config) { c.BodyMemory = 4 << 20 })
				release := make(chan struct{})
				var inner atomic.Int64
				var senders sync.WaitGroup
				var refused atomic.Int64
				for range 100 {
					senders.Go(func() {
						body := &slowBody{parts: []string{large[:20_000], large[20_000:]}, wait: release, inner: &inner}
						if w := register(s, body, length); w.Code != 413 && w.Code != 204 {
							refused.Add(1)
						}
					})
				}
				synctest.Wait()
				assert.LessOrEqual(t, inner.Load(), int64(4), "read at once")
				assert.GreaterOrEqual(t, inner.Load(), int64(3))

				small := shop(nil)
				assert.Equal(t, 204, register(s, strings.NewReader(small), int64(len(small))).Code, "a small one")
				close(release)
				senders.Wait()
				assert.EqualValues(t, 100, inner.Load(), "all were read at last")
				assert.Zero(t, refused.Load())
			})
		})
	}
}

// slowStore takes a second for each registration.
type slowStore struct {
	registry.Store
	atOnce, most atomic.Int64
}

func (s *slowStore) Register(context.Context, registry.Registration) error {
	n := s.atOnce.Add(1)
	defer s.atOnce.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	time.Sleep(time.Second) // of a synthetic clock
	return nil
}

// TestBodiesWaitUntilOthersAreWorkedOn: what a body was decoded to counts until
// the end of its request, and a request that waits in vain is told to come again.
func TestBodiesWaitUntilOthersAreWorkedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{}
		s := newServer(t, func(c *httpapi.Config) {
			c.BodyMemory, c.MaxBody = 1<<20, 64<<10
			c.Registry = registry.New(registry.Config{Store: store})
		})
		body := strings.Replace(shop(nil), `"zone"`, `"x":"`+strings.Repeat("x", 50_000)+`","zone"`, 1)
		codes := make([]int, 100)
		var senders sync.WaitGroup
		for n := range codes {
			senders.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second+time.Millisecond)
				defer cancel()
				r := httptest.NewRequestWithContext(ctx, "POST", "http://registry.example.org/eureka/apps/SHOP", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				s.handler.ServeHTTP(w, r)
				codes[n] = w.Code
				if w.Code == 503 {
					assert.Equal(t, "1", w.Header().Get("Retry-After"))
				}
			})
		}
		senders.Wait()
		assert.LessOrEqual(t, store.most.Load(), int64(20), "at once")
		counts := map[int]int{}
		for _, code := range codes {
			counts[code]++
		}
		require.Equal(t, 100, counts[204]+counts[503], "%v", counts)
		assert.GreaterOrEqual(t, counts[204], 3*15)
		assert.Positive(t, counts[503])
	})
}
