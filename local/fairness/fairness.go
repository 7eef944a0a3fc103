// Package fairness keeps one kind of client from taking all of a process's
// reads, as the rate limiter of Eureka's server does: a token bucket for each
// client name, with some names privileged. It is for clients that mean well but
// ask too often; a client can call itself what it likes, so it is no protection
// from others. (On AWS the gateway's throttling bounds everybody together.)
package fairness

import (
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/eureka"
)

// nameHeader is where Java's clients say what they are: "DefaultClient", or
// "DefaultServer" for another registry.
const nameHeader = "DiscoveryIdentity-Name"

// burstSeconds is how many seconds' worth of reads a client may ask at once:
// it fetches lists and looks others up at the same moment when it starts.
const burstSeconds = 10

// maxNames is how many clients have a bucket of their own.
const maxNames = 10_000

// Limiter is a gate that lets each client read so often. It is safe for
// concurrent use.
type Limiter struct {
	buckets    *access.Buckets
	privileged []string
	now        func() time.Time
}

// New returns a limiter to so many reads a second of each client but the
// privileged ones.
func New(perSecond float64, privileged []string, now func() time.Time) *Limiter {
	return &Limiter{
		buckets: access.NewBuckets(access.Limits{
			PerSecond: perSecond, Burst: max(1, int(perSecond*burstSeconds)), MaxNames: maxNames,
		}),
		privileged: privileged, now: now,
	}
}

// Admit returns an eureka.ErrRateLimited for a read too many. Registrations,
// renewals and cancels are never limited: a lease that cannot be renewed is
// lost, and clients of one kind all have the same name.
func (l *Limiter) Admit(r *http.Request, need access.Level, _ string) error {
	name := r.Header.Get(nameHeader)
	if need != access.LevelRead || name != "" && slices.Contains(l.privileged, name) {
		return nil
	}
	if after, ok := l.buckets.Take(client(r, name), l.now()); !ok {
		return &eureka.RateLimitedError{After: after}
	}
	return nil
}

// client is whom a request counts for: who has no name counts by address.
func client(r *http.Request, name string) string {
	if name != "" {
		return "name " + name
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return "address " + host
}
