// Package dynamodb is the storage driver on Amazon DynamoDB, and on engines
// that speak its protocol. Its README has the cost of each operation, its
// schema.go each table and attribute.
package dynamodb

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
)

// API is what a [Store] needs of the SDK's client.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Config is what a [Store] works with. Zero values mean the defaults.
type Config struct {
	// LeaseTable and DeltaTable are the tables' names; default
	// [DefaultLeaseTable] and [DefaultDeltaTable].
	LeaseTable, DeltaTable string
	// Retention is the longest window that readers of the deltas use; default
	// 180 s. Rows stay for somewhat longer.
	Retention time.Duration
	// TTLGrace is how far past a lease's end its TTL lies; default 24 h.
	TTLGrace time.Duration
	// OverrideKept is how long an override outlives an eviction; default 1 h.
	OverrideKept time.Duration
	// ScanSegments is how many parts of the lease table a scan reads at once;
	// default 4. Each costs a read unit even when it is empty; 16 are right
	// for 100,000 leases.
	ScanSegments int
	// MaxInstance is how large an instance may be that Scan, Deltas and
	// Snapshot return, see [wire.Exceeds]; larger ones are reported and left
	// out. 0: any size.
	MaxInstance int
	// ConsistentDeltas makes the reads of delta rows strongly consistent, at
	// twice the read units: for readers that do not wait after a boundary.
	ConsistentDeltas bool
	// Logger is told of stored items that cannot be understood; default
	// slog.Default().
	Logger *slog.Logger
	// Now is the clock, for the TTL of what is published; default time.Now.
	Now func() time.Time
}

// Store is every role that the core gives to storage. It keeps no state and is
// safe for concurrent use.
type Store struct {
	api API
	cfg Config
	log *slog.Logger
}

var (
	_ registry.Store        = (*Store)(nil)
	_ eviction.Store        = (*Store)(nil)
	_ eviction.Deltas       = (*Store)(nil)
	_ eviction.Publications = (*Store)(nil)
	_ view.Source           = (*Store)(nil)
	_ API                   = (*dynamodb.Client)(nil)
)

// New returns a store on the tables that cfg names.
func New(api API, cfg Config) *Store {
	cfg.LeaseTable = cmp.Or(cfg.LeaseTable, DefaultLeaseTable)
	cfg.DeltaTable = cmp.Or(cfg.DeltaTable, DefaultDeltaTable)
	cfg.Retention = cmp.Or(cfg.Retention, 180*time.Second)
	cfg.TTLGrace = cmp.Or(cfg.TTLGrace, 24*time.Hour)
	cfg.OverrideKept = cmp.Or(cfg.OverrideKept, registry.DefaultOverrideKept)
	cfg.ScanSegments = cmp.Or(cfg.ScanSegments, 4)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Store{api: api, cfg: cfg, log: cfg.Logger}
}
