// Command example is two services that find each other through a registry:
// greeters, which register themselves, and a caller, which calls them by name.
//
//	make run                        # a registry on 127.0.0.1:8761
//	go run ./local/example          # both services, until Ctrl-C
//	go run ./local/example greeter  # one more greeter, in a process of its own
//	go run ./local/example caller   # only the caller
//
// EUREKA_URL names another registry.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e := example{
		registry: cmp.Or(os.Getenv("EUREKA_URL"), "http://127.0.0.1:8761/eureka"),
		pause:    time.Second,
		out:      os.Stdout,
		log:      slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if err := e.run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// example is what the services have in common.
type example struct {
	// registry is its base URL.
	registry string
	// pause is the time between two calls.
	pause time.Duration
	// out gets what the caller was answered.
	out io.Writer
	log *slog.Logger
}

// run runs the services that args name until the context ends; none: two
// greeters and a caller.
func (e *example) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{"greeter", "greeter", "caller"}
	}
	services := map[string]func(context.Context) error{"greeter": e.greet, "caller": e.call}
	for _, name := range args {
		if services[name] == nil {
			return fmt.Errorf("no service %q: greeter or caller", name)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failures := make([]error, len(args))
	var group sync.WaitGroup
	for n, name := range args {
		group.Go(func() {
			if err := services[name](ctx); err != nil {
				failures[n] = fmt.Errorf("%s: %w", name, err)
				stop() // the others have nobody to talk to
			}
		})
	}
	group.Wait()
	return errors.Join(failures...)
}
