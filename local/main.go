// Command local runs the registry on one machine: the handlers that run on
// Lambda, on a port, with an embedded engine or any that speaks DynamoDB's
// protocol, a poller of its stream and a scheduler. See `local --help`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/eurekaless/registry/functions/boot"
)

// command is a sub-command.
type command struct {
	name string
	// does says in a line what it is for; more in some.
	does, more string
	// reads reports whether it reads a setting of the local process; nil: it
	// reads none, and works whatever they are.
	reads func(boot.Setting) bool
	run   func(ctx context.Context, p *process) error
}

func commands() []command {
	return []command{
		{"serve", "the registry as one process (the default)", serveHelp, readsAll, serve},
		{"engine", "only the embedded DynamoDB engine, for other processes", engineHelp, engineReads, runEngine},
		{"pump", "only the stream poller and the eviction scheduler", pumpHelp, pumpReads, runPump},
		{"credentials", "the hash of a password, for the credentials' document", credentialsHelp, nil, runCredentials},
	}
}

// process is what a sub-command works with.
type process struct {
	config boot.Config
	log    *slog.Logger
	in     io.Reader
	out    io.Writer
}

func main() {
	// The first signal asks for an orderly end; from then on the next one has
	// its usual effect and kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
}

// run executes a command line and returns the exit code: 0 after an orderly
// end, 1 after a failure, 2 when the command line or a setting is wrong.
func run(ctx context.Context, args []string, lookup boot.Lookup, out, errOut io.Writer) int {
	cmd, args, err := choose(args)
	if err != nil {
		fmt.Fprintln(errOut, err)
		usage(errOut)
		return 2
	}
	if cmd == nil {
		usage(out)
		return 0
	}
	if code, done := parseFlags(cmd, args, out, errOut); done {
		return code
	}
	config, err := boot.Load(lookup, boot.Local)
	if err != nil && cmd.reads != nil {
		fmt.Fprintln(errOut, "settings:\n  "+strings.ReplaceAll(err.Error(), "\n", "\n  "))
		return 2
	}
	p := &process{
		config: config,
		log:    slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: config.LogLevel})),
		in:     os.Stdin,
		out:    out,
	}
	if err := cmd.run(ctx, p); err != nil {
		fmt.Fprintf(errOut, "%s: %v\n", cmd.name, err)
		return 1
	}
	return 0
}

// choose finds the sub-command that the arguments begin with; none is nil when
// help is asked for.
func choose(args []string) (*command, []string, error) {
	all := commands()
	if len(args) == 0 {
		return &all[0], nil, nil
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return nil, nil, nil
	}
	for i := range all {
		if all[i].name == args[0] {
			return &all[i], args[1:], nil
		}
	}
	if strings.HasPrefix(args[0], "-") {
		return &all[0], args, nil
	}
	return nil, nil, fmt.Errorf("no such command: %s", args[0])
}

// parseFlags reads a sub-command's flags, of which there is only --help: all
// else is set by the environment. It reports whether that was all.
func parseFlags(cmd *command, args []string, out, errOut io.Writer) (code int, done bool) {
	flags := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		help(out, cmd)
		return 0, true
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument: %s", flags.Arg(0))
		if cmd.reads == nil {
			err = errors.New("unexpected argument") // it may be a password
		}
	}
	if err != nil {
		fmt.Fprintf(errOut, "%s: %v\n\n", cmd.name, err)
		help(errOut, cmd)
		return 2, true
	}
	return 0, false
}
