package discovery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Errors of a [Client].
var (
	// ErrNotRunning: the client was not started, or it was stopped.
	ErrNotRunning = errors.New("discovery client is not running")
	// ErrNoInstance: the client has no instance of its own; see
	// [Config.Instance].
	ErrNoInstance = errors.New("discovery client has no instance of its own")
	// ErrNoUsableInstance: nobody usable is registered under that name.
	ErrNoUsableInstance = errors.New("no usable instance")
	// ErrNoPort: the instance has no port that is enabled and fits.
	ErrNoPort = errors.New("no enabled port")
)

// Client registers this process, keeps it registered, and keeps a [View] of
// the registry. All methods are safe for concurrent use.
type Client struct {
	cfg       Config
	api       *API
	events    *events
	own       *own // nil when there is no instance
	registrar *registrar
	fetcher   *fetcher // fetches nothing when that is disabled
	// closeIdle closes the idle connections of a transport of the client's own.
	closeIdle func()

	// soft ends when Stop is called, hard when all is over.
	soft, hard       context.Context
	endSoft, endHard context.CancelFunc
	// located is closed when the location was looked for: nothing is fetched
	// before it is.
	located chan struct{}
	// tasks are the goroutines and calls that Stop waits for; idle is closed
	// when there are none left after it.
	tasks sync.WaitGroup
	idle  chan struct{}
	// stopped is closed when the first Stop is done.
	stopped chan struct{}

	// mu guards phase: holding it, no task begins but while the client runs.
	mu    sync.Mutex
	phase phase
	// remote is the own status as the registry last showed it; guarded by mu.
	remote eureka.Status
}

// phase is a part of a client's life; each is entered at most once.
type phase int

const (
	created phase = iota
	running
	ended
)

// New returns a client that does nothing until [Client.Start], or every fault
// of the configuration at once. It looks up the host's name and address, where
// [Config.Instance] does not give them.
func New(cfg Config) (*Client, error) {
	ownTransport := cfg.Transport == nil
	cfg, list, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	if cfg.Instance == nil && cfg.DisableFetch {
		return nil, errors.New("discovery configuration: neither Instance nor fetching: nothing to do")
	}
	c := &Client{cfg: cfg, api: newAPI(&cfg, list), events: newEvents(&cfg), remote: eureka.Unknown,
		located: make(chan struct{}), idle: make(chan struct{}), stopped: make(chan struct{}), closeIdle: func() {}}
	if ownTransport {
		c.closeIdle = c.api.CloseIdleConnections
	}
	c.soft, c.endSoft = context.WithCancel(context.Background())
	c.hard, c.endHard = context.WithCancel(context.Background())
	c.fetcher = newFetcher(&cfg, c.api, c.arrived)
	if cfg.Instance == nil {
		return c, nil
	}
	info, err := cfg.Instance.info(cfg.Zones)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	c.own = newOwn(info, &cfg, c.events)
	c.registrar = newRegistrar(&cfg, c.api, c.own, c.events)
	if cfg.Locate != nil {
		c.registrar.locate = func() { c.locateAgain(c.soft) }
	}
	return c, nil
}

// Start begins to register and to fetch, and returns after the first tries,
// whatever came of them, or when the context ends: the client goes on by
// itself, with growing pauses while the registry is away, until [Client.Stop].
// [Client.Report] says what failed. The error is [ErrNotRunning] when the
// client was started before.
func (c *Client) Start(ctx context.Context) error {
	c.mu.Lock()
	if c.phase != created {
		c.mu.Unlock()
		return fmt.Errorf("start: %w", ErrNotRunning)
	}
	c.phase = running
	c.tasks.Go(func() { c.work(ctx) })
	c.mu.Unlock()
	go c.events.run(c.idle)
	c.awaitFirst(ctx)
	return nil
}

// work runs all that a client does by itself.
func (c *Client) work(ctx context.Context) {
	if c.cfg.Locate != nil {
		both, cancel := joinedContexts(c.soft, ctx)
		c.locateFirst(both)
		cancel()
	}
	close(c.located)
	if !c.cfg.DisableFetch {
		c.tasks.Go(func() { c.fetcher.run(c.soft) })
	}
	if c.own == nil {
		return
	}
	if c.cfg.HealthCheck != nil {
		ready := make(chan struct{})
		c.registrar.ready = ready
		c.tasks.Go(func() { c.health(c.soft, ready) })
	}
	c.tasks.Go(func() { c.registrar.run(c.soft, c.hard) })
}

