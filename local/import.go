package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/eurekaless/registry/local/migration"
)

const importHelp = `
Reads the Eureka server at FROM, in full and then by deltas, and mirrors it into
the registry at TO as a peer would, which takes the admin role there. Both are
base URLs, such as http://127.0.0.1:8761/eureka. A user and password in a URL
count too, but lists of processes show them; the environment is better.

Without --every it makes one pass and ends; with it, it goes on until it is
stopped, renews what it mirrored, and cancels what is gone from FROM. An
instance that registered with TO itself is never changed. A pass that was
interrupted can be repeated: what is equal already is only renewed.`

var importArguments = &arguments{
	operands:  []string{"FROM", "TO"},
	variables: peerVariables,
	flags: func(f *flag.FlagSet, g *given) {
		f.DurationVar(&g.every, "every", 0, "time between two passes, such as 30s; 0s: one pass")
		f.BoolVar(&g.dryRun, "dry-run", false, "only say what would be done")
	},
}

// runImport is the sub-command import.
func runImport(ctx context.Context, p *process) error {
	from, to, err := peers(p)
	if err != nil {
		return err
	}
	progress := func(done, all int) { p.say("  %d of %d", done, all) }
	importer := migration.NewImporter(from, to, p.given.dryRun, time.Now, progress)
	if p.given.every <= 0 {
		return p.pass(ctx, importer)
	}
	ticker := time.NewTicker(p.given.every)
	defer ticker.Stop()
	for {
		if err := p.pass(ctx, importer); err != nil && ctx.Err() == nil {
			p.say("this pass failed, the next one tries again: %v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// pass makes a pass and tells of it.
func (p *process) pass(ctx context.Context, importer *migration.Importer) error {
	began := time.Now()
	report, err := importer.Pass(ctx)
	for _, d := range report.Differences {
		p.say("  %s", d)
	}
	for _, failure := range report.Failures {
		p.say("  %s", failure)
	}
	if report.Read == 0 && err != nil {
		return err
	}
	word := ""
	switch {
	case err != nil:
		word = "broken off, this far: "
	case p.given.dryRun:
		word = "nothing was changed, this would be: "
	}
	p.say("%s %s%s, in %s", began.UTC().Format(time.RFC3339), word, report, time.Since(began).Round(time.Millisecond))
	if err == nil && len(report.Failures) > 0 {
		err = fmt.Errorf("%d instances failed", len(report.Failures))
	}
	return err
}

// peerVariables hold the credentials of FROM and TO.
var peerVariables = []variable{
	{"REGISTRY_FROM_CREDENTIALS", "user:password at FROM, as they are, where its URL has none"},
	{"REGISTRY_TO_CREDENTIALS", "user:password at TO"},
}

// peers returns the two registries that the command line names.
func peers(p *process) (a, b *migration.Peer, err error) {
	both := make([]*migration.Peer, 2)
	for n, base := range p.given.operands {
		variable := peerVariables[n].name
		credentials, _ := p.lookup(variable)
		if base, err = withCredentials(base, credentials); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", variable, err)
		}
		if both[n], err = migration.NewPeer(base); err != nil {
			return nil, nil, fmt.Errorf("argument %d: %w", n+1, err)
		}
	}
	return both[0], both[1], nil
}

// withCredentials puts "user:password" into a URL that has none; "" is none.
func withCredentials(base, credentials string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.User != nil || credentials == "" {
		return base, nil // what is no URL is told by whoever uses it
	}
	user, password, ok := strings.Cut(credentials, ":")
	if !ok || user == "" {
		return "", errors.New("not user:password")
	}
	u.User = url.UserPassword(user, password)
	return u.String(), nil
}
