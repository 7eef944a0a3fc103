// Package registry holds the operations that change the registry: register,
// renew, cancel, status override and metadata, each one conditional write in
// the usual case. Reads of lists are core/view's.
package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// DefaultOverrideKept is how long an override outlives an eviction.
const DefaultOverrideKept = time.Hour

// maxTries bounds the tries of a write that rivals keep overtaking. Each lost
// try means that another write of the same instance succeeded.
const maxTries = 10

// Config is what a [Registry] works with.
type Config struct {
	// Store is the lease table; required.
	Store Store
	// Now is the servers' clock; default time.Now.
	Now func() time.Time
	// OverrideKept is how long a tombstone's override still counts; default
	// [DefaultOverrideKept].
	OverrideKept time.Duration
	// MaxMetadata is how many metadata entries an instance may have; 0: any.
	MaxMetadata int
	// MaxInstance is how large an instance may be, in bytes, see
	// [wire.Exceeds]; 0: any size.
	MaxInstance int
	// MaxInstances is how many instances an application may have; 0: any. Some
	// more get in when many register at the same moment.
	MaxInstances int
	// Counter counts them; required with MaxInstances.
	Counter Counter
	// RenewalWriteInterval is for how long after a renewal that it wrote this
	// process answers heartbeats of the same lease from memory, up to the
	// lease's duration; default 0: every heartbeat is written.
	RenewalWriteInterval time.Duration
	// Monotonic is a clock beside Now that only goes forward, from any start;
	// default the process's.
	Monotonic func() time.Duration
	// MaxRemembered bounds how many renewals are remembered; default
	// [DefaultMaxRemembered].
	MaxRemembered int
}

// Registry changes leases. It holds no state but the renewals that it wrote
// lately, and is safe for concurrent use.
type Registry struct {
	cancels      cancels
	store        Store
	quiet        *quietStore // nil: every heartbeat is written
	now          func() time.Time
	overrideKept time.Duration
	maxMetadata  int
	maxInstance  int
	maxInstances int
	counter      Counter
}

// New returns a registry on cfg.Store.
func New(cfg Config) *Registry {
	r := &Registry{
		store: cfg.Store, now: cfg.Now, overrideKept: cfg.OverrideKept, maxMetadata: cfg.MaxMetadata,
		maxInstance:  cfg.MaxInstance,
		maxInstances: cfg.MaxInstances, counter: cfg.Counter,
	}
	if cfg.RenewalWriteInterval > 0 {
		r.quiet = newQuietStore(cfg.Store, cfg)
		r.store = r.quiet
	}
	if r.now == nil {
		r.now = time.Now
	}
	if r.overrideKept == 0 {
		r.overrideKept = DefaultOverrideKept
	}
	return r
}

// Forget makes the next heartbeats of these leases go to the table, because a
// view shows that they changed.
func (r *Registry) Forget(keys ...eureka.Key) {
	if r.quiet != nil && len(keys) > 0 {
		r.quiet.memory.changed(keys...)
	}
}

// ForgetAll is Forget for all leases.
func (r *Registry) ForgetAll() {
	if r.quiet != nil {
		r.quiet.memory.allChanged()
	}
}

// clock returns the time as stores keep it, to the millisecond.
func (r *Registry) clock() time.Time { return r.now().Truncate(time.Millisecond) }

// Instance reads one instance from the table itself, strongly consistent: an
// instance sees its own registration at once. It returns
// eureka.ErrLeaseNotFound when there is none, and eureka.ErrCorrupt for one that
// is larger than an instance may be: lists leave it out, too.
func (r *Registry) Instance(ctx context.Context, key eureka.Key) (*eureka.InstanceInfo, error) {
	l, err := r.Lease(ctx, key)
	if err != nil {
		return nil, err
	}
	return l.Effective(), nil
}

// Lease is [Registry.Instance] for who also wants to know when the lease ends.
func (r *Registry) Lease(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
	l, err := r.get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if err := r.checkSize(l.Instance); err != nil {
		return nil, fmt.Errorf("read %s: %w: %v", key, eureka.ErrCorrupt, err)
	}
	return l, nil
}

// get reads a live lease.
func (r *Registry) get(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
	l, err := r.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if l.Tombstone() {
		return nil, eureka.ErrLeaseNotFound
	}
	return l, nil
}