// awaitFirst waits for the first tries.
func (c *Client) awaitFirst(ctx context.Context) {
	var first []<-chan struct{}
	if !c.cfg.DisableFetch {
		first = append(first, c.fetcher.tried)
	}
	if c.own != nil && c.cfg.RegisterAtStart {
		first = append(first, c.registrar.tried)
	}
	for _, tried := range first {
		select {
		case <-tried:
		case <-ctx.Done():
			return
		case <-c.soft.Done():
			return
		}
	}
}

// Stop ends the client: it lets a registration or heartbeat under way come to
// its end, gives up fetches, then cancels the lease, and sends nothing more.
// The view stays. When the context ends first, it gives up everything and
// returns the context's error; the lease then ends by itself. Later calls wait
// for the first.
func (c *Client) Stop(ctx context.Context) error {
	c.mu.Lock()
	before := c.phase
	c.phase = ended
	c.mu.Unlock()
	switch before {
	case created:
		c.endSoft()
		c.endHard()
		close(c.stopped)
		return nil
	case ended:
		select {
		case <-c.stopped:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("stop: %w", ctx.Err())
		}
	}
	defer close(c.stopped)
	defer c.closeIdle()
	defer c.endHard()
	c.endSoft()
	go func() {
		c.tasks.Wait()
		close(c.idle)
	}()
	select {
	case <-c.idle:
	case <-ctx.Done():
		return fmt.Errorf("stop: %w", ctx.Err())
	}
	if c.registrar == nil {
		return nil
	}
	if err := c.registrar.cancel(ctx); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

// during runs a call while the client runs; Stop waits for it. The call's
// context ends with the caller's or with the other.
func (c *Client) during(ctx, other context.Context, call func(context.Context) error) error {
	c.mu.Lock()
	if c.phase != running {
		c.mu.Unlock()
		return ErrNotRunning
	}
	c.tasks.Add(1)
	c.mu.Unlock()
	defer c.tasks.Done()
	both, cancel := joinedContexts(ctx, other)
	defer cancel()
	return call(both)
}

// joinedContexts returns a context that ends with either.
func joinedContexts(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(other, cancel)
	return ctx, func() {
		unlink()
		cancel()
	}
}

// View returns the registry as it was last fetched; never nil, empty at first.
func (c *Client) View() *View { return c.fetcher.view.Load() }

// API returns the operations of the REST API on the client's servers. Calls
// through it are the caller's own: [Client.Stop] does not know of them.
func (c *Client) API() *API { return c.api }

// Refresh fetches the registry now, beside the planned fetches.
func (c *Client) Refresh(ctx context.Context) error {
	if c.cfg.DisableFetch {
		return fmt.Errorf("refresh: fetching is disabled: %w", ErrNotRunning)
	}
	return c.during(ctx, c.soft, func(ctx context.Context) error {
		select {
		case <-c.located:
			return c.fetcher.refresh(ctx)
		case <-ctx.Done():
			return fmt.Errorf("refresh: %w", ctx.Err())
		}
	})
}

// Age returns for how long the view was not confirmed by the registry, and
// false when it never was.
func (c *Client) Age() (age time.Duration, fetched bool) {
	at := c.View().Fetched()
	if at.IsZero() {
		return 0, false
	}
	return c.cfg.Now().Sub(at), true
}

// Subscribe adds a listener, and returns what removes it. Listeners are called
// one after the other, and while one is busy further events wait, a limited
// number of them. A listener must not call [Client.Stop].
func (c *Client) Subscribe(listener func(Event)) (remove func()) {
	return c.events.subscribe(listener)
}

// arrived tells of a view that the registry sent or confirmed.
func (c *Client) arrived(v *View) {
	c.events.emit(Event{Kind: CacheRefreshed, View: v})
	if c.own == nil {
		return
	}
	status := eureka.Unknown
	key := c.own.current().Key()
	if i, ok := v.Instance(key.App, key.ID); ok {
		status = i.Status
	}
	c.mu.Lock()
	previous := c.remote
	c.remote = status
	c.mu.Unlock()
	if previous != status {
		c.events.emit(Event{Kind: RemoteStatusChanged, Status: status, Previous: previous})
	}
}
