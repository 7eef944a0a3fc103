package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/logging"

	"github.com/eurekaless/registry/core/dashboard/templates"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/storage"
	store "github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/sdkconfig"
)

// attemptTimeout bounds one try of a call. It is longer than a function's: the
// emulator knows no pages of 1 MB, so that a part of a scan of 10,000
// leases is one answer, which takes seconds on a machine that is busy.
const attemptTimeout = 10 * time.Second

// backend is an engine's two services, with the tables in it.
type backend struct {
	db      *dynamodb.Client
	streams *dynamodbstreams.Client
	// clock follows the engine's when the two differ.
	clock *store.Clock
	// created names the tables that were not there before.
	created []string
}

// connect reaches the engine at the configured endpoint. On this machine it
// creates the tables that are not there; elsewhere they must exist.
func connect(ctx context.Context, p *process) (*backend, error) {
	b, err := reach(ctx, p)
	if err != nil {
		return nil, err
	}
	if !store.Loopback(p.config.DynamoDBEndpoint) {
		return b, b.findTables(ctx, p.config, p.config.LeaseTable, p.config.DeltaTable)
	}
	b.created, err = store.CreateTables(ctx, b.db, p.config.LeaseTable, p.config.DeltaTable)
	if err != nil {
		return nil, fmt.Errorf("no DynamoDB at %s: %w", p.config.DynamoDBEndpoint, err)
	}
	return b, nil
}

// reach returns the engine at the configured endpoint, and changes nothing there.
func reach(ctx context.Context, p *process) (*backend, error) {
	where := store.ClientConfig{Endpoint: p.config.DynamoDBEndpoint, AttemptTimeout: attemptTimeout}
	loaded, err := sdkconfig.Load(ctx, where)
	if err != nil {
		return nil, err
	}
	loaded.Logger = sdkLog{p.log}
	clock := boot.Clock(p.config, p.log, p.meter)
	b := &backend{
		clock: clock,
		db: store.ClientFrom(loaded, where, func(o *dynamodb.Options) {
			// Engines, on this machine or not, send no checksum, and the SDK
			// takes that for a wrong one.
			o.DisableValidateResponseChecksum = !boot.AtAWS(p.config.DynamoDBEndpoint)
		}, clock.Observe),
		streams: dynamodbstreams.NewFromConfig(loaded, func(o *dynamodbstreams.Options) {
			if endpoint := streamsEndpoint(p.config); endpoint != "" {
				o.BaseEndpoint = &endpoint
			}
		}),
	}
	return b, nil
}

// sdkLog takes the SDK's log lines.
type sdkLog struct{ log *slog.Logger }

// Logf logs a line.
func (l sdkLog) Logf(kind logging.Classification, format string, args ...any) {
	level := slog.LevelWarn
	if kind == logging.Debug {
		level = slog.LevelDebug
	}
	l.log.Log(context.Background(), level, "AWS SDK: "+fmt.Sprintf(format, args...))
}

// findTables fails when a table is not there, or may not be read, before a
// client notices. It reads an item that nobody has: that much the role of a
// task may do, and no more.
func (b *backend) findTables(ctx context.Context, config boot.Config, names ...string) error {
	keys := map[string][]string{
		config.LeaseTable: {store.AttrApp, store.AttrID},
		config.DeltaTable: {store.AttrPartition, store.AttrPosition},
	}
	for _, name := range names {
		key := map[string]types.AttributeValue{}
		for _, attribute := range keys[name] {
			key[attribute] = &types.AttributeValueMemberS{Value: "-"}
		}
		if _, err := b.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: key}); err != nil {
			return fmt.Errorf("table %s at %s: %w", name, config.DynamoDBEndpoint, err)
		}
	}
	return nil
}

// streamsEndpoint is where streams are read: where the tables are, unless
// another address is set, or the tables are at AWS, whose streams have an
// address of their own, which the SDK knows.
func streamsEndpoint(config boot.Config) string {
	switch {
	case config.StreamsEndpoint != "":
		return config.StreamsEndpoint
	case boot.AtAWS(config.DynamoDBEndpoint):
		return ""
	}
	return config.DynamoDBEndpoint
}

// parts returns what the handlers are put together from.
func (b *backend) parts(p *process) *boot.Parts {
	parts := p.parts(boot.Tables(b.db, p.config, p.log, p.meter))
	parts.Now = b.clock.Now
	return parts
}

// parts returns what the handlers are put together from, on tables of any kind.
func (p *process) parts(tables storage.Tables) *boot.Parts {
	return &boot.Parts{
		Config: p.config, Log: p.log, Meter: p.meter, Now: time.Now,
		Tables: tables, Pages: templates.New(), Environment: "local",
	}
}
