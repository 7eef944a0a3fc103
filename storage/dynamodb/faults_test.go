package dynamodb_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
	"github.com/eurekaless/registry/storage/storagetest"
)

// faultRig is a store over a network that fails, and one over a good network
// that sees what the tables hold.
type faultRig struct {
	network *network
	store   *dynamodb.Store
	sound   *dynamodb.Store
	now     time.Time
}

func newFaultRig(t *testing.T, e enginetest.Engine) *faultRig {
	t.Helper()
	f := &faultRig{network: &network{}, now: began}
	cfg := e.Tables(t)
	cfg.Now = f.clock
	f.sound = dynamodb.New(e.Client(t), cfg)
	f.store = dynamodb.New(e.Client(t, func(o *awsdynamodb.Options) {
		f.network.next, o.HTTPClient = o.HTTPClient, f.network
		o.Retryer = retry.AddWithMaxBackoffDelay(o.Retryer, 10*time.Millisecond)
	}), cfg)
	return f
}

func (f *faultRig) clock() time.Time { return f.now }

// registry returns the operations on one of the stores.
func (f *faultRig) registry(store registry.Store) *registry.Registry {
	return registry.New(registry.Config{Store: store, Now: f.clock})
}

func (f *faultRig) scan(t *testing.T) map[eureka.Key]eureka.Lease {
	t.Helper()
	leases, err := f.sound.Scan(t.Context())
	require.NoError(t, err)
	byKey := make(map[eureka.Key]eureka.Lease, len(leases))
	for _, l := range leases {
		byKey[l.Key] = l
	}
	return byKey
}

// faultKey names an instance of a case.
func faultKey(id string) eureka.Key { return eureka.NewKey("shop", id) }

func faultInstance(key eureka.Key, address string) *eureka.InstanceInfo {
	i := *usualLease(1).Instance
	i.InstanceID, i.App, i.IPAddr, i.LastDirty = key.ID, key.App, address, began
	return &i
}

// operation is a write of the core, as one request makes it.
type operation struct {
	name string
	// prepare brings about the item that it meets.
	prepare func(ctx context.Context, r *registry.Registry, key eureka.Key) error
	run     func(ctx context.Context, f *faultRig, s *dynamodb.Store, key eureka.Key) error
	// shows reports whether the item is as the operation must leave it when
	// it is answered as a success.
	shows func(l *eureka.Lease) bool
}

func registered(ctx context.Context, r *registry.Registry, key eureka.Key) error {
	return r.Register(ctx, faultInstance(key, "192.0.2.1"))
}

func overriddenOne(ctx context.Context, r *registry.Registry, key eureka.Key) error {
	if err := registered(ctx, r, key); err != nil {
		return err
	}
	return r.SetStatus(ctx, key, eureka.OutOfService, time.Time{})
}

func nothing(context.Context, *registry.Registry, eureka.Key) error { return nil }

