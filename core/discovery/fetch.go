package discovery

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// deltasLeftOut is for how many fetch intervals a server is not asked for
// deltas after it said that it has none.
const deltasLeftOut = 10

// fetcher keeps the view. Readers load it without a lock; fetches may overlap,
// and an answer never replaces that of a request which began later.
type fetcher struct {
	api     *API
	backup  Backup
	rules   rules
	path    string
	query   string
	deltas  bool
	window  time.Duration
	log     *slog.Logger
	now     func() time.Time
	arrived func(*View)

	interval time.Duration
	retry    backoff
	// miss asks run for a fetch; missedAt is when one was last allowed, in
	// Unix nanoseconds.
	miss     chan struct{}
	missedAt atomic.Int64
	// tried is closed after the first fetch.
	tried chan struct{}

	view atomic.Pointer[View]
	// turn numbers requests in the order in which they begin.
	turn atomic.Int64

	// mu guards all that follows; holding it, the view is replaced.
	mu sync.Mutex
	// newest is the turn of the answer that the view is made of.
	newest int64
	// whole says that the next fetch must be a full one.
	whole bool
	// deltasFrom is when deltas may be asked for again.
	deltasFrom time.Time
	err        error
}

func newFetcher(cfg *Config, api *API, arrived func(*View)) *fetcher {
	f := &fetcher{
		api: api, backup: cfg.Backup, arrived: arrived,
		rules:    rules{near: nearness{zones: cfg.Zones, region: cfg.Region}, allStatuses: cfg.AllStatuses},
		path:     pathAll,
		query:    regionsQuery(cfg.RemoteRegions),
		deltas:   !cfg.DisableDelta && cfg.OnlyVIP == "",
		window:   cfg.DeltaWindow,
		log:      cfg.Logger,
		now:      cfg.Now,
		interval: cfg.FetchInterval,
		retry:    backoff{base: cfg.RetryPause},
		tried:    make(chan struct{}),
		miss:     make(chan struct{}, 1),
	}
	if cfg.OnlyVIP != "" {
		f.path = vipPath(cfg.OnlyVIP)
	}
	f.view.Store(newView(&eureka.Applications{}, f.rules))
	return f
}

// run fetches until the context ends: at once, after failures at growing
// pauses until there is something, and then at the interval, which is from
// beginning to beginning. Fetches that time out and take longer than that make
// the pause grow.
func (f *fetcher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	pace := backoff{base: f.interval}
	first := true
	for {
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-f.miss:
		}
		if ctx.Err() != nil {
			break
		}
		began := f.now()
		err := f.refresh(ctx)
		took := f.now().Sub(began)
		if first {
			f.begin(ctx, err)
			first = false
		}
		switch {
		case err != nil && f.view.Load().fetched.IsZero():
			timer.Reset(min(f.interval, f.retry.next()))
			continue
		case errors.Is(err, context.DeadlineExceeded) && took >= f.interval:
			pace.grow()
		default:
			pace.reset()
		}
		timer.Reset(max(0, pace.pause()-took))
	}
	if first {
		close(f.tried)
	}
}

// missPause is how often, at most, look-ups of unknown names fetch.
const missPause = 5 * time.Second

// mayFetchMissed reports whether a look-up that found nothing may fetch: there
// was a fetch, and none for a look-up lately.
func (f *fetcher) mayFetchMissed() bool {
	if f.view.Load().fetched.IsZero() {
		return false // run is trying anyhow
	}
	now, last := f.now().UnixNano(), f.missedAt.Load()
	return now-last >= int64(missPause) && f.missedAt.CompareAndSwap(last, now)
}

// askForMissed makes run fetch now, after a look-up that found nothing.
func (f *fetcher) askForMissed() {
	if !f.mayFetchMissed() {
		return
	}
	select {
	case f.miss <- struct{}{}:
	default: // asked already
	}
}

// begin ends the first fetch: without an answer the backup is asked.
func (f *fetcher) begin(ctx context.Context, err error) {
	defer close(f.tried)
	if err == nil || f.backup == nil {
		return
	}
	apps, err := f.backup(ctx)
	if err != nil {
		f.log.WarnContext(ctx, "no backup registry", "error", err)
		return
	}
	v := newView(apps, f.rules)
	v.backup = true
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.newest == 0 { // nothing arrived meanwhile
		f.view.Store(v)
		f.log.InfoContext(ctx, "backup registry in use", "instances", v.Len())
	}
}

