package view

import (
	linked "container/list"
	"context"
	"fmt"
	"sync"

	"github.com/eurekaless/registry/core/eureka"
)

// DefaultListMemory is how many bytes the bodies of applications and VIPs take
// together.
const DefaultListMemory = 32 << 20

// shelf bounds the memory of the bodies that somebody can ask for in any number:
// those of single applications, VIPs and regions. It counts a body from before
// it is made until it is sent and, while there is room, kept for the next
// request. A body that there is no room for waits until others were sent. The
// zero value has the default limit.
type shelf struct {
	limit int64

	mu   sync.Mutex // guards the rest, and of each body place
	used int64
	// idle are the bodies that nobody sends, the least recently used first.
	idle linked.List
	// turn counts views; bodies of earlier ones are not kept.
	turn int
	// freed is closed when there may be room again; nil when nobody waits.
	freed chan struct{}
}

// place is a body's place on the shelf.
type place struct {
	shelf *shelf
	// turn is the view's.
	turn int
	// estimate returns about how many bytes the text takes.
	estimate func() int64
	// drop takes the body from its view.
	drop func()
	// size is what the body counts; users send it. Without any it is in idle, at
	// element, unless it was removed.
	size    int64
	users   int
	element *linked.Element
}

// Acquire waits until there is memory to make and hold the body. The caller
// makes it, sends it and calls release. It fails with an eureka.ErrThrottled
// when the context ends before.
func (b *Body) Acquire(ctx context.Context) (release func(), err error) {
	s := b.place.shelf
	if s == nil {
		return func() {}, nil
	}
	estimate := b.place.estimate()
	for {
		freed, ok := s.tryAcquire(b, estimate)
		if ok {
			return func() { s.release(b) }, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: waiting for memory to make a list: %w", eureka.ErrThrottled, ctx.Err())
		}
	}
}

// tryAcquire takes a place for a body, or returns when to try again.
func (s *shelf) tryAcquire(b *Body, estimate int64) (freed <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &b.place
	if p.users > 0 {
		p.users++
		return nil, true
	}
	s.takeOut(p)
	limit := s.limit
	if limit == 0 {
		limit = DefaultListMemory
	}
	// A body that is larger than all of the shelf has it for itself.
	size := min(max(p.size, estimate), limit)
	for s.used+size > limit && s.removeOldest() {
	}
	if s.used+size > limit {
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		return s.freed, false
	}
	p.users, p.size = 1, size
	s.used += size
	return nil, true
}

// takeOut takes a body out of the idle ones, if it is one.
func (s *shelf) takeOut(p *place) {
	if p.element == nil {
		return
	}
	s.idle.Remove(p.element)
	p.element = nil
	s.used -= p.size
}

// remove takes an idle body from the shelf and from its view.
func (s *shelf) remove(b *Body) {
	s.takeOut(&b.place)
	b.place.drop()
}

// removeOldest removes the idle body that was sent longest ago, if there is one.
func (s *shelf) removeOldest() bool {
	oldest := s.idle.Front()
	if oldest == nil {
		return false
	}
	s.remove(oldest.Value.(*Body))
	return true
}

// release is called when a body was sent. What it really takes is known now.
func (s *shelf) release(b *Body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &b.place
	if p.users--; p.users > 0 {
		return
	}
	s.used -= p.size
	p.size = b.held()
	s.used += p.size
	p.element = s.idle.PushBack(b)
	if p.turn != s.turn {
		s.remove(b)
	}
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}

// next begins the bodies of another view, and returns its turn.
func (s *shelf) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	for s.removeOldest() {
	}
	return s.turn
}

// held returns how many bytes the body has, in all codings.
func (b *Body) held() int64 {
	var n int64
	for i := range b.contents {
		if c := &b.contents[i]; c.made.Load() {
			n += int64(len(c.data))
		}
	}
	return n
}
