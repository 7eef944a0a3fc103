package main

import (
	"context"
	"fmt"

	"github.com/eurekaless/registry/local/migration"
)

const compareHelp = `
Prints the differences of the registries at two base URLs, an instance and field
a line, and fails when there are any. FROM is "here", TO is "there"; FROM may
also be a file that "export" printed. What each
registry says itself is left out: when a lease was renewed, registered or
changed there. A user and password in a URL count too, but lists of processes
show them; the environment is better.`

var compareArguments = &arguments{operands: []string{"FROM", "TO"}, variables: peerVariables}

// runCompare is the sub-command compare.
func runCompare(ctx context.Context, p *process) error {
	a, err := p.source(0)
	if err != nil {
		return err
	}
	b, err := p.peer(1)
	if err != nil {
		return err
	}
	here, err := migration.List(ctx, a)
	if err != nil {
		return fmt.Errorf("FROM: %w", err)
	}
	there, err := migration.List(ctx, b)
	if err != nil {
		return fmt.Errorf("TO: %w", err)
	}
	differences := migration.Compare(here, there)
	for _, d := range differences {
		p.say("%s", d)
	}
	p.say("%d instances here, %d there, %d differences", len(here), len(there), len(differences))
	if len(differences) > 0 {
		return fmt.Errorf("the registries differ")
	}
	return nil
}
