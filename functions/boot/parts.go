package boot

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/functions/gateway"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/observed"
)

// Parts is what handlers are put together from: settings and what was made of
// them, once a container. Each method makes one handler; fields left zero have
// the defaults that their users give them.
type Parts struct {
	Config Config
	// Tables is the storage, observed.
	Tables storage.Tables
	Log    *slog.Logger
	Meter  handlers.Meter
	Now    func() time.Time
	// Guard asks for credentials where Config does not say that access is
	// anonymous; nil: nobody has any that are right.
	Guard httpapi.Gate
	// Limiter tells clients that ask too often to come later; nil: none.
	Limiter httpapi.Gate
	// Pages render the dashboard where there are lists; nil: there is none.
	Pages httpapi.Pages
	// Environment is shown on the status page.
	Environment string
}

// WriteGCPercent is the write function's garbage collection target (GOGC).
// Next to nothing is live there, so that with the runtime's own 100 a collection
// comes every 4 MB and takes near half of a heartbeat's processor time; at 16 MB
// it takes a tenth (BenchmarkWriteFunction).
const WriteGCPercent = 400

// Function returns the parts of a Lambda function. Lines of log and metrics go
// to out. The error joins every fault of the settings.
func Function(lookup Lookup, out io.Writer, user User) (*Parts, error) {
	cfg, err := Load(lookup, user)
	if err != nil {
		return nil, fmt.Errorf("settings of the %s function: %w", user, err)
	}
	log := NewLogger(out, cfg.LogLevel)
	for _, fault := range Unread(os.Environ(), user) {
		log.Warn("setting not read", "error", fault)
	}
	name, _ := lookup("AWS_LAMBDA_FUNCTION_NAME")
	every := FlushEvery
	if user == Evict {
		every = 0
	}
	sdk := LambdaConfig(lookup)
	meter := NewMetrics(out, name, every, time.Now)
	// Lambda keeps its clocks; a difference is told and not corrected, since a
	// container that is frozen may measure one.
	clock := Clock(cfg, log, meter)
	client := dynamodb.Operations(dynamodb.ClientFrom(sdk, dynamodb.ClientConfig{Endpoint: cfg.DynamoDBEndpoint}, clock.Observe))
	return &Parts{
		Config: cfg, Log: log, Meter: meter, Now: time.Now,
		Guard:       secretGuard(cfg, sdk, log),
		Tables:      Tables(client, cfg, log, meter),
		Environment: "aws",
	}, nil
}

// Clock returns the clock that tells, in a line and a metric, when it differs
// from the database's by more than the allowance.
func Clock(cfg Config, log *slog.Logger, meter handlers.Meter) *dynamodb.Clock {
	return dynamodb.NewClock(dynamodb.ClockConfig{
		Tolerance: max(cfg.Eviction.ClockAllowance, dynamodb.DefaultTolerance),
		Differs:   func(offset time.Duration) { meter.Record(handlers.ClockDifference, offset.Abs().Seconds()) },
		Changed: func(ctx context.Context, offset time.Duration) {
			if offset == 0 {
				log.InfoContext(ctx, "clock agrees with the database's again")
				return
			}
			log.WarnContext(ctx, "clock differs from the database's", "behind", offset)
		},
	})
}

// Tables returns the two tables behind a client. Operations that the store
// failed are counted.
func Tables(client dynamodb.API, cfg Config, log *slog.Logger, meter handlers.Meter) storage.Tables {
	store := dynamodb.New(client, dynamodb.Config{
		LeaseTable: cfg.LeaseTable, DeltaTable: cfg.DeltaTable,
		Retention: cfg.DeltaRetention, TTLGrace: cfg.TTLGrace, OverrideKept: cfg.OverrideKept,
		MaxInstance:      cfg.MaxInstance,
		ConsistentDeltas: cfg.CacheRefresh == 0,
		Logger:           log,
	})
	observer := failures{meter}
	return storage.Tables{
		LeaseTable: observed.LeaseTable(store, observer, time.Now),
		DeltaTable: observed.DeltaTable(store, observer, time.Now),
	}
}

// failures counts operations that the store is to blame for.
type failures struct{ meter handlers.Meter }

func (f failures) Observe(_ context.Context, o observed.Observation) {
	if o.Outcome.Failure() {
		f.meter.Record(handlers.StoreFailures, 1)
	}
}

// Write returns the handler of the write function: the API without lists.
func (p *Parts) Write() *handlers.HTTP {
	return handlers.NewHTTP(handlers.HTTPConfig{Gateway: p.behindGateway(p.api(p.registry(), nil)), Meter: p.Meter})
}

// Read returns the handler of the read and of the api function: the API with
// lists from a view of its own. What the read function may not write, its role
// and its entry say.
func (p *Parts) Read() *handlers.HTTP {
	var fresh freshness
	reg := p.registry()
	return handlers.NewHTTP(handlers.HTTPConfig{
		Gateway: p.behindGateway(p.api(reg, p.cache(&fresh, reg))), Meter: p.Meter,
		Age: func() (time.Duration, bool) { return fresh.age(p.Now()) },
	})
}

