package eventsource_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/local/eventsource"
	"github.com/eurekaless/registry/storage"
	store "github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
	"github.com/eurekaless/registry/storage/faulty"
)

// TestOnFailure goes the whole way of what cannot be delivered, with all four
// handlers and a client: a record that nobody understands is counted and passed
// by at once; one whose row cannot be written is given up after the attempts
// while the shard goes on; and the next pass of the evict function tells readers
// and clients of it after all.
func TestOnFailure(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		r := newRegistry(t, e)
		r.register("before")
		r.awaitWritten(1)
		require.NoError(t, r.evict.Handle(t.Context()))
		r.turn()
		r.assertSeen("before")

		r.putGarbage()
		r.register("next")
		r.awaitWritten(2)
		assert.EqualValues(t, 1, r.metrics.sum(handlers.RecordsNotUnderstood))
		assert.Equal(t, eventsource.Stats{Read: 3, Matched: 3}, r.poller.Stats(), "nothing was given up for it")

		r.refused.Store(true)
		r.register("refused")
		given := r.awaitGivenUp()
		assert.Equal(t, 1, given.Records)
		assert.Equal(t, eventsource.MaximumAttempts, given.Attempts)
		assert.EqualValues(t, eventsource.MaximumAttempts, r.metrics.sum(handlers.RowsFailed))
		r.register("after")
		r.awaitWritten(3)
		r.turn()
		r.assertSeen("before", "next", "after")

		r.refused.Store(false)
		r.advance(healingGrace)
		require.NoError(t, r.evict.Handle(t.Context()))
		assert.EqualValues(t, 1, r.metrics.sum(handlers.RowsHealed))
		r.turn()
		r.assertSeen("before", "next", "after", "refused")
	})
}

// The pace of a registry here: readers turn over every refresh, and a pass heals
// what is older than healingGrace.
const (
	refresh      = 5 * time.Second
	healingGrace = 10 * time.Second
)

// registry is all of the functions on an engine, with the poller between them,
// and a client that watches. Its clock runs ahead as a test says.
type registry struct {
	t       *testing.T
	parts   *boot.Parts
	db      *dynamodb.Client
	poller  *eventsource.Poller
	evict   *handlers.Evict
	server  *httptest.Server
	client  *discovery.Client
	metrics *sums
	ahead   atomic.Int64
	// refused: the row of the instance of this name cannot be written.
	refused atomic.Bool
	givenUp chan eventsource.Discarded
}

func newRegistry(t *testing.T, e enginetest.Engine) *registry {
	t.Helper()
	r := &registry{t: t, db: e.Client(t), metrics: &sums{}, givenUp: make(chan eventsource.Discarded, 10)}
	suffix := strings.ToLower(rand.Text())
	settings := map[string]string{
		"REGISTRY_LEASE_TABLE": "leases-" + suffix, "REGISTRY_DELTA_TABLE": "deltas-" + suffix,
		"REGISTRY_CACHE_REFRESH": refresh.String(), "REGISTRY_EVICTION_INTERVAL": healingGrace.String(),
	}
	cfg, err := boot.Load(func(name string) (string, bool) { value, ok := settings[name]; return value, ok }, boot.Local)
	require.NoError(t, err)
	_, err = store.CreateTables(t.Context(), r.db, cfg.LeaseTable, cfg.DeltaTable)
	require.NoError(t, err)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	r.parts = &boot.Parts{
		Config: cfg, Log: log, Meter: r.metrics, Tables: faulty.Wrap(boot.Tables(r.db, cfg, log, r.metrics), r.fault),
		Now: func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) },
	}
	r.evict, err = r.parts.Evict()
	require.NoError(t, err)
	r.server = httptest.NewServer(r.parts.API())
	t.Cleanup(r.server.Close)
	r.watch()
	r.poll(e)
	return r
}

// fault keeps the row of one instance from being written.
func (r *registry) fault(op storage.Operation, key eureka.Key) faulty.Fault {
	if op == storage.Put && key.ID == "refused" && r.refused.Load() {
		return faulty.Fault{Kind: faulty.Throttled}
	}
	return faulty.Fault{}
}