// operations are all writes to the lease table.
var operations = []operation{
	{"register", nothing, register, func(l *eureka.Lease) bool { return alive(l) && l.Instance.IPAddr == "192.0.2.2" }},
	{"register over a lease", registered, register, func(l *eureka.Lease) bool { return alive(l) && l.Instance.IPAddr == "192.0.2.2" }},
	{"register over an override", overriddenOne, register, func(l *eureka.Lease) bool {
		return alive(l) && l.Instance.IPAddr == "192.0.2.2"
	}},
	{"renew", registered, func(ctx context.Context, f *faultRig, s *dynamodb.Store, key eureka.Key) error {
		return f.registry(s).Renew(ctx, key, began)
	}, func(l *eureka.Lease) bool { return alive(l) && l.Renewed.Equal(began.Add(time.Second)) }},
	{"cancel", overriddenOne, func(ctx context.Context, f *faultRig, s *dynamodb.Store, key eureka.Key) error {
		return f.registry(s).Cancel(ctx, key)
	}, func(l *eureka.Lease) bool { return l != nil && l.Tombstone() && l.Overridden == "" }},
	{"evict", overriddenOne, func(ctx context.Context, f *faultRig, s *dynamodb.Store, key eureka.Key) error {
		err := s.Evict(ctx, key, began, f.now)
		if found := new(registry.ConditionFailedError); errors.As(err, &found) && found.Stored != nil && found.Stored.Gone.Equal(f.now) {
			return nil // the pass sees that it wrote this tombstone itself
		}
		return err
	}, func(l *eureka.Lease) bool { return l != nil && l.Tombstone() }},
	{"status", registered, func(ctx context.Context, f *faultRig, s *dynamodb.Store, key eureka.Key) error {
		return f.registry(s).SetStatus(ctx, key, eureka.OutOfService, time.Time{})
	}, func(l *eureka.Lease) bool { return alive(l) && l.Overridden == eureka.OutOfService }},
	{"status's removal", overriddenOne, func(ctx context.Context, f *faultRig, s *dynamodb.Store, key eureka.Key) error {
		return f.registry(s).RemoveOverride(ctx, key, eureka.Up, time.Time{})
	}, func(l *eureka.Lease) bool { return alive(l) && l.Overridden == "" && l.Status == eureka.Up }},
	{"metadata", registered, func(ctx context.Context, f *faultRig, s *dynamodb.Store, key eureka.Key) error {
		return f.registry(s).AddMetadata(ctx, key, map[string]string{"mine": "1"})
	}, func(l *eureka.Lease) bool { return alive(l) && l.Instance.Metadata["mine"] == "1" }},
}

func register(ctx context.Context, f *faultRig, s *dynamodb.Store, key eureka.Key) error {
	return f.registry(s).Register(ctx, faultInstance(key, "192.0.2.2"))
}

func alive(l *eureka.Lease) bool { return l != nil && !l.Tombstone() }

// fault is a row of the fault table.
type fault struct {
	name    string
	failure failure
	// want is the error that is left of it; nil: the SDK's own tries make up
	// for it.
	want error
	// deadline is the request's; 0: a far one.
	deadline time.Duration
}

// within returns a context with the request's deadline.
func (f *fault) within(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), cmp.Or(f.deadline, 30*time.Second))
}

// soon is a deadline that passes while a request hangs.
const soon = 500 * time.Millisecond

var faults = []fault{
	{"not applied, once", once(unreachable), nil, 0},
	{"not applied", unreachable, eureka.ErrUnavailable, 0},
	{"applied, answer lost, once", once(answerLost), nil, 0},
	{"applied, answer lost", answerLost, eureka.ErrUnavailable, 0},
	{"applied, answered 500, once", once(failedAfter), nil, 0},
	{"throttled, once", once(throttledAlways), nil, 0},
	{"throttled", throttledAlways, eureka.ErrThrottled, 0},
	{"applied, answer lost, then throttled", after(answerLost, throttledAlways), eureka.ErrUnavailable, 0},
	{"deadline, not applied", hang, eureka.ErrUnavailable, soon},
	{"deadline, applied", hangAfter, eureka.ErrUnavailable, soon},
	{"answer lost, then the deadline", after(answerLost, hang), eureka.ErrUnavailable, soon},
}

// TestFaultTable: whatever happens to a write on its way, what was answered as
// a success is in the table, what failed is there as a whole or not at all,
// nothing is there that nobody registered, and in the end readers have what a
// scan gives, although no stream tells them.
func TestFaultTable(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		for _, o := range operations {
			t.Run(o.name, func(t *testing.T) {
				f := newFaultRig(t, e)
				sound := f.registry(f.sound)
				keys := map[string]eureka.Key{}
				for _, fault := range append(faults, fault{name: "none"}) {
					keys[fault.name] = faultKey(fault.name)
					require.NoError(t, o.prepare(t.Context(), sound, keys[fault.name]))
				}
				readers := f.readers(t)
				f.now = began.Add(time.Second)
				require.NoError(t, o.run(t.Context(), f, f.sound, keys["none"]))
				whole := f.scan(t)[keys["none"]]
				require.True(t, o.shows(&whole))

				for _, fault := range faults {
					t.Run(fault.name, func(t *testing.T) { f.meets(t, &o, fault, keys[fault.name], whole) })
				}
				readers.converge(t)
			})
		}
	})
}

