package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/memory"
)

// provisioned is a lease table with provisioned write capacity: it throttles
// above it and the unused capacity that it has saved, and raises it as Application Auto Scaling does: minutes after two minutes of
// more than the target utilization.
type provisioned struct {
	*memory.Store
	mu sync.Mutex
	// capacity is in write units a second, saved for how many seconds what is
	// unused is saved; tokens are the units left.
	capacity, saved, tokens float64
	filled                  time.Time
	used                    float64 // in this minute
}

const (
	scalingTakes = 2 * time.Minute
	target       = 0.7
)

func newProvisioned(floor, saved float64) *provisioned {
	return &provisioned{Store: memory.New(memory.Config{}), capacity: floor, saved: saved, filled: time.Now()}
}

// take takes a write unit.
func (p *provisioned) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.tokens = min(p.tokens+p.capacity*now.Sub(p.filled).Seconds(), p.capacity*(1+p.saved))
	p.filled = now
	if p.tokens < 1 {
		return false
	}
	p.tokens--
	p.used++
	return true
}

// write makes a conditional write as the driver does: four tries, with growing
// pauses.
func (p *provisioned) write(ctx context.Context, do func() error) error {
	pause := 25 * time.Millisecond
	for try := range 4 {
		if try > 0 {
			time.Sleep(rand.N(pause))
			pause *= 2
		}
		if p.take() {
			return do()
		}
	}
	return fmt.Errorf("%w: %w", eureka.ErrThrottled, context.Cause(ctx))
}

func (p *provisioned) Register(ctx context.Context, r registry.Registration) error {
	return p.write(ctx, func() error { return p.Store.Register(ctx, r) })
}

func (p *provisioned) Renew(ctx context.Context, r registry.Renewal) (duration time.Duration, err error) {
	return duration, p.write(ctx, func() error {
		duration, err = p.Store.Renew(ctx, r)
		return err
	})
}

// scale watches the utilization until the context ends.
func (p *provisioned) scale(ctx context.Context) {
	above := 0
	for minutes(ctx) {
		p.mu.Lock()
		used := p.used / 60
		p.used = 0
		above++
		if used <= target*p.capacity {
			above = 0
		}
		raise := above == 2
		p.mu.Unlock()
		if !raise {
			continue
		}
		time.AfterFunc(scalingTakes, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.capacity = max(p.capacity, used/target)
		})
		above = 0
	}
}

// minutes waits a minute, or until the context ends.
func minutes(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Minute):
		return true
	}
}

// handlerTransport asks a handler.
type handlerTransport struct {
	handler http.Handler
	asked   func(r *http.Request, answer *http.Response)
}

func (h handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if r.Body == nil {
		r.Body = io.NopCloser(bytes.NewReader(nil))
	}
	h.handler.ServeHTTP(w, r)
	answer := w.Result()
	answer.Request = r
	h.asked(r, answer)
	return answer, nil
}

// surge is a fleet of clients and what they were answered.
type surge struct {
	t      *testing.T
	table  *provisioned
	client *http.Client
	group  sync.WaitGroup

	mu                                  sync.Mutex
	refused, lost, renewed, renewedByGo int
}

func (s *surge) asked(r *http.Request, answer *http.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heartbeat := r.Method == http.MethodPut
	switch {
	case answer.StatusCode == http.StatusServiceUnavailable:
		s.refused++
		assert.NotEmpty(s.t, answer.Header.Get("Retry-After"))
	case heartbeat && answer.StatusCode == http.StatusNotFound:
		s.lost++
	case heartbeat && answer.StatusCode == http.StatusOK:
		s.renewed++
		if strings.Contains(r.URL.Path, "/apps/GO/") {
			s.renewedByGo++
		}
	}
}

const surgeRegistration = `{"instance": {"instanceId": "%[1]d", "hostName": "h%[1]d", "app": "JAVA", "ipAddr": "192.0.2.1", "status": "UP",
	"lastDirtyTimestamp": "%[2]d", "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`