// watch starts a client, which fetches when it is told to.
func (r *registry) watch() {
	r.t.Helper()
	var err error
	r.client, err = discovery.New(discovery.Config{
		ServiceURLs: []string{r.server.URL + "/eureka"}, FetchInterval: time.Hour, Logger: r.parts.Log,
	})
	require.NoError(r.t, err)
	require.NoError(r.t, r.client.Start(r.t.Context()))
	r.t.Cleanup(func() { assert.NoError(r.t, r.client.Stop(context.WithoutCancel(r.t.Context()))) })
}

// poll brings changes to the stream handler until the test ends.
func (r *registry) poll(e enginetest.Engine) {
	r.t.Helper()
	options := r.db.Options()
	var err error
	r.poller, err = eventsource.New(eventsource.Config{
		Table: r.parts.Config.LeaseTable, Tables: r.db,
		Streams: dynamodbstreams.New(dynamodbstreams.Options{
			Region: options.Region, BaseEndpoint: &e.Endpoint, Credentials: options.Credentials,
		}),
		Handler: r.parts.Stream().Handle, Filters: []string{store.FilterChange, store.FilterRemoval},
		OnFailure: func(d eventsource.Discarded) { r.givenUp <- d },
		Now:       time.Now, Log: r.parts.Log,
	})
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	var running sync.WaitGroup
	running.Go(func() { r.poller.Run(ctx) })
	r.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

func (r *registry) register(id string) {
	r.t.Helper()
	body := fmt.Sprintf(`{"instance": {"instanceId": %q, "hostName": "a.example.org", "app": "SHOP", "ipAddr": "192.0.2.1",
		"status": "UP", "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`, id)
	resp, err := http.Post(r.server.URL+"/eureka/apps/SHOP", "application/json", strings.NewReader(body))
	require.NoError(r.t, err)
	require.NoError(r.t, resp.Body.Close())
	require.Equal(r.t, http.StatusNoContent, resp.StatusCode)
}

// putGarbage writes an item that passes the filter and is no lease.
func (r *registry) putGarbage() {
	r.t.Helper()
	_, err := r.db.PutItem(r.t.Context(), &dynamodb.PutItemInput{
		TableName: &r.parts.Config.LeaseTable,
		Item: map[string]types.AttributeValue{
			store.AttrApp:    &types.AttributeValueMemberS{Value: "SHOP"},
			store.AttrID:     &types.AttributeValueMemberS{Value: "garbage"},
			store.AttrChange: &types.AttributeValueMemberS{Value: "1"},
			store.AttrInfo:   &types.AttributeValueMemberB{Value: []byte("garbage")},
		},
	})
	require.NoError(r.t, err)
}

// awaitWritten waits until the stream has brought so many rows to the readers.
func (r *registry) awaitWritten(rows float64) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.metrics.sum(handlers.RowsWritten) == rows }, 30*time.Second, 5*time.Millisecond)
}

func (r *registry) awaitGivenUp() eventsource.Discarded {
	r.t.Helper()
	select {
	case d := <-r.givenUp:
		return d
	case <-time.After(30 * time.Second):
		require.Fail(r.t, "nothing was given up")
		panic("not reached")
	}
}

func (r *registry) advance(d time.Duration) { r.ahead.Add(int64(d)) }

// turn lets the next view of the readers become due.
func (r *registry) turn() { r.advance(refresh + refresh/4) }

// assertSeen says what the client sees once it has fetched, and so the readers.
func (r *registry) assertSeen(ids ...string) {
	r.t.Helper()
	require.NoError(r.t, r.client.Refresh(r.t.Context()))
	app, _ := r.client.View().Application("SHOP")
	var seen []string
	for _, i := range app.Instances {
		seen = append(seen, i.ID())
	}
	assert.ElementsMatch(r.t, ids, seen)
}

// sums adds up what is measured.
type sums struct {
	mu     sync.Mutex
	values map[handlers.Metric]float64
}

func (s *sums) Record(m handlers.Metric, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[handlers.Metric]float64{}
	}
	s.values[m] += value
}

func (s *sums) Flush() {}

func (s *sums) sum(m handlers.Metric) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[m]
}
