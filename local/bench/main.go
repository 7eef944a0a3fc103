// Command bench puts the load of a fleet on a Eureka server, this one or any
// other, and prints what it held:
//
//	go run ./local/bench -base http://127.0.0.1:8761/eureka -instances 1000 -seconds 5 -pid PID
//
// It registers the fleet and waits until the server's lists hold it; then come,
// one after another for -seconds each, deltas, full reads, reads of one
// application (JSON, gzip) and heartbeats, over -workers connections. With -pid
// it also prints the processor time that the server used for a request, and its
// resident memory (Linux). With -bare each read is followed by what a server of
// net/http alone takes for an answer of that length. With -against it measures
// two servers in turns and prints how they compare. With -soak it registers the
// fleet, lets each instance renew every -every for so long, and prints the
// server's memory each minute. It only sends to this machine.
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
	// bare adds the bare server, serveBare makes this process one.
	bare, serveBare bool
	// against is another server's base URL, to compare with.
	against    string
	againstPID int
	rounds     int
	// soak is how long a fleet is kept alive instead, each instance renewing
	// every so often.
	soak, every time.Duration
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
	switch {
	case o.serveBare:
		return serveBare(os.Stdin, out)
	case o.soak > 0:
		return soak(ctx, o, f, this, out)
	case o.against != "":
		return compare(ctx, o, f, this, newServer(o.against, o.againstPID, o.workers), out)
	}
	return alone(ctx, o, f, this, out)
}

// alone measures one server.
func alone(ctx context.Context, o options, f fleet, s *server, out io.Writer) (err error) {
	var bare *server
	if o.bare {
		var stop func() error
		if bare, stop, err = startBare(ctx, o); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	for _, p := range phases(o, f) {
		if o.register {
			if err := allList(ctx, o, p.sees, s); err != nil {
				return err
			}
		}
		result, err := measure(ctx, o, p, s)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintln(out, result)
		if bare == nil || result.body == 0 {
			continue
		}
		if result, err = measureBare(ctx, o, bare, result.body); err != nil {
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
	flags.BoolVar(&o.bare, "bare", false, "measure a server of net/http alone after each read, too")
	flags.BoolVar(&o.serveBare, "serve-bare", false, "be the server of net/http alone, until the input ends")
	flags.StringVar(&o.against, "against", "", "base URL of another server: both are measured in turns and compared")
	flags.IntVar(&o.againstPID, "against-pid", 0, "the other server's process id")
	flags.IntVar(&o.rounds, "rounds", 3, "turns of each server in a comparison")
	flags.DurationVar(&o.soak, "soak", 0, "keep the fleet alive for so long and print the server's memory each minute (needs -pid)")
	flags.DurationVar(&o.every, "every", time.Second, "time between two heartbeats of an instance in a soak")
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
	if o.soak < 0 || o.every <= 0 {
		return errors.New("soak and every must be above zero")
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
	// sees is where the fleet's last instance must be listed before the phase
	// begins; empty: the phase depends on no list.
	sees string
}

func phases(o options, f fleet) []phase {
	get := func(path string) func(int) request {
		return func(int) request { return request{http.MethodGet, path, nil, http.StatusOK} }
	}
	last := f.application(o.instances - 1).path
	// Deltas come first: they hold the fleet for some minutes only.
	all := []phase{
		{name: "delta", request: get("/apps/delta"), sees: "/apps/delta"},
		{name: "full read", request: get("/apps"), sees: last},
		{name: "one app", request: func(i int) request { return f.application(i % o.instances) }, sees: last},
		{name: "heartbeat", request: func(i int) request { return f.heartbeat(i % o.instances) }},
	}
	if o.register {
		all = append([]phase{{name: "register", count: o.instances, request: f.register}}, all...)
	}
	return all
}
