package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/eurekaless/registry/core/eureka"
)

// When the document is read again.
const (
	// DefaultMaxAge is the age at which it is.
	DefaultMaxAge = 5 * time.Minute
	// failurePause is how long nothing is tried after a reading that failed
	// while there is an older one; firstPause, while there is none.
	failurePause = 30 * time.Second
	firstPause   = time.Second
	// readTimeout bounds a reading, whoever waits for it.
	readTimeout = 5 * time.Second
	// Wrong credentials may be newer than the document: they make it be read
	// again, so often at once and then again each earlyPause.
	earlyBurst = 5
	earlyPause = 10 * time.Second
)

// Source reads the document of credentials.
type Source func(ctx context.Context) ([]byte, error)

// generation is the document as it was read, and what was found out by it.
type generation struct {
	*credentials
	*memory
	// sum tells whether the document has changed.
	sum [sha256.Size]byte
	// read is when it was last seen to be like this.
	read time.Time
}

// reader keeps the newest generation. A reading that fails keeps the one there
// is. It is safe for concurrent use; at most one reading is under way.
type reader struct {
	source Source
	maxAge time.Duration
	now    func() time.Time
	log    *slog.Logger

	current atomic.Pointer[generation]
	// turn has a token for whoever reads; holding it, failed and failure are
	// the last reading's.
	turn    chan struct{}
	failed  time.Time
	failure error
	early   *rate.Limiter
}

func newReader(cfg Config) *reader {
	return &reader{
		source: cfg.Source, maxAge: cfg.MaxAge, now: cfg.Now, log: cfg.Logger,
		turn:  make(chan struct{}, 1),
		early: rate.NewLimiter(rate.Every(earlyPause), earlyBurst),
	}
}

// latest returns the generation to judge by. One that is too old is renewed by
// one request, while others go on with it. Without any, all wait, and fail
// with eureka.ErrUnavailable when the document cannot be read.
func (r *reader) latest(ctx context.Context) (*generation, error) {
	g := r.current.Load()
	if g == nil {
		return r.first(ctx)
	}
	if r.now().Sub(g.read) < r.maxAge {
		return g, nil
	}
	select {
	case r.turn <- struct{}{}:
		defer r.release()
		if r.now().Sub(r.failed) >= failurePause {
			r.read(ctx)
		}
	default:
	}
	return r.current.Load(), nil
}

// first reads the document when there is none yet.
func (r *reader) first(ctx context.Context) (*generation, error) {
	if err := r.acquire(ctx); err != nil {
		return nil, err
	}
	defer r.release()
	if g := r.current.Load(); g != nil {
		return g, nil
	}
	if r.failure == nil || r.now().Sub(r.failed) >= firstPause {
		r.read(ctx)
	}
	if g := r.current.Load(); g != nil {
		return g, nil
	}
	return nil, fmt.Errorf("%w: %w", eureka.ErrUnavailable, r.failure)
}

// newer returns a generation other than g, or nil: when there is none, when it
// was looked for too often, or when it cannot be read.
func (r *reader) newer(ctx context.Context, g *generation) *generation {
	if r.acquire(ctx) != nil {
		return nil
	}
	defer r.release()
	if r.current.Load() == g && r.early.AllowN(r.now(), 1) {
		r.read(ctx)
	}
	if latest := r.current.Load(); latest != g && latest.sum != g.sum {
		return latest
	}
	return nil
}

// acquire waits for the turn to read.
func (r *reader) acquire(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", eureka.ErrUnavailable, ctx.Err())
	}
}

func (r *reader) release() { <-r.turn }

// read makes a generation of what the source has now. Only the holder of the
// turn calls it. It is for others too, so it goes on when its request ends.
func (r *reader) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	old := r.current.Load()
	next, err := r.generation(ctx, old)
	r.failure = err
	if err != nil {
		r.failed = r.now()
		r.log.ErrorContext(ctx, "credentials could not be read; those read before still count",
			"before", old != nil, "error", err)
		return
	}
	r.current.Store(next)
	if old == nil || old.sum != next.sum {
		r.log.InfoContext(ctx, "credentials read", "users", len(next.users))
	}
}

func (r *reader) generation(ctx context.Context, old *generation) (*generation, error) {
	data, err := r.source(ctx)
	if err != nil {
		return nil, err
	}
	next := &generation{sum: sha256.Sum256(data), read: r.now()}
	if old != nil && old.sum == next.sum {
		next.credentials, next.memory = old.credentials, old.memory
		return next, nil
	}
	if next.credentials, err = parseDocument(data); err != nil {
		return nil, err
	}
	next.memory = newMemory()
	if old != nil {
		next.memory = old.under(next.users)
	}
	return next, nil
}

// errNoSource is what a guard without a source fails with.
var errNoSource = errors.New("no source of credentials")