// java is a client as Java's: it registers, tries again at the next heartbeat,
// and sends one every 30 s whatever became of the one before.
func (s *surge) java(ctx context.Context, n int, start time.Duration) {
	time.Sleep(start)
	dirty := time.Now().UnixMilli()
	registered := false
	for ctx.Err() == nil {
		began := time.Now()
		if !registered {
			registered = s.ask(http.MethodPost, "/apps/JAVA", fmt.Sprintf(surgeRegistration, n, dirty)) == http.StatusNoContent
		} else if s.ask(http.MethodPut, fmt.Sprintf("/apps/JAVA/%d?lastDirtyTimestamp=%d", n, dirty), "") == http.StatusNotFound {
			registered = false
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(30*time.Second - time.Since(began)):
		}
	}
}

func (s *surge) ask(method, path, body string) int {
	r, err := http.NewRequest(method, "http://registry/eureka"+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	require.NoError(s.t, err)
	answer.Body.Close()
	return answer.StatusCode
}

func (s *surge) passes(ctx context.Context) {
	cfg := eviction.DefaultConfig()
	tables := storage.Tables{LeaseTable: s.table, DeltaTable: s.table}
	cfg.Store, cfg.Deltas, cfg.Publications = tables, tables, tables
	cfg.Policy.ClockAllowance = 5 * time.Second
	runner, err := eviction.New(cfg)
	require.NoError(s.t, err)
	for minutes(ctx) {
		_, err := runner.Run(ctx)
		require.NoError(s.t, err)
	}
}

// surgeSteady is how many instances the write capacity's floor is made for.
const surgeSteady = 400

// run lets the fleet grow within a minute, and beyond the capacity.
func (s *surge) run(interval time.Duration, more int) {
	ctx, cancel := context.WithCancel(s.t.Context())
	transport := handlerTransport{httpapi.New(httpapi.Config{
		Registry: registry.New(registry.Config{Store: s.table, RenewalWriteInterval: interval}), Logger: discard(),
	}), s.asked}
	s.client = &http.Client{Transport: transport}
	s.group.Go(func() { s.table.scale(ctx) })
	s.group.Go(func() { s.passes(ctx) })
	for n := range surgeSteady {
		s.group.Go(func() { s.java(ctx, n, time.Duration(n)*5*time.Minute/surgeSteady) })
	}
	for n := range more {
		s.group.Go(func() { s.java(ctx, surgeSteady+n, 15*time.Minute+time.Duration(n)*time.Minute/time.Duration(more)) })
	}
	client, err := discovery.New(discovery.Config{
		ServiceURLs: []string{"http://registry/eureka"}, Transport: transport, DisableFetch: true, RegisterAtStart: true, Logger: discard(),
		Instance: &discovery.Instance{App: "GO", ID: "go-1", HostName: "go-1", IPAddr: "192.0.2.2", Port: 80},
	})
	require.NoError(s.t, err)
	require.NoError(s.t, client.Start(ctx))
	time.Sleep(40 * time.Minute)
	require.NoError(s.t, client.Stop(ctx))
	cancel()
	s.group.Wait()
}

// TestThrottlesCostNoLease: a fleet that uses a little less than the target outgrows the write capacity within a minute,
// minutes before the capacity follows. Clients are answered 503 with
// Retry-After, and keep their leases: a client as Java's, which only sends its
// next heartbeat 30 s later, and the one of core/discovery.
func TestThrottlesCostNoLease(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		more     int
		saved    float64
		interval time.Duration
		refused  int // at the least
	}{
		{"twice as many, a minute saved", surgeSteady, 60, 0, 20},
		{"twice as many, five minutes saved as DynamoDB does", surgeSteady, 300, 0, 0},
		{"twice as many, nothing saved, heartbeats that need no write", surgeSteady, 0, 75 * time.Second, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &surge{t: t, table: newProvisioned(surgeSteady/30.0/(target-0.05), test.saved)}
				s.run(test.interval, test.more)
				t.Logf("answered 503: %d, renewed: %d, of them by the Go client: %d, leases lost: %d, capacity at the end: %.0f",
					s.refused, s.renewed, s.renewedByGo, s.lost, s.table.capacity)
				assert.Zero(t, s.lost)
				assert.GreaterOrEqual(t, s.refused, test.refused)
				assert.Greater(t, s.renewedByGo, 75)
			})
		})
	}
}