// Register takes a registration: an override that the instance has wins over
// its own word; a stored registration with a newer dirty timestamp is renewed
// and kept, and that is a success too. It returns an eureka.ErrTooLarge for a
// new instance of an application that has as many as it may have, and for an
// instance that is larger than one may be.
func (r *Registry) Register(ctx context.Context, info *eureka.InstanceInfo) error {
	err := r.checkSize(info)
	if err == nil {
		err = r.makeRoom(ctx, info.Key())
	}
	if err == nil {
		err = r.register(ctx, r.newLease(info))
	}
	if err != nil {
		return fmt.Errorf("register %s: %w", info.Key(), err)
	}
	return nil
}

// checkSize refuses an instance that is larger than one may be.
func (r *Registry) checkSize(info *eureka.InstanceInfo) error {
	if wire.Exceeds(info, r.maxInstance) {
		return eureka.TooLargef("instance", "takes more than %d bytes in JSON or XML", r.maxInstance)
	}
	return nil
}

// makeRoom fails when there is no room for one more instance of the
// application, unless it is there already. It costs a read, and a count for a
// new instance.
func (r *Registry) makeRoom(ctx context.Context, key eureka.Key) error {
	if r.maxInstances == 0 {
		return nil
	}
	_, err := r.get(ctx, key)
	switch {
	case err == nil, errors.Is(err, eureka.ErrCorrupt): // a registration mends it
		return nil
	case !errors.Is(err, eureka.ErrLeaseNotFound):
		return err
	}
	n, err := r.counter.Count(ctx, key.App, r.maxInstances)
	if err != nil {
		return err
	}
	if n >= r.maxInstances {
		return eureka.TooLargef("app", "%s has %d instances, and no more are taken", key.App, n)
	}
	return nil
}

// newLease returns the lease of a registration as if nothing were stored.
func (r *Registry) newLease(info *eureka.InstanceInfo) eureka.Lease {
	now := r.clock()
	l := eureka.Lease{
		Key: info.Key(), Instance: info,
		Action: eureka.Added, Dirty: info.LastDirty,
		Updated: now, Registered: now, Renewed: now,
		Interval: info.Lease.RenewalInterval, Duration: info.Lease.Duration,
	}
	if l.Dirty.IsZero() {
		l.Dirty = now
	}
	if l.Interval <= 0 {
		l.Interval = eureka.DefaultRenewalInterval
	}
	if l.Duration <= 0 {
		l.Duration = eureka.DefaultLeaseDuration
	}
	return override(l, info.OverriddenStatus)
}

// override returns the lease under an override.
func override(l eureka.Lease, overridden eureka.Status) eureka.Lease {
	l.Overridden = ""
	if eureka.HasOverride(overridden) {
		l.Overridden = overridden
	}
	l.Status = eureka.EffectiveStatus(l.Instance.Status, l.Overridden)
	l.ServiceUp = time.Time{}
	if l.Status == eureka.Up {
		l.ServiceUp = l.Registered
	}
	return l
}

// register tries as for an instance without override first, which is right
// for nearly all; what the failed condition shows decides the next try.
func (r *Registry) register(ctx context.Context, l eureka.Lease) error {
	try := Registration{Lease: l}
	for range maxTries {
		found, err := failedCondition(r.store.Register(ctx, try))
		if err != nil || found == nil {
			return err
		}
		stored := found.Stored
		if keeps(stored, try.Lease.Dirty) {
			found, err = r.renew(ctx, Renewal{Key: l.Key, Now: l.Renewed})
			if err != nil || found == nil {
				return err
			}
		}
		try = r.nextTry(l, stored)
	}
	return eureka.ErrConflict
}

// keeps reports whether the stored lease is a newer registration, to be
// renewed and kept. One whose status is UNKNOWN is not: its override was
// removed, and the instance was asked to register again, so that registration
// is taken whatever its timestamp (TestRegisterAfterRemovedOverride).
func keeps(stored *eureka.Lease, dirty time.Time) bool {
	return stored != nil && !stored.Tombstone() &&
		stored.Dirty.After(dirty) && stored.Status != eureka.Unknown
}

