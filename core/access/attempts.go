package access

import (
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/eurekaless/registry/core/eureka"
)

// How often credentials that are not known yet may be tried, each try a hash
// for each password that a user may have. What was verified needs no tries, so
// these bound what a stranger can make the process compute.
//
// The tries of all together are shared out among three lanes, so that a client
// with a new credential gets in while somebody guesses from as many addresses
// as he likes: guesses are new each time, and come from few networks.
const (
	addressRate  = 1.0 // a second from one address
	addressBurst = 10
	maxAddresses = 10_000

	// commonRate is for any credential.
	commonRate  = 2.0
	commonBurst = 10
	// quietRate is for credentials from a network that has sent few that were
	// not known: networkBurst, and then one each ten seconds.
	quietRate    = 2.0
	quietBurst   = 5
	networkRate  = 0.1
	networkBurst = 10
	maxNetworks  = 50_000
	// patientRate is for a credential that was turned away before and comes
	// again, as the answer asks for. Each network has its share of that lane.
	patientRate         = 1.0
	patientBurst        = 5
	patientNetworkRate  = 0.2
	patientNetworkBurst = 2
	patientNetworks     = 1000

	totalRate  = commonRate + quietRate + patientRate // a second from all
	totalBurst = commonBurst + quietBurst + patientBurst
)

// Which credentials are known to come again.
const (
	// maxTurnedAway is how many are remembered, at some 40 bytes each.
	maxTurnedAway = 1 << 17
	// comesAgain is after which time they may, which is the Retry-After that
	// they were given. A client that does not wait gains nothing.
	comesAgain = time.Second
)

// attempts decides which credentials are compared with hashes now. It is safe
// for concurrent use.
type attempts struct {
	addresses *Buckets
	// networks counts what each network sent, in the way of a bucket: a network
	// whose bucket is empty is not quiet.
	networks *Buckets
	// patientNetworks share out the patient lane.
	patientNetworks *Buckets

	common, quiet, patient *rate.Limiter
	turnedAway             turnedAway
}

func newAttempts() *attempts {
	return &attempts{
		addresses:       NewBuckets(Limits{PerSecond: addressRate, Burst: addressBurst, MaxNames: maxAddresses}),
		networks:        NewBuckets(Limits{PerSecond: networkRate, Burst: networkBurst, MaxNames: maxNetworks}),
		patientNetworks: NewBuckets(Limits{PerSecond: patientNetworkRate, Burst: patientNetworkBurst, MaxNames: patientNetworks}),
		common:          rate.NewLimiter(commonRate, commonBurst),
		quiet:           rate.NewLimiter(quietRate, quietBurst),
		patient:         rate.NewLimiter(patientRate, patientBurst),
	}
}

// take lets an attempt be compared, or returns an eureka.ErrRateLimited.
func (a *attempts) take(t attempt, now time.Time) error {
	if after, ok := a.addresses.Take(t.source.address, now); !ok {
		return &eureka.RateLimitedError{After: after}
	}
	// Each lane is asked only when the one before it has no room. The patient
	// one is the last, for those who have no other way in.
	_, quiet := a.networks.Take(t.source.network, now)
	switch {
	case quiet && a.quiet.AllowN(now, 1),
		a.common.AllowN(now, 1),
		a.turnedAway.before(t.fingerprint, now) && a.takePatient(t.source.network, now):
		return nil
	}
	a.turnedAway.add(t.fingerprint, now)
	return &eureka.RateLimitedError{After: comesAgain}
}

// takePatient takes from the patient lane, where a network has its share.
func (a *attempts) takePatient(network string, now time.Time) bool {
	if a.patient.TokensAt(now) < 1 {
		return false
	}
	_, ok := a.patientNetworks.Take(network, now)
	return ok && a.patient.AllowN(now, 1)
}

// turnedAway remembers the credentials that were turned away last, by a part
// of their fingerprints, which nobody else can compute. It is safe for
// concurrent use.
type turnedAway struct {
	mu sync.Mutex // guards all below
	// first is when each was turned away first.
	first map[uint64]time.Duration
	// order is a ring of the keys as they came, whose next place is next.
	order []uint64
	next  int
	// began is what the times count from.
	began time.Time
}

// before reports whether a credential was turned away long enough ago.
func (t *turnedAway) before(f fingerprint, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, ok := t.first[key(f)]
	return ok && now.Sub(t.began)-first >= comesAgain
}

// add remembers a credential, and forgets the oldest beyond maxTurnedAway.
func (t *turnedAway) add(f fingerprint, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil {
		t.first, t.began = map[uint64]time.Duration{}, now
	}
	k := key(f)
	if _, known := t.first[k]; known {
		return
	}
	t.first[k] = now.Sub(t.began)
	if len(t.order) < maxTurnedAway {
		t.order = append(t.order, k)
		return
	}
	delete(t.first, t.order[t.next])
	t.order[t.next] = k
	t.next = (t.next + 1) % maxTurnedAway
}

func key(f fingerprint) uint64 { return binary.LittleEndian.Uint64(f[:]) }
