// Command bench puts the load of a fleet on a Eureka server, this one or any
// other, and prints what it held:
//
//	go run ./local/bench -base http://127.0.0.1:8761/eureka -instances 1000 -seconds 5 -pid PID
//
// It registers the fleet, then one after another for -seconds each: heartbeats,
// full reads, deltas and reads of one application (JSON, gzip), over -workers
// connections. With -pid it also prints the processor time that the server used
// for a request, and its resident memory (Linux). With -against it measures two
// servers in turns and prints how they compare. It only sends to this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"time"
)

// options are what the command line says.
type options struct {
	base      string
	instances int
	perApp    int
	workers   int
	phase     time.Duration
	pid       int
	register  bool
	// against is another server's base URL, to compare with.
	against    string
	againstPID int
	rounds     int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	f := fleet{perApp: o.perApp}
	this := newServer(o.base, o.pid, o.workers)
	if o.against != "" {
		return compare(ctx, o, f, this, newServer(o.against, o.againstPID, o.workers), out)
	}
	for _, p := range phases(o, f) {
		result, err := measure(ctx, o, p, this)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintln(out, result)
	}
	return nil
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.base, "base", "http://127.0.0.1:8761/eureka", "base URL of the server")
	flags.IntVar(&o.instances, "instances", 1000, "instances in the fleet")
	flags.IntVar(&o.perApp, "per-app", 10, "instances of one application")
	flags.IntVar(&o.workers, "workers", 8, "connections")
	seconds := flags.Float64("seconds", 5, "length of each phase")
	flags.IntVar(&o.pid, "pid", 0, "the server's process id, for its processor time and memory")
	flags.BoolVar(&o.register, "register", true, "register the fleet first")
	flags.StringVar(&o.against, "against", "", "base URL of another server: both are measured in turns and compared")
	flags.IntVar(&o.againstPID, "against-pid", 0, "the other server's process id")
	flags.IntVar(&o.rounds, "rounds", 3, "turns of each server in a comparison")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.phase = time.Duration(*seconds * float64(time.Second))
	return o, o.check()
}

func (o options) check() error {
	if o.instances < 1 || o.perApp < 1 || o.workers < 1 || o.phase <= 0 || o.rounds < 1 {
		return errors.New("instances, per-app, workers, seconds and rounds must be above zero")
	}
	if o.against != "" {
		if err := checkLoopback(o.against); err != nil {
			return err
		}
	}
	return checkLoopback(o.base)
}

func checkLoopback(base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	address, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() != "localhost" && (err != nil || !address.IsLoopback()) {
		return fmt.Errorf("%s is not on this machine: load is only sent to loopback addresses", base)
	}
	return nil
}

// phase is one kind of request, asked again and again.
type phase struct {
	name string
	// count is how many requests there are; 0: as many as the time holds.
	count   int
	request func(i int) request
}

func phases(o options, f fleet) []phase {
	get := func(path string) func(int) request {
		return func(int) request { return request{http.MethodGet, path, nil, http.StatusOK} }
	}
	all := []phase{
		{"heartbeat", 0, func(i int) request { return f.heartbeat(i % o.instances) }},
		{"full read", 0, get("/apps")},
		{"delta", 0, get("/apps/delta")},
		{"one app", 0, func(i int) request { return f.application(i % o.instances) }},
	}
	if o.register {
		all = append([]phase{{"register", o.instances, f.register}}, all...)
	}
	return all
}
