package registry

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// DefaultMaxRemembered is how many renewals a registry remembers: some 200
// bytes each.
const DefaultMaxRemembered = 100_000

// moment is a time on both clocks. The monotonic one stands still while a
// container is frozen, the wall clock may be set back.
type moment struct {
	wall      int64 // epoch milliseconds
	monotonic time.Duration
}

// within reports whether less than d has passed since earlier, on both clocks,
// and on neither less than nothing.
func (m moment) within(d time.Duration, earlier moment) bool {
	wall := time.Duration(m.wall-earlier.wall) * time.Millisecond
	monotonic := m.monotonic - earlier.monotonic
	return wall >= 0 && wall < d && monotonic >= 0 && monotonic < d
}

// remembered is a renewal that this process wrote.
type remembered struct {
	dirty    int64 // the client's timestamp, epoch milliseconds
	written  moment
	duration time.Duration // of the lease
	lasts    time.Duration // for how long heartbeats need no further write
}

// slot is a place of [renewals]: an element of a ring in the order of writes,
// or of the list of free slots.
type slot struct {
	key        eureka.Key
	renewal    remembered
	prev, next int32
}

// renewals is a bounded memory of renewals. To make room, what has expired
// leaves first, then a random one: with the oldest leaving, a fleet that is
// larger than the bound would find nothing, since it comes around in the same
// order each time. It is safe for concurrent use.
type renewals struct {
	mu    sync.Mutex
	limit int
	index map[eureka.Key]int32
	// slots has the ends of the ring at 0: next is the oldest renewal.
	slots []slot
	free  int32 // the first free slot; 0: none
	// changes counts the calls of changed.
	changes uint64
}

func newRenewals(limit int) *renewals {
	if limit <= 0 {
		limit = DefaultMaxRemembered
	}
	m := &renewals{limit: limit}
	m.reset()
	return m
}

func (m *renewals) reset() {
	m.index, m.slots, m.free = map[eureka.Key]int32{}, make([]slot, 1), 0
}

// answer reports whether a heartbeat needs no write, and the lease's duration.
func (m *renewals) answer(key eureka.Key, dirty int64, at moment) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index[key]
	if !ok {
		return 0, false
	}
	r := &m.slots[i].renewal
	return r.duration, r.dirty == dirty && at.within(r.lasts, r.written)
}

// seenChanges returns what [renewals.put] wants to know of before the write.
func (m *renewals) seenChanges() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changes
}

// put remembers a renewal, unless a lease was changed since it was about to be
// written: it may have been this one.
func (m *renewals) put(key eureka.Key, r remembered, changes uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changes != changes || r.lasts <= 0 {
		m.remove(key)
		return
	}
	i, ok := m.index[key]
	if !ok {
		i = m.take(r.written)
		key = eureka.Key{App: strings.Clone(key.App), ID: strings.Clone(key.ID)} // they may be parts of a request
		m.index[key], m.slots[i].key = i, key
	} else {
		m.unlink(i)
	}
	m.slots[i].renewal = r
	m.link(i)
}

// drop forgets a renewal.
func (m *renewals) drop(key eureka.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
}

// changed forgets renewals of leases that changed, also those that are being
// written.
func (m *renewals) changed(keys ...eureka.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
	for _, key := range keys {
		m.remove(key)
	}
}

// allChanged is changed for all leases.
func (m *renewals) allChanged() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
	m.reset()
}

// take returns a slot for a new renewal. The lock is held, here and below.
func (m *renewals) take(now moment) int32 {
	const most = 2 // so that the memory follows a fleet that shrinks
	for range most {
		oldest := m.slots[0].next
		if oldest == 0 || now.within(m.slots[oldest].renewal.lasts, m.slots[oldest].renewal.written) {
			break
		}
		m.remove(m.slots[oldest].key)
	}
	if len(m.index) >= m.limit {
		m.remove(m.slots[1+rand.IntN(len(m.slots)-1)].key)
	}
	if i := m.free; i != 0 {
		m.free = m.slots[i].next
		return i
	}
	m.slots = append(m.slots, slot{})
	return int32(len(m.slots) - 1)
}

// remove forgets a renewal, if there is one.
func (m *renewals) remove(key eureka.Key) {
	i, ok := m.index[key]
	if !ok {
		return
	}
	delete(m.index, key)
	m.unlink(i)
	m.slots[i] = slot{next: m.free}
	m.free = i
}

// link makes a slot the newest of the ring.
func (m *renewals) link(i int32) {
	newest := m.slots[0].prev
	m.slots[i].prev, m.slots[i].next = newest, 0
	m.slots[newest].next, m.slots[0].prev = i, i
}

func (m *renewals) unlink(i int32) {
	prev, next := m.slots[i].prev, m.slots[i].next
	m.slots[prev].next, m.slots[next].prev = next, prev
}
