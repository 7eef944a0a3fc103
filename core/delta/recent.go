package delta

import (
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Recent is the last registrations, cancellations and evictions, and changes of
// status, newest first, at most [RecentLimit] of each.
type Recent struct {
	Registered []Event
	Cancelled  []Event
	Changed    []Event `json:",omitempty"`
}

// RecentLimit is the length of each list of [Recent], as on the stock server.
const RecentLimit = 1000

// Event is one registration, cancellation, eviction or change of status.
type Event struct {
	Time time.Time
	Key  eureka.Key
	// What happened, in words; empty in events of before there was this field.
	What string `json:",omitempty"`
}