// nextTry returns the registration for an item in the given state.
func (r *Registry) nextTry(l eureka.Lease, stored *eureka.Lease) Registration {
	next := Registration{Lease: l}
	if stored == nil {
		return next
	}
	if eureka.HasOverride(stored.Overridden) {
		next.Stored = stored.Overridden
		if !stored.Tombstone() || l.Registered.Sub(stored.Gone) < r.overrideKept {
			next.Lease = override(l, stored.Overridden)
		}
	}
	if !stored.Tombstone() && stored.Status == eureka.Unknown && stored.Dirty.After(l.Dirty) {
		next.Lease.Dirty = stored.Dirty
	}
	return next
}

// Renew takes a heartbeat. dirty is the client's last dirty timestamp; zero
// when it gave none. eureka.ErrLeaseNotFound asks the client to register:
// there is no lease, or an older registration than the client's, or its
// status is UNKNOWN.
func (r *Registry) Renew(ctx context.Context, key eureka.Key, dirty time.Time) error {
	found, err := r.renew(ctx, Renewal{Key: key, Now: r.clock(), Dirty: dirty})
	if found != nil {
		err = eureka.ErrLeaseNotFound
	}
	if err != nil {
		return fmt.Errorf("renew %s: %w", key, err)
	}
	return nil
}

// RenewReplicated takes a heartbeat that a peer passes on. When the peer's
// registration is older than the stored one, the lease is renewed and the
// stored instance returned, for the peer to take over (409 on the wire).
func (r *Registry) RenewReplicated(ctx context.Context, key eureka.Key, dirty time.Time) (*eureka.InstanceInfo, error) {
	newer, err := r.renewReplicated(ctx, key, dirty)
	if err != nil {
		return nil, fmt.Errorf("renew %s for a peer: %w", key, err)
	}
	return newer, nil
}

func (r *Registry) renewReplicated(ctx context.Context, key eureka.Key, dirty time.Time) (*eureka.InstanceInfo, error) {
	now := r.clock()
	found, err := r.renew(ctx, Renewal{Key: key, Now: now, Dirty: dirty, Exact: !dirty.IsZero()})
	if err != nil || found == nil {
		return nil, err
	}
	stored := found.Stored
	if stored == nil || stored.Tombstone() || !stored.Dirty.After(dirty) {
		return nil, eureka.ErrLeaseNotFound
	}
	found, err = r.renew(ctx, Renewal{Key: key, Now: now})
	if found != nil {
		err = eureka.ErrLeaseNotFound
	}
	if err != nil {
		return nil, err
	}
	stored.Renewed = now
	return stored.Effective(), nil
}

// Cancel ends a lease and its override. It returns eureka.ErrLeaseNotFound
// when there is none.
func (r *Registry) Cancel(ctx context.Context, key eureka.Key) error {
	now := r.clock()
	found, err := failedCondition(r.store.Cancel(ctx, key, now))
	if found != nil && (!cancelledAt(found.Stored, now) || r.cancels.has(key, now)) {
		err = eureka.ErrLeaseNotFound
	}
	if err != nil {
		return fmt.Errorf("cancel %s: %w", key, err)
	}
	r.cancels.add(key, now)
	return nil
}

// cancels are those of the last millisecond that succeeded here, since two of
// one key that follow each other so fast leave the same tombstone: the second
// one must not take it for its own (TestCancelTwiceInAMillisecond).
type cancels struct {
	mu   sync.Mutex
	at   time.Time
	keys map[eureka.Key]bool
}

func (c *cancels) add(key eureka.Key, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.Equal(at) {
		c.at, c.keys = at, map[eureka.Key]bool{}
	}
	c.keys[key] = true
}

func (c *cancels) has(key eureka.Key, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.Equal(at) && c.keys[key]
}

// cancelledAt reports whether the tombstone is the one that this request
// wrote, by a try whose answer was lost.
func cancelledAt(stored *eureka.Lease, now time.Time) bool {
	return stored != nil && stored.Tombstone() && stored.Gone.Equal(now)
}

// renew makes a renewal and splits the answer as [failedCondition] does.
func (r *Registry) renew(ctx context.Context, renewal Renewal) (*ConditionFailedError, error) {
	_, err := r.store.Renew(ctx, renewal)
	return failedCondition(err)
}

// failedCondition splits the answer of a conditional write: a failed condition
// is a finding, every other error stays one.
func failedCondition(err error) (*ConditionFailedError, error) {
	if err == nil {
		return nil, nil // and nothing is allocated
	}
	var found *ConditionFailedError
	if errors.As(err, &found) {
		return found, nil
	}
	return nil, err
}
