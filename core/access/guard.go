package access

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/eurekaless/registry/core/eureka"
)

// Config is what a [Guard] works with.
type Config struct {
	// Source reads the document; required.
	Source Source
	// MaxAge is the age at which it is read again; default [DefaultMaxAge].
	MaxAge time.Duration
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Logger is told of readings and refusals, never of credentials; default
	// slog.Default().
	Logger *slog.Logger
}

// Guard is the gate before the API: it asks for Basic credentials and compares
// the user's role with what the route demands. It is safe for concurrent use.
type Guard struct {
	reader       *reader
	fingerprints *fingerprinter
	now          func() time.Time
	log          *slog.Logger
	// matches compares a password with a hash.
	matches func(hash, string) bool

	// checks are those of one credential, done once for all that wait.
	checks singleflight.Group
	// hashing has a token for whoever computes hashes: one at a time bounds
	// the memory.
	hashing  chan struct{}
	attempts *attempts
}

// New returns a guard that has read nothing yet.
func New(cfg Config) *Guard {
	if cfg.Source == nil {
		cfg.Source = func(context.Context) ([]byte, error) { return nil, errNoSource }
	}
	if cfg.MaxAge == 0 {
		cfg.MaxAge = DefaultMaxAge
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Guard{
		reader: newReader(cfg), fingerprints: newFingerprinter(), now: cfg.Now, log: cfg.Logger,
		matches:  hash.matches,
		hashing:  make(chan struct{}, 1),
		attempts: newAttempts(),
	}
}

// Load reads the credentials, for a process that had better know at its start
// that it cannot. Without it the first request reads them.
func (g *Guard) Load(ctx context.Context) error {
	_, err := g.reader.latest(ctx)
	return err
}

// Admit lets a request through whose user has the access that the route
// demands. Its errors are eureka.ErrUnauthenticated, the same for an unknown
// user and for a wrong password; eureka.ErrForbidden; eureka.ErrRateLimited,
// when too many credentials were tried; and eureka.ErrUnavailable, when there
// are no credentials to compare with: then nobody gets through.
func (g *Guard) Admit(r *http.Request, need Level, app string) error {
	u, err := g.identify(r)
	if err != nil {
		return err
	}
	return u.may(need, app)
}

// identify returns the user whose credentials a request has.
func (g *Guard) identify(r *http.Request) (*user, error) {
	name, password, ok := r.BasicAuth()
	if !ok || len(r.Header["Authorization"]) != 1 {
		return nil, eureka.ErrUnauthenticated
	}
	latest, err := g.reader.latest(r.Context())
	if err != nil {
		return nil, err
	}
	f := g.fingerprints.of(name, password)
	if u, _ := latest.recall(f); u != nil {
		return u, nil
	}
	return g.findOut(r, latest, f, name, password)
}

// findOut is identify for credentials that are not known to be right. Requests
// with the same ones wait for one of them, and what it does is for all: it goes
// on when that one ends.
func (g *Guard) findOut(r *http.Request, latest *generation, f fingerprint, name, password string) (*user, error) {
	ctx := r.Context()
	found := g.checks.DoChan(string(f[:]), func() (any, error) {
		return g.judge(context.WithoutCancel(ctx), latest, attempt{f, name, password, sourceOf(r)})
	})
	select {
	case result := <-found:
		u, _ := result.Val.(*user)
		return u, result.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", eureka.ErrUnavailable, ctx.Err())
	}
}

// attempt is a credential that is not known to be right.
type attempt struct {
	fingerprint    fingerprint
	name, password string
	// source is where it comes from.
	source source
}

// judge finds out about an attempt: by the document at hand and, when it is
// wrong by that, by a newer one.
func (g *Guard) judge(ctx context.Context, latest *generation, a attempt) (*user, error) {
	u, err := g.check(ctx, latest, a)
	if u != nil || err != nil {
		return u, err
	}
	if newer := g.reader.newer(ctx, latest); newer != nil {
		u, err = g.check(ctx, newer, a)
	}
	if u == nil && err == nil {
		err = eureka.ErrUnauthenticated
	}
	return u, err
}

// check compares an attempt with the users of a generation, if it may; nil is
// nobody.
func (g *Guard) check(ctx context.Context, by *generation, a attempt) (*user, error) {
	if u, refused := by.recall(a.fingerprint); u != nil || refused {
		return u, nil
	}
	if err := g.attempts.take(a, g.now()); err != nil {
		return nil, err
	}
	g.hashing <- struct{}{}
	u, h := by.users.check(a.name, a.password, g.matches)
	<-g.hashing
	if u == nil {
		by.refuse(a.fingerprint)
		g.log.WarnContext(ctx, "credentials refused", "source", a.source.address)
		return nil, nil
	}
	by.verify(a.fingerprint, verification{u, h})
	return u, nil
}

// Format keeps what the guard knows out of everything that is printed.
func (*Guard) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "access.Guard") }
