// Command local runs the registry on one machine: the handlers that run on
// Lambda, on a port, with tables in memory, or with any DynamoDB and a poller of
// its stream, and a scheduler. See `local --help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
)

// command is a sub-command.
type command struct {
	name string
	// does says in a line what it is for; more in some.
	does, more string
	// reads reports whether it reads a setting of the local process; nil: it
	// reads none, and works whatever they are.
	reads func(boot.Setting) bool
	// takes is what it takes from the command line beside --help; nil: nothing.
	takes *arguments
	run   func(ctx context.Context, p *process) error
}

func commands() []command {
	return append([]command{
		{"serve", "the registry as one process (the default)", serveHelp, serveReads, nil, serve},
		{"health", "exits with 0 when the registry of this machine answers", healthHelp, healthReads, nil, runHealth},
		{"background", "only the stream poller and the eviction scheduler", backgroundHelp, backgroundReads, nil, runBackground},
		{"credentials", "the hash of a password, for the credentials' document", credentialsHelp, nil, nil, runCredentials},
		{"import", "mirror another Eureka server into a registry", importHelp, nil, importArguments, runImport},
		{"compare", "the differences of two registries", compareHelp, nil, compareArguments, runCompare},
		{"export", "all leases as JSON", exportHelp, exportReads, nil, runExport},
		{"version", "which version this is", versionHelp, nil, nil, runVersion},
	}, emulatorCommands()...)
}

// process is what a sub-command works with.
type process struct {
	config boot.Config
	log    *slog.Logger
	meter  handlers.Meter
	in     io.Reader
	out    io.Writer
	// given is what the command line gave, and lookup finds what it leaves to
	// the environment.
	given  given
	lookup boot.Lookup
}

func main() {
	// The first signal asks for an orderly end; from then on the next one has
	// its usual effect and kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run executes a command line and returns the exit code: 0 after an orderly
// end, 1 after a failure, 2 when the command line or a setting is wrong. The
// environment is as os.Environ returns it.
func run(ctx context.Context, args, environment []string, out, errOut io.Writer) int {
	out, errOut = boot.Printable(out), boot.Printable(errOut)
	cmd, args, err := choose(args)
	if err != nil {
		fmt.Fprintf(errOut, "%v\nusage: registry [command] [--help]; `registry help` lists the commands\n", err)
		return 2
	}
	if cmd == nil {
		usage(out)
		return 0
	}
	given, code, done := parseFlags(cmd, args, out, errOut)
	if done {
		return code
	}
	lookup := lookupIn(environment)
	config, err := boot.Load(lookup, boot.Local)
	if err = errors.Join(append([]error{err}, unread(environment)...)...); err != nil && cmd.reads != nil {
		fmt.Fprintln(errOut, "settings:\n  "+indented(err))
		return 2
	}
	p := &process{
		config: config,
		log:    slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: config.LogLevel})),
		meter:  handlers.Unmetered{},
		in:     os.Stdin,
		out:    out,
		given:  given,
		lookup: lookup,
	}
	if err := cmd.run(ctx, p); err != nil {
		fmt.Fprintf(errOut, "%s: %s\n", cmd.name, indented(err))
		return 1
	}
	if ctx.Err() != nil && !p.unattended() {
		p.say("stopped")
	}
	return 0
}

// indented returns the text of an error, of which no line but the first begins
// where the program's own lines do.
func indented(err error) string { return strings.ReplaceAll(err.Error(), "\n", "\n  ") }

// lookupIn finds variables in an environment.
func lookupIn(environment []string) boot.Lookup {
	values := make(map[string]string, len(environment))
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = value
	}
	return func(name string) (string, bool) {
		value, found := values[name]
		return value, found
	}
}

// unread returns an error for each variable that is named like a setting but
// that no command reads.
func unread(environment []string) []error {
	var others []string
	for _, c := range commands() {
		if c.takes == nil {
			continue
		}
		for _, v := range c.takes.variables {
			others = append(others, v.name)
		}
	}
	return boot.Unread(environment, boot.Local, others...)
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
	case "-version", "--version":
		args[0] = "version"
	}
	for i := range all {
		if all[i].name == args[0] {
			return &all[i], args[1:], nil
		}
	}
	if strings.HasPrefix(args[0], "-") {
		return &all[0], args, nil
	}
	if nearest := nearestCommand(args[0]); nearest != "" {
		return nil, nil, fmt.Errorf("no such command: %q; did you mean %s?", args[0], nearest)
	}
	return nil, nil, fmt.Errorf("no such command: %q", args[0])
}

// nearestCommand returns the command that somebody who mistyped it may have
// meant; "" when none is near.
func nearestCommand(typed string) string {
	nearest, distance := "", len(typed)
	for _, c := range commands() {
		if d := boot.Edits(strings.ToLower(typed), c.name); d < distance && d <= 2 {
			nearest, distance = c.name, d
		}
	}
	return nearest
}