// refresh brings the view up to date: by a delta where that is possible,
// otherwise, or when the hash codes differ afterwards, by a full fetch.
func (f *fetcher) refresh(ctx context.Context) error {
	err := f.fetch(ctx)
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			f.log.WarnContext(ctx, "registry not fetched", "error", err)
		}
		return err
	}
	f.arrived(f.view.Load())
	return nil
}

func (f *fetcher) fetch(ctx context.Context) error {
	if f.wantsDelta() {
		if done, err := f.fetchDelta(ctx); done || err != nil {
			return err
		}
	}
	return f.fetchAll(ctx)
}

// wantsDelta reports whether a delta can complete what is there.
func (f *fetcher) wantsDelta() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, now := f.view.Load(), f.now()
	return f.deltas && !f.whole && !v.fetched.IsZero() && now.Sub(v.fetched) < f.window && !now.Before(f.deltasFrom)
}

// fetchDelta reports whether a delta brought the view up to date. When it did
// not, and there is no error, everything is to be fetched.
func (f *fetcher) fetchDelta(ctx context.Context) (done bool, err error) {
	turn := f.turn.Add(1)
	known := f.view.Load().source
	apps, got, err := f.api.list(ctx, &request{name: "fetch delta", path: pathDelta, query: f.query, known: known.of(pathDelta)})
	switch {
	case hasNoDeltas(err), err == nil && !got.unchanged && apps.Version < 0:
		f.log.InfoContext(ctx, "the registry has no deltas for now: fetching everything", "error", err)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.leaveOutDeltas()
		return false, nil
	case err != nil:
		return false, err
	}
	return f.takeDelta(ctx, turn, apps, got), nil
}

// takeDelta applies a delta and reports whether the hash codes are equal then.
func (f *fetcher) takeDelta(ctx context.Context, turn int64, apps *eureka.Applications, got *answer) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn < f.newest {
		return true // a later request was answered before
	}
	old := f.view.Load()
	if got.unchanged {
		if old.source != got.source {
			return false // the view is another one meanwhile
		}
		f.replace(turn, old.confirmed(f.now()))
		return true
	}
	next := old.apply(apps)
	next.source = got.source
	if hash := next.HashCode(); hash != apps.HashCode {
		f.log.InfoContext(ctx, "delta does not fit: fetching everything", "hash", hash, "registry", apps.HashCode)
		f.whole = true
		f.replace(turn, next)
		return false
	}
	next.fetched = f.now()
	f.replace(turn, next)
	return true
}

// fetchAll replaces the view by a full answer.
func (f *fetcher) fetchAll(ctx context.Context) error {
	turn := f.turn.Add(1)
	known := f.view.Load().source
	apps, got, err := f.api.list(ctx, &request{name: "fetch applications", path: f.path, query: f.query, known: known.of(f.path)})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if turn < f.newest {
		return nil // a later request was answered before
	}
	old := f.view.Load()
	if got.unchanged {
		if old.source == got.source {
			f.replace(turn, old.confirmed(f.now()))
		}
		return nil
	}
	next := newView(apps, f.rules)
	next.source, next.fetched = got.source, f.now()
	f.whole = false
	if apps.HashCode == "" && next.HashCode() != "" {
		f.leaveOutDeltas() // nothing to reconcile them by: compact answers of the stock server
	}
	f.replace(turn, next)
	return nil
}

// replace makes a view the current one; to be called with mu held.
func (f *fetcher) replace(turn int64, v *View) {
	f.newest = turn
	f.view.Store(v)
}

// leaveOutDeltas fetches everything for some time; to be called with mu held.
func (f *fetcher) leaveOutDeltas() {
	f.deltasFrom = f.now().Add(deltasLeftOut * f.interval)
}

// hasNoDeltas reports whether an error says that deltas are switched off: the
// stock server answers 403 then.
func hasNoDeltas(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.Status {
	case http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

// of returns the source if it is an answer at that path, and none otherwise.
// The delta that a view was completed with is known to be unchanged only as
// long as the view is the one that it made.
func (s source) of(path string) source {
	if s.path == path && s.etag != "" {
		return s
	}
	return source{}
}
