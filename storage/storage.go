// Package storage names what its drivers and their wrappers share: the two
// tables, each in all the roles that the core gives to it, and the operations.
package storage

import (
	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
)

// LeaseTable is the table of leases and tombstones.
type LeaseTable interface {
	registry.Store
	registry.Counter
	eviction.Store
}

// DeltaTable is the table of deltas and of what is published.
type DeltaTable interface {
	eviction.Deltas
	eviction.Publications
}

// Tables is both, and so all that the core asks of storage.
type Tables struct {
	LeaseTable
	DeltaTable
}

var _ view.Source = Tables{}

// Operation names a method of a table, in a metric's label for instance.
type Operation string

// The operations.
const (
	Get           Operation = "get"
	Register      Operation = "register"
	Renew         Operation = "renew"
	Update        Operation = "update"
	Cancel        Operation = "cancel"
	Count         Operation = "count"
	Scan          Operation = "scan"
	Evict         Operation = "evict"
	Put           Operation = "put"
	Deltas        Operation = "deltas"
	Snapshot      Operation = "snapshot"
	PutSnapshot   Operation = "put_snapshot"
	Statistics    Operation = "statistics"
	PutStatistics Operation = "put_statistics"
	Claim         Operation = "claim"
	Recent        Operation = "recent"
	PutRecent     Operation = "put_recent"
)