// API returns the whole API, for a process that serves it without a gateway.
// Like the functions, it measures how old the view is that it answers from.
func (p *Parts) API() http.Handler {
	var fresh freshness
	reg := p.registry()
	api := p.api(reg, p.cache(&fresh, reg))
	if _, unmetered := p.Meter.(handlers.Unmetered); unmetered || p.Meter == nil {
		return api
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer p.Meter.Flush()
		api.ServeHTTP(w, r)
		if age, ok := fresh.age(p.Now()); ok {
			p.Meter.Record(handlers.RegistryAge, age.Seconds())
		}
	})
}

// Stream returns the handler of the lease table's stream.
func (p *Parts) Stream() *handlers.Stream {
	return handlers.NewStream(handlers.StreamConfig{
		Decode: dynamodb.Image, Sink: p.Tables, Meter: p.Meter, Now: p.Now, Log: p.Log,
	})
}

// Evict returns the handler of the schedule.
func (p *Parts) Evict() (*handlers.Evict, error) {
	cfg := eviction.DefaultConfig()
	cfg.Store, cfg.Deltas, cfg.Publications = p.Tables, p.Tables, p.Tables
	cfg.Policy = p.Config.Eviction
	cfg.Retention = p.Config.DeltaRetention
	cfg.Now, cfg.Logger = p.Now, p.Log
	if p.Config.EvictionInterval > 0 {
		cfg.Interval = p.Config.EvictionInterval
	}
	runner, err := eviction.New(cfg)
	if err != nil {
		return nil, err
	}
	return handlers.NewEvict(handlers.EvictConfig{Pass: runner, Meter: p.Meter}), nil
}

func (p *Parts) behindGateway(h http.Handler) *gateway.Handler {
	return gateway.New(gateway.Config{HTTP: h, Log: p.Log, AccessLog: p.Config.AccessLog})
}

func (p *Parts) registry() *registry.Registry {
	return registry.New(registry.Config{
		Store: p.Tables, Now: p.Now,
		OverrideKept: p.Config.OverrideKept, MaxMetadata: p.Config.MaxMetadata, MaxInstance: p.Config.MaxInstance,
		MaxInstances: p.Config.MaxInstances, Counter: p.Tables,
		RenewalWriteInterval: p.Config.RenewalWriteInterval,
	})
}

// api returns the core's HTTP handler; without a cache it has no lists.
func (p *Parts) api(reg *registry.Registry, cache *view.Cache) http.Handler {
	cfg := httpapi.Config{
		Registry: reg,
		Cache:    cache,
		Gate:     p.gate(),
		Limiter:  p.Limiter,
		Limits:   wire.Limits{MaxMetadata: p.Config.MaxMetadata, MaxInstance: p.Config.MaxInstance, MaxItems: p.Config.MaxBatch},
		MaxBody:  p.Config.MaxBody, BodyMemory: p.Config.BodyMemory,

		SharedCaching: p.Config.Anonymous || p.Config.EdgeCaching,
		Region:        p.Config.Region, Environment: p.Environment,
		Now: p.Now, Logger: p.Log,
	}
	if cache != nil {
		cfg.Publications, cfg.Pages = p.Tables, p.Pages
		cfg.Regions = p.regions()
	}
	return httpapi.New(cfg)
}

// gate returns the gate before the API; nil where everybody may do everything.
func (p *Parts) gate() httpapi.Gate {
	switch {
	case p.Config.Anonymous:
		return nil
	case p.Guard == nil:
		return access.New(access.Config{Now: p.Now, Logger: p.Log}) // admits nobody
	}
	return p.Guard
}

// cache returns the view of a process whose registry forgets what the view
// shows to have changed.
func (p *Parts) cache(fresh *freshness, reg *registry.Registry) *view.Cache {
	return view.New(view.Config{
		Source: p.Tables, Interval: p.Config.CacheRefresh, Retention: p.Config.DeltaRetention, ListMemory: p.Config.ListMemory,
		OnRefresh: func(ctx context.Context, t view.Refresh) {
			fresh.turn(ctx, t)
			forgetRenewals(reg, t)
		},
		Now: p.Now, Logger: p.Log,
	})
}

// forgetRenewals makes heartbeats of leases that changed go to the table.
func forgetRenewals(reg *registry.Registry, t view.Refresh) {
	switch {
	case t.Err != nil:
	case t.Origin == view.FromDeltas:
		reg.Forget(t.Keys...)
	default:
		reg.ForgetAll()
	}
}

// freshness remembers which view was the last that could be made.
type freshness struct{ boundary atomic.Pointer[time.Time] }

func (f *freshness) turn(_ context.Context, t view.Refresh) {
	if t.Err == nil {
		f.boundary.Store(&t.Boundary)
	}
}

// age returns how old the view is, and false when there is none.
func (f *freshness) age(now time.Time) (time.Duration, bool) {
	boundary := f.boundary.Load()
	if boundary == nil {
		return 0, false
	}
	return max(0, now.Sub(*boundary)), true
}
