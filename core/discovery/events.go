package discovery

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// EventKind says what happened.
type EventKind int

// The kinds of events.
const (
	// Registered: the registry took a registration of this instance.
	Registered EventKind = iota + 1
	// StatusChanged: the instance's own word is another one.
	StatusChanged
	// RemoteStatusChanged: the registry shows another status of this instance
	// than before, such as one set by an operator; UNKNOWN when it does not
	// show the instance.
	RemoteStatusChanged
	// CacheRefreshed: the registry was fetched, or did not change.
	CacheRefreshed
)

// String returns the kind's name.
func (k EventKind) String() string {
	switch k {
	case Registered:
		return "registered"
	case StatusChanged:
		return "status changed"
	case RemoteStatusChanged:
		return "remote status changed"
	case CacheRefreshed:
		return "cache refreshed"
	}
	return "unknown event"
}

// Event is something that happened to a client.
type Event struct {
	Kind EventKind
	Time time.Time
	// Status and Previous are those of a change of status.
	Status, Previous eureka.Status
	// View is that of a CacheRefreshed.
	View *View
}

// queuedEvents is how many events wait for a slow listener.
const queuedEvents = 64

// events passes events to listeners, one after the other, on a goroutine of
// its own, so that no listener delays a heartbeat.
type events struct {
	now   func() time.Time
	log   *slog.Logger
	queue chan Event

	mu        sync.Mutex
	next      int
	listeners map[int]func(Event)
}

func newEvents(cfg *Config) *events {
	return &events{now: cfg.Now, log: cfg.Logger, queue: make(chan Event, queuedEvents), listeners: map[int]func(Event){}}
}

// subscribe adds a listener and returns what removes it.
func (e *events) subscribe(listener func(Event)) (remove func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	id := e.next
	e.next++
	e.listeners[id] = listener
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.listeners, id)
	}
}

// emit queues an event. When listeners are too slow the event is dropped:
// events say that something changed, the state is to be asked for.
func (e *events) emit(event Event) {
	event.Time = e.now()
	select {
	case e.queue <- event:
	default:
		e.log.Warn("event dropped: listeners are too slow", "event", event.Kind.String())
	}
}

// run passes events on until end is closed, and then what is queued.
func (e *events) run(end <-chan struct{}) {
	for {
		select {
		case event := <-e.queue:
			e.deliver(event)
		case <-end:
			for {
				select {
				case event := <-e.queue:
					e.deliver(event)
				default:
					return
				}
			}
		}
	}
}

func (e *events) deliver(event Event) {
	e.mu.Lock()
	listeners := slices.Collect(maps.Values(e.listeners))
	e.mu.Unlock()
	for _, listener := range listeners {
		listener(event)
	}
}
