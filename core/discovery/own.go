package discovery

import (
	"bytes"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// own is this process's instance: what it says of itself.
type own struct {
	now    func() time.Time
	events *events
	// changed has room for one signal that there is something to register.
	changed chan struct{}

	mu   sync.Mutex
	info *eureka.InstanceInfo
}

func newOwn(info *eureka.InstanceInfo, cfg *Config, e *events) *own {
	o := &own{now: cfg.Now, events: e, changed: make(chan struct{}, 1), info: info}
	info.LastDirty = o.dirty(time.Time{})
	info.LastUpdated = info.LastDirty
	return o
}

// current returns the instance, which is not to be changed.
func (o *own) current() *eureka.InstanceInfo {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.info
}

// update changes a copy of the instance. What identifies it stays. When that
// makes a difference the instance is dirty: to be registered anew.
func (o *own) update(change func(*eureka.InstanceInfo)) {
	o.mu.Lock()
	old, replacement := o.info, o.info.Clone()
	change(replacement)
	replacement.App, replacement.InstanceID = old.App, old.InstanceID
	replacement.LastDirty, replacement.LastUpdated = old.LastDirty, old.LastUpdated
	if same(old, replacement) {
		o.mu.Unlock()
		return
	}
	replacement.LastDirty = o.dirty(old.LastDirty)
	replacement.LastUpdated = replacement.LastDirty
	o.info = replacement
	o.mu.Unlock()
	if old.Status != replacement.Status {
		o.events.emit(Event{Kind: StatusChanged, Status: replacement.Status, Previous: old.Status})
	}
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// dirty returns the timestamp of a change: now, on the wire in milliseconds,
// and always later than the one before.
func (o *own) dirty(before time.Time) time.Time {
	now := o.now().Truncate(time.Millisecond)
	if earliest := before.Add(time.Millisecond); now.Before(earliest) && !before.IsZero() {
		return earliest
	}
	return now
}

// same reports whether two instances are registered by the same document.
func same(a, b *eureka.InstanceInfo) bool {
	return bytes.Equal(registration(a), registration(b))
}

func registration(i *eureka.InstanceInfo) []byte {
	return wire.AppendRegistration(nil, wire.JSON, i)
}
