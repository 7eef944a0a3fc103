package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/local/migration"
)

const importHelp = `
Reads the Eureka server at FROM, in full and then by deltas, and mirrors it into
the registry at TO as a peer would, which takes the admin role there. Both are
base URLs, such as http://127.0.0.1:8761/eureka. FROM may also be a file that
"export" printed, whose leases are registered again. A user and password in a
URL count too, but lists of processes show them; the environment is better.

Without --every it makes one pass and ends; with it, it goes on until it is
stopped, and renews what it mirrored. What FROM no longer lists is not renewed
and expires at TO. It is cancelled there when FROM's delta says that it was
deleted, no heartbeat of it reached TO meanwhile, and passes are at most two
minutes apart; of many, a part each pass. An instance that registered with TO
itself is never changed. A pass that was interrupted can be repeated: what is
equal already is only renewed.`

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
	from, err := p.source(0)
	if err != nil {
		return err
	}
	to, err := p.peer(1)
	if err != nil {
		return err
	}
	if _, isFile := from.(*migration.File); isFile && p.given.every > 0 {
		return errors.New("--every: a file is imported once")
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
			p.say("this pass failed, the next one tries again: %s", indented(err))
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
	p.say("%s %s%s, in %s", eureka.FormatTime(began), word, report, time.Since(began).Round(time.Millisecond))
	if err == nil && len(report.Failures) > 0 {
		err = fmt.Errorf("%d instances failed", len(report.Failures))
	}
	return err
}

// peerVariables hold the credentials of FROM and TO, and the largest answer.
var peerVariables = []variable{
	{"REGISTRY_FROM_CREDENTIALS", "user:password at FROM, as they are, where its URL has none"},
	{"REGISTRY_TO_CREDENTIALS", "user:password at TO"},
	{maxResponse, "largest answer to read, after decompression; default 16MiB"},
}

// maxResponse is a setting too, but import and compare work whatever is wrong
// with the other settings.
const maxResponse = "REGISTRY_MAX_RESPONSE"

// source returns the registry that the operand n names: a server, or an exported
// file.
func (p *process) source(n int) (migration.Source, error) {
	if p.isFile(n) {
		file, err := os.Open(p.given.operands[n])
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return migration.ReadFile(file)
	}
	return p.peer(n)
}

// isFile reports whether an operand names a file that is there. What could be a
// URL is none: a mistake in it must not show the password that it may have.
func (p *process) isFile(n int) bool {
	name := p.given.operands[n]
	if strings.Contains(name, "://") {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// peer returns the server that the operand n names.
func (p *process) peer(n int) (*migration.Peer, error) {
	variable := peerVariables[n].name
	credentials, _ := p.lookup(variable)
	base, err := withCredentials(p.given.operands[n], credentials)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	if text, _ := p.lookup(maxResponse); text != "" && p.config.MaxResponse == 0 {
		return nil, fmt.Errorf("%s: not a size above zero, such as 65536, 64KiB or 1MiB", maxResponse)
	}
	peer, err := migration.NewPeer(base, int(p.config.MaxResponse))
	if err != nil && n == 0 {
		return nil, fmt.Errorf("argument %d: %w, and no file of this name", n+1, err)
	}
	if err != nil {
		return nil, fmt.Errorf("argument %d: %w", n+1, err)
	}
	return peer, nil
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
