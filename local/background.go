package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/local/eventsource"
	store "github.com/eurekaless/registry/storage/dynamodb"
)

// background is the work that Lambda's event source mapping and the schedule
// call for on AWS.
type background struct {
	// feed brings changes to the readers, or does what tables in memory need
	// instead, until the context ends.
	feed  func(context.Context)
	evict func(context.Context) error
	p     *process
}

// newBackground puts the poller and the scheduler before the handlers.
func newBackground(p *process, b *backend, parts *boot.Parts) (*background, error) {
	evict, err := parts.Evict()
	if err != nil {
		return nil, err
	}
	stream := parts.Stream()
	handle := stream.Handle
	if p.config.LocalEvents {
		handle = asJSON(stream.Invoke)
	}
	poller, err := eventsource.New(eventsource.Config{
		Table: p.config.LeaseTable, Tables: b.db, Streams: b.streams,
		Handler: handle,
		Filters: []string{store.FilterChange, store.FilterRemoval},
		Now:     b.clock.Now, Log: p.log,
	})
	if err != nil {
		return nil, err
	}
	return &background{feed: poller.Run, evict: evict.Handle, p: p}, nil
}

// run works until the context ends, then finishes what is under way. Without
// work it only waits.
func (b *background) run(ctx context.Context) {
	if b == nil {
		<-ctx.Done()
		return
	}
	var work sync.WaitGroup
	work.Go(func() { b.feed(ctx) })
	work.Go(func() { eventsource.Schedule(ctx, b.p.config.EvictionInterval, b.p.log, b.evict) })
	work.Wait()
}

// asJSON calls a handler by way of JSON, as Lambda does.
func asJSON(invoke func(context.Context, []byte) ([]byte, error)) eventsource.Handler {
	return func(ctx context.Context, event events.DynamoDBEvent) (out events.DynamoDBEventResponse, err error) {
		payload, err := json.Marshal(event)
		if err != nil {
			return out, fmt.Errorf("encode stream event: %w", err)
		}
		answer, err := invoke(ctx, payload)
		if err != nil {
			return out, err
		}
		if err := json.Unmarshal(answer, &out); err != nil {
			return out, fmt.Errorf("decode the stream handler's answer: %w", err)
		}
		return out, nil
	}
}

var errNoEndpoint = errors.New("AWS_ENDPOINT_URL_DYNAMODB says where the tables are, and is not set")

// runBackground is the sub-command pump.
func runBackground(ctx context.Context, p *process) error {
	if p.config.DynamoDBEndpoint == "" {
		return errNoEndpoint
	}
	b, err := connect(ctx, p)
	if err != nil {
		return err
	}
	work, err := newBackground(p, b, b.parts(p))
	if err != nil {
		return err
	}
	p.config.Background = true // this process is for nothing else
	p.sayEndpoint(b)
	p.sayBackground()
	p.saySettings()
	work.run(ctx)
	return nil
}
