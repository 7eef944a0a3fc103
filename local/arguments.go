package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// arguments are what a sub-command takes from the command line.
type arguments struct {
	// operands name what must be given.
	operands []string
	// variables are what is read from the environment beside.
	variables []variable
	// flags declares the flags; nil: none.
	flags func(*flag.FlagSet, *given)
}

// variable is one of the environment that is no setting.
type variable struct{ name, meaning string }

// given is what a command line gave: the operands in their order, and flags.
type given struct {
	operands []string
	every    time.Duration
	dryRun   bool
}

// declare returns the flags of a sub-command, to be read into g.
func declare(cmd *command, g *given) *flag.FlagSet {
	flags := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	if cmd.takes != nil && cmd.takes.flags != nil {
		cmd.takes.flags(flags, g)
	}
	return flags
}

// parseFlags reads a sub-command's flags and operands, in any order. Most have
// no flag but --help: all else is set by the environment. It reports whether
// that was all.
func parseFlags(cmd *command, args []string, out, errOut io.Writer) (g given, code int, done bool) {
	flags := declare(cmd, &g)
	err := flags.Parse(args)
	for err == nil && flags.NArg() > 0 {
		g.operands = append(g.operands, flags.Arg(0))
		err = flags.Parse(flags.Args()[1:])
	}
	if errors.Is(err, flag.ErrHelp) {
		help(out, cmd)
		return g, 0, true
	}
	if err == nil {
		err = checkOperands(cmd, g.operands)
	}
	if err != nil {
		fmt.Fprintf(errOut, "%s: %s\n\n", cmd.name, strings.ReplaceAll(err.Error(), "\n", `\n`))
		help(errOut, cmd)
		return g, 2, true
	}
	return g, 0, false
}

func checkOperands(cmd *command, operands []string) error {
	var want []string
	if cmd.takes != nil {
		want = cmd.takes.operands
	}
	switch {
	case len(operands) < len(want):
		return fmt.Errorf("missing: %s", strings.Join(want[len(operands):], " "))
	case len(operands) == len(want):
		return nil
	case cmd.reads == nil:
		return errors.New("unexpected argument") // it may be a password
	}
	return fmt.Errorf("unexpected argument: %q", operands[len(want)])
}
