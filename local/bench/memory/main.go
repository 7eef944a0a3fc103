// Command memory prints how much memory requests cost the process: for each
// kind of request that an outsider, a reader, a registering service and a peer
// can send, the most that the process had resident after one and after a
// hundred at once, in all. It fails when any passes the limit.
//
//	go build -o registry ./local && go run ./local/bench/memory -binary ./registry
//
// Each kind has a process of its own, with default settings, credentials and
// tables in memory, and for readers the most hostile registry that a hundred
// registrations can make. It only sends to this machine, and needs Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"text/tabwriter"
)

// limit is what no requests may pass, in MiB.
const limit = 256

// atOnce is how many requests are sent at once.
const atOnce = 100

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("memory", flag.ContinueOnError)
	binary := flags.String("binary", "", "the process's program; required")
	only := flags.String("run", "", "regular expression of the kinds of requests to try; default all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil || *binary == "" {
		return errors.Join(errors.New("usage: memory -binary PROGRAM [-run EXPRESSION]"), err)
	}
	return table(ctx, *binary, wanted, out)
}

// table measures each kind of request and prints its row.
func table(ctx context.Context, binary string, wanted *regexp.Regexp, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "MiB resident at most:\tidle\tone\t%d at once\tanswers\t\n", atOnce)
	var faults []error
	most := 0
	for _, k := range kinds() {
		if !wanted.MatchString(k.String()) {
			continue
		}
		m, err := measure(ctx, binary, k)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", k, err))
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t\n", k, m.idle, m.one, m.many, m.answers)
		if err := w.Flush(); err != nil {
			return err
		}
		if k.told {
			continue
		}
		most = max(most, m.many)
		if m.many > limit {
			faults = append(faults, fmt.Errorf("%s: %d MiB are more than %d", k, m.many, limit))
		}
	}
	fmt.Fprintf(out, "most of all at defaults: %d MiB; at most %d are allowed\n", most, limit)
	return errors.Join(faults...)
}
