package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// registrar keeps this process's instance registered. One goroutine sends all
// its registrations, heartbeats and the cancel, one after the other: so there
// are never two heartbeats under way (TestH22), a heartbeat never overtakes
// the registration that it speaks of (TestH19), and nothing follows the cancel
// (TestH18).
type registrar struct {
	api    *API
	own    *own
	events *events
	log    *slog.Logger
	now    func() time.Time
	locate func()
	// ready is closed when the first health check is done; nil without one.
	ready <-chan struct{}
	// tried is closed after the registration at the start.
	tried chan struct{}

	atStart  bool
	delay    time.Duration
	interval time.Duration

	// Owned by run, and by cancel after it.
	limit rateLimit
	// acked is the instance as the registry last took it; nil at first. Its
	// dirty timestamp is the one that heartbeats carry.
	acked *eureka.InstanceInfo
	// sent says that the registry may have the instance.
	sent        bool
	retry, pace backoff
	replication *time.Timer
	renewal     *time.Timer

	// mu guards report.
	mu     sync.Mutex
	report leaseReport
}

// leaseReport is what became of the last tries.
type leaseReport struct {
	registered, renewed         time.Time
	registrationErr, renewalErr error
}

func newRegistrar(cfg *Config, api *API, o *own, e *events) *registrar {
	return &registrar{
		api: api, own: o, events: e, log: cfg.Logger, now: cfg.Now,
		tried:   make(chan struct{}),
		atStart: cfg.RegisterAtStart, delay: cfg.InitialReplicationDelay, interval: cfg.ReplicationInterval,
		limit: rateLimit{interval: cfg.ReplicationInterval},
		retry: backoff{base: cfg.RetryPause},
		pace:  backoff{base: o.current().Lease.RenewalInterval},
	}
}

// run works until soft ends, which lets what is under way come to its end;
// the end of hard does not.
func (r *registrar) run(soft, hard context.Context) {
	r.replication = time.NewTimer(r.delay)
	defer r.replication.Stop()
	r.renewal = time.NewTimer(r.pace.base)
	r.renewal.Stop() // until there is something to renew
	defer r.renewal.Stop()
	r.begin(soft, hard)
	for {
		var act func(context.Context)
		select {
		case <-soft.Done():
		case <-r.own.changed:
			act = r.onChange
		case <-r.replication.C:
			act = r.planned
		case <-r.renewal.C:
			act = r.renew
		}
		if soft.Err() != nil {
			return
		}
		act(hard)
	}
}

// begin waits for the first health check, so that the first registration has
// its status, and registers if that is to be done at the start.
func (r *registrar) begin(soft, hard context.Context) {
	defer close(r.tried)
	if r.ready != nil {
		select {
		case <-r.ready:
		case <-soft.Done():
		}
	}
	if r.atStart && soft.Err() == nil {
		r.replicate(hard)
	}
}

// onChange registers a change at once, unless there were too many: the next
// planned replication takes it then.
func (r *registrar) onChange(ctx context.Context) {
	if r.limit.allow(r.now()) {
		r.replicate(ctx)
	}
}

// planned is the replication that comes without a change.
func (r *registrar) planned(ctx context.Context) {
	if r.locate != nil {
		r.locate()
	}
	r.replicate(ctx)
}

// replicate registers the instance if it is dirty, and plans the next try.
func (r *registrar) replicate(ctx context.Context) {
	pause := r.interval
	if info := r.own.current(); r.acked == nil || !info.LastDirty.Equal(r.acked.LastDirty) {
		if r.register(ctx, info) != nil {
			pause = min(r.interval, r.retry.next())
		} else {
			r.retry.reset()
		}
	}
	r.replication.Reset(pause)
}

// register registers once, and begins the heartbeats after the first success.
func (r *registrar) register(ctx context.Context, info *eureka.InstanceInfo) error {
	r.sent = true
	err := r.api.Register(ctx, info)
	r.note(func(l *leaseReport) {
		l.registrationErr = err
		if err == nil {
			l.registered = r.now()
		}
	})
	if err != nil {
		r.log.WarnContext(ctx, "not registered", "instance", info.Key().String(), "error", err)
		return err
	}
	if r.acked == nil {
		r.renewal.Reset(r.pace.base)
	}
	r.acked = info
	r.log.InfoContext(ctx, "registered", "instance", info.Key().String(), "status", info.Status)
	r.events.emit(Event{Kind: Registered})
	return nil
}

func (r *registrar) note(change func(*leaseReport)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.report)
}

func (r *registrar) reported() leaseReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report
}

// cancel ends the lease, if the registry may have one; to be called after run.
func (r *registrar) cancel(ctx context.Context) error {
	if !r.sent {
		return nil
	}
	key := r.own.current().Key()
	err := r.api.Cancel(ctx, key)
	if errors.Is(err, eureka.ErrLeaseNotFound) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("the instance stays registered until its lease ends: %w", err)
	}
	r.log.InfoContext(ctx, "cancelled", "instance", key.String())
	return nil
}
