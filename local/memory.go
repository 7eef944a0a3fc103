package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/local/eventsource"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/memory"
)

// Variables that a process has whose tables are elsewhere. Where one of them is
// set, a missing endpoint is a mistake: with tables of its own the process
// would answer as a healthy registry that nobody else sees.
var elsewhere = []string{
	"REGISTRY_LEASE_TABLE", "REGISTRY_DELTA_TABLE", "REGISTRY_CREDENTIALS_SECRET",
	"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB_STREAMS",
	"ECS_CONTAINER_METADATA_URI", "ECS_CONTAINER_METADATA_URI_V4",
	"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EXECUTION_ENV",
}

// refusesMemory returns an error that names what speaks against tables in
// memory.
func refusesMemory(lookup boot.Lookup) error {
	var set []string
	for _, name := range elsewhere {
		if value, _ := lookup(name); value != "" {
			set = append(set, name)
		}
	}
	if set == nil {
		return nil
	}
	return fmt.Errorf("AWS_ENDPOINT_URL_DYNAMODB is unset, and tables in memory are private to this process, "+
		"which does not fit %s: set the endpoint, or unset the others", strings.Join(set, ", "))
}

const (
	// purgeInterval is how often what is over leaves the tables in memory.
	purgeInterval = time.Minute
)

// memoryTables returns the parts of a registry whose tables are in this process,
// and the work to be done beside.
func memoryTables(p *process) (*boot.Parts, *background, error) {
	if err := refusesMemory(p.lookup); err != nil {
		return nil, nil, err
	}
	switch {
	case p.config.EngineListen != "":
		return nil, nil, errors.New("REGISTRY_ENGINE_LISTEN is set, which only `registry engine` reads")
	case !p.config.Background:
		return nil, nil, errors.New("REGISTRY_BACKGROUND=false: no other process can do the background work of tables in memory")
	}
	store := memory.New(memory.Config{
		TTLGrace: p.config.TTLGrace, OverrideKept: p.config.OverrideKept,
		RowsKept: delta.RowLifetime(p.config.DeltaRetention),
	})
	parts := p.parts(storage.Tables{LeaseTable: store, DeltaTable: store})
	evict, err := parts.Evict()
	if err != nil {
		return nil, nil, err
	}
	stream := parts.Stream()
	store.Subscribe(func(r memory.Record) {
		// The change is made, whatever becomes of the request that asked for it.
		if err := stream.Change(context.Background(), r.Image); err != nil {
			p.log.Error("change not brought to the readers", "error", err)
		}
	})
	work := &background{p: p, evict: evict.Handle, feed: func(ctx context.Context) {
		eventsource.Schedule(ctx, purgeInterval, p.log, func(context.Context) error {
			store.ExpireTTL(time.Now())
			return nil
		})
	}}
	return parts, work, nil
}