// meets runs an operation that a fault happens to. whole is the item as it is
// after the operation without a fault.
func (f *faultRig) meets(t *testing.T, o *operation, fault fault, key eureka.Key, whole eureka.Lease) {
	before := f.scan(t)
	ctx, cancel := fault.within(t)
	defer cancel()
	f.network.fail(fault.failure)
	err := o.run(ctx, f, f.store, key)
	f.network.fail(nil)
	now := f.scan(t)

	requireOnly(t, fault.want, err)
	old, existed := before[key]
	got, exists := now[key]
	assert.Equal(t, len(before)+count(!existed && exists), len(now), "nothing else came or went")
	applied := exists && len(sameBut(key, whole, got)) == 0
	unchanged := existed == exists && (!exists || len(storagetest.DiffLeases([]eureka.Lease{old}, []eureka.Lease{got})) == 0)
	assert.True(t, applied || unchanged, "half done: %+v", got)
	switch {
	case err == nil:
		assert.True(t, applied, "answered as a success: %v", sameBut(key, whole, got))
		assert.True(t, o.shows(&got))
	case errors.Is(err, eureka.ErrThrottled):
		assert.True(t, unchanged, "throttled means that nothing was done")
	}
	if !existed && exists {
		assert.True(t, strings.HasPrefix(o.name, "register"), "made an item")
	}
	if exists {
		assert.GreaterOrEqual(t, got.Version, old.Version)
	}
	delete(before, key)
	delete(now, key)
	assert.Empty(t, storagetest.DiffLeases(list(before), list(now)), "others")
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func list(byKey map[eureka.Key]eureka.Lease) []eureka.Lease {
	all := make([]eureka.Lease, 0, len(byKey))
	for _, l := range byKey {
		all = append(all, l)
	}
	return all
}

// requireOnly demands one of the sentinels and none of the others; nil: no
// error.
func requireOnly(t *testing.T, want, err error) {
	t.Helper()
	require.Equal(t, want == nil, err == nil, "%v", err)
	for _, sentinel := range []error{eureka.ErrThrottled, eureka.ErrUnavailable, eureka.ErrLeaseNotFound, eureka.ErrConflict} {
		require.Equal(t, sentinel == want, errors.Is(err, sentinel), "%v is %v", err, sentinel)
	}
}

// sameBut says in what an item differs from another instance's. A registration
// that arrives twice takes two versions.
func sameBut(key eureka.Key, whole, got eureka.Lease) []string {
	whole.Key, whole.Version = key, got.Version
	if whole.Instance != nil {
		i := *whole.Instance
		i.InstanceID = key.ID
		whole.Instance = &i
	}
	return storagetest.DiffLeases([]eureka.Lease{whole}, []eureka.Lease{got})
}

// faultReaders is a warm container and the eviction function, which heals.
type faultReaders struct {
	*faultRig
	warm *view.Cache
	pass *eviction.Runner
}

func (f *faultRig) container() *view.Cache {
	return view.New(view.Config{Source: f.sound, Interval: 30 * time.Second, Offset: 0.1, Now: f.clock})
}

// readers returns readers who know the tables as they are now.
func (f *faultRig) readers(t *testing.T) *faultReaders {
	t.Helper()
	cfg := eviction.DefaultConfig()
	cfg.Store, cfg.Deltas, cfg.Publications, cfg.Now = f.sound, f.sound, f.sound, f.clock
	pass, err := eviction.New(cfg)
	require.NoError(t, err)
	readers := &faultReaders{f, f.container(), pass}
	_, err = pass.Run(t.Context())
	require.NoError(t, err)
	_, err = readers.warm.View(t.Context())
	require.NoError(t, err)
	return readers
}

// converge lets two passes heal, with everybody alive, and holds a container
// that was there all the time and a cold one to a scan.
func (f *faultReaders) converge(t *testing.T) {
	t.Helper()
	r := f.registry(f.sound)
	for range 2 {
		f.now = f.now.Add(time.Minute)
		for key, l := range f.scan(t) {
			if !l.Tombstone() {
				require.NoError(t, r.Renew(t.Context(), key, time.Time{}))
			}
		}
		_, err := f.pass.Run(t.Context())
		require.NoError(t, err)
	}
	f.now = f.now.Add(45 * time.Second)
	scan := list(f.scan(t))
	for name, c := range map[string]*view.Cache{"warm": f.warm, "cold": f.container()} {
		v, err := c.View(t.Context())
		require.NoError(t, err)
		var held []*eureka.InstanceInfo
		for _, a := range v.Applications() {
			held = append(held, a.Instances...)
		}
		assert.Empty(t, storagetest.DiffReaders(held, scan), name)
		assert.Equal(t, storagetest.HashCode(scan), v.Counts().HashCode(), name)
	}
}

// rival is somebody who comes between a write and what it was based on.
type rival struct {
	name string
	run  func(ctx context.Context, r *registry.Registry, key eureka.Key) error
}

var rivals = []rival{
	{"cancels", func(ctx context.Context, r *registry.Registry, key eureka.Key) error { return r.Cancel(ctx, key) }},
	{"changes metadata", func(ctx context.Context, r *registry.Registry, key eureka.Key) error {
		return r.AddMetadata(ctx, key, map[string]string{"rival": "1"})
	}},
	{"renews", func(ctx context.Context, r *registry.Registry, key eureka.Key) error {
		return r.Renew(ctx, key, time.Time{})
	}},
	{"sets a status", func(ctx context.Context, r *registry.Registry, key eureka.Key) error {
		return r.SetStatus(ctx, key, eureka.Down, time.Time{})
	}},
}

// TestConditionLostToARival: a rival is faster by a moment. Whoever is answered
// 404 was told the truth, who is answered as a success is in the table, and
// what the rival did is undone only by what ends or replaces it.
func TestConditionLostToARival(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		f := newFaultRig(t, e)
		for _, o := range operations[1:] { // a rival needs somebody to be there
			for _, rival := range rivals {
				t.Run(o.name+", rival "+rival.name, func(t *testing.T) {
					f.now = began
					key := faultKey(t.Name())
					require.NoError(t, o.prepare(t.Context(), f.registry(f.sound), key))
					f.now = began.Add(time.Second)
					f.network.fail(once(func(_ int, r *http.Request, send transport) (*http.Response, error) {
						assert.NoError(t, rival.run(r.Context(), f.registry(f.sound), key))
						return send(r)
					}))
					err := o.run(t.Context(), f, f.store, key)
					f.network.fail(nil)
					f.judge(t, &o, rival.name, key, err)
				})
			}
		}
	})
}

