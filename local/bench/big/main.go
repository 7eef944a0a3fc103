// Command big holds a registry of 100,000 instances on this machine:
//
//	go run ./local/bench/big -registry .build/registry -dynoxide PATH
//
// First the fleet, on the embedded engine in a process of its own: it registers,
// renews at a rate for a while, and one in a hundred instances changes a minute,
// all through the write function's handler. Ten read containers, the read
// function's handler each with a view of its own, are asked at random moments; at
// each boundary all must have the same hash code and the same deltas, whenever
// they were asked, and in the end the hash code of the table.
//
// Then the turn, on an engine that counts capacity as DynamoDB does: 150
// containers with 100,000 instances in their views turn over while one in a
// hundred changes a minute. It prints what that reads.
//
// -engine memory takes the tables in this process instead: what is left of the
// fleet is the core's and the functions' own work. At full size it takes some ten
// minutes, and the engine, which keeps every stream record, up to 12 GB of memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"github.com/eurekaless/registry/functions/boot"
)

// options are what the command line says.
type options struct {
	engine             string
	registry, dynoxide string
	instances          int
	rate               float64
	length, refresh    time.Duration
	settle             time.Duration
	// churn is the part of the instances that changes a minute.
	churn      float64
	workers    int
	containers int
	// turning is how many containers turn over together; turns, how often.
	turning, turns int
	// memory is how many bytes the engine may have resident.
	memory int64
	only   string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "big:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	// As the write function does, which most of the load goes to.
	defer debug.SetGCPercent(debug.SetGCPercent(boot.WriteGCPercent))
	if o.only != "turn" {
		if err := on(ctx, o, out, o.fleetEngine, holdFleet); err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
	}
	if o.only != "fleet" {
		if err := on(ctx, o, out, o.turnEngine, turnOver); err != nil {
			return fmt.Errorf("turn: %w", err)
		}
	}
	return nil
}

// on starts an engine for the time of a part.
func on(ctx context.Context, o options, out io.Writer, start func(context.Context) (*engine, error), part func(context.Context, options, *engine, io.Writer) error) error {
	e, err := start(ctx)
	if err != nil {
		return err
	}
	return errors.Join(part(ctx, o, e, out), e.stop())
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("big", flag.ContinueOnError)
	flags.StringVar(&o.engine, "engine", "kumo", "the fleet's engine: kumo, dynoxide or memory")
	flags.StringVar(&o.registry, "registry", ".build/registry", "the local process's binary, which has kumo")
	flags.StringVar(&o.dynoxide, "dynoxide", "dynoxide", "dynoxide's binary")
	flags.StringVar(&o.only, "only", "", "fleet or turn: that part alone")
	flags.IntVar(&o.instances, "instances", 100_000, "instances")
	flags.Float64Var(&o.rate, "rate", 3300, "renewals a second; 0: as many as go")
	flags.DurationVar(&o.length, "length", 2*time.Minute, "how long the fleet renews")
	flags.DurationVar(&o.refresh, "refresh", 30*time.Second, "interval of the views")
	flags.DurationVar(&o.settle, "settle", 200*time.Second, "pause after the registrations, until they have left the deltas")
	flags.Float64Var(&o.churn, "churn", 0.01, "part of the instances that changes a minute")
	flags.IntVar(&o.workers, "workers", 16, "requests at once")
	flags.IntVar(&o.containers, "containers", 10, "read containers beside the fleet")
	flags.IntVar(&o.turning, "turning", 150, "read containers that turn over together")
	flags.IntVar(&o.turns, "turns", 3, "how often they do")
	flags.Int64Var(&o.memory, "memory", 12<<30, "bytes that the engine may take")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.instances < 100 || o.workers < 1 || o.containers < 1 || o.turning < 1 || o.turns < 1 || o.refresh < time.Second || o.length < o.refresh {
		return o, errors.New("instances must be 100 or more, the length one interval or more, an interval a second or more, and counts above zero")
	}
	return o, nil
}
