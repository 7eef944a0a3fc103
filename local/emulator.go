//go:build !noemulator

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/local/emulator"
)

// closeTime is how long requests to the engine may take after a stop. It is well
// above the 5 s for which net/http waits for the first request of a connection
// that a client keeps in store (TestEngineAndPumpAlone).
const closeTime = 10 * time.Second

// emulatorCommands are the sub-commands of a build with the emulator.
func emulatorCommands() []command {
	return []command{{"engine", "a DynamoDB emulator, for tests and the SAM CLI", engineHelp, engineReads, nil, runEngine}}
}

// startEngine starts the embedded engine and makes it the endpoint.
func startEngine(p *process) (*emulator.Emulator, error) {
	e, err := emulator.Start(p.config.EngineListen, p.log)
	if err != nil {
		return nil, fmt.Errorf("REGISTRY_ENGINE_LISTEN: %w", err)
	}
	p.config.DynamoDBEndpoint, p.config.StreamsEndpoint = e.URL(), ""
	if !boot.Loopback(e.Address()) {
		p.log.Warn("anyone who can reach the engine's address can read and change the tables", "address", e.Address())
	}
	return e, nil
}

func closeEngine(ctx context.Context, e *emulator.Emulator) error {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return e.Close(limit)
}

// runEngine is the sub-command engine.
func runEngine(ctx context.Context, p *process) (err error) {
	e, err := startEngine(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeEngine(ctx, e)) }()
	b, err := connect(ctx, p)
	if err != nil {
		return err
	}
	p.say("engine    http://%s, in memory: the data ends with the process", reachable(e.Address()))
	p.sayTables(b)
	p.say("use it by AWS_ENDPOINT_URL_DYNAMODB=http://%s; Ctrl-C stops it", reachable(e.Address()))
	<-ctx.Done()
	return nil
}