// judge holds an answer to what the table shows.
func (f *faultRig) judge(t *testing.T, o *operation, rival string, key eureka.Key, err error) {
	t.Helper()
	got, exists := f.scan(t)[key]
	require.True(t, exists)
	switch {
	case err == nil:
		assert.True(t, o.shows(&got), "answered as a success: %+v", got)
	case errors.As(err, new(*registry.ConditionFailedError)):
		require.Equal(t, "evict", o.name)
		assert.True(t, got.Tombstone() || got.Renewed.After(began), "not evicted, but neither gone nor renewed")
	default:
		requireOnly(t, eureka.ErrLeaseNotFound, err)
		assert.True(t, got.Tombstone(), "answered 404: %+v", got)
	}
	if alive(&got) && rival == "changes metadata" && !strings.HasPrefix(o.name, "register") {
		assert.Equal(t, "1", got.Instance.Metadata["rival"], "the rival's change")
	}
	if alive(&got) && rival == "sets a status" && strings.HasPrefix(o.name, "register") {
		assert.Equal(t, eureka.Down, got.Overridden, "the rival's change")
	}
}

// TestFaultsOfNobody: no fault makes an item of an instance that is not there.
func TestFaultsOfNobody(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		f := newFaultRig(t, e)
		for _, o := range operations {
			if strings.HasPrefix(o.name, "register") {
				continue
			}
			for _, fault := range faults {
				ctx, cancel := fault.within(t)
				f.network.fail(fault.failure)
				err := o.run(ctx, f, f.store, faultKey("nobody"))
				f.network.fail(nil)
				cancel()
				assert.Error(t, err, "%s, %s", o.name, fault.name)
				assert.Empty(t, f.scan(t), "%s, %s", o.name, fault.name)
			}
		}
	})
}
