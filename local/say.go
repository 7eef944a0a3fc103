package main

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/eurekaless/registry/functions/boot"
)

// say writes a line for the person at the terminal.
func (p *process) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// sayServing tells what runs where, and how; sayTables tells of the tables.
func (p *process) sayServing(address string, sayTables func()) {
	base := "http://" + reachable(address)
	p.say("registry  %s/eureka, also at /eureka/v2; dashboard at %s/", base, base)
	if reachable(address) != address {
		p.say("listens   on every address of this machine")
	}
	p.sayAccess()
	sayTables()
	p.sayBackground()
	if p.config.LocalEvents {
		p.say("requests  as API Gateway events through the Lambda handlers")
	}
	p.saySettings()
	p.say("Ctrl-C stops it")
}

func (p *process) sayMemory() { p.say("tables    in memory: the data ends with the process") }

func (p *process) sayEndpoint(b *backend) {
	p.say("engine    %s", p.config.DynamoDBEndpoint)
	p.sayTables(b)
}

// reachable returns an address at which a listener is reached from this machine:
// one that listens on every address has none of its own to connect to.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return address
	}
	return net.JoinHostPort("127.0.0.1", port)
}

func (p *process) sayAccess() {
	switch {
	case !p.config.Anonymous:
		p.say("access    with credentials of %s", p.config.CredentialsFile)
	case boot.Loopback(p.config.Listen):
		p.say("access    everybody on this machine, without credentials")
	default:
		p.say("access    everybody who reaches it, without credentials")
	}
}

func (p *process) sayTables(b *backend) {
	var tables []string
	for _, name := range []string{p.config.LeaseTable, p.config.DeltaTable} {
		if slices.Contains(b.created, name) {
			name += " (created)"
		}
		tables = append(tables, name)
	}
	p.say("tables    %s", strings.Join(tables, ", "))
}

func (p *process) sayBackground() {
	switch {
	case !p.config.Background:
		p.say("evictions and deltas by others: REGISTRY_BACKGROUND is false")
	case p.config.EvictionInterval == 0:
		p.say("evictions never")
	default:
		p.say("evictions every %s", p.config.EvictionInterval)
		if e := p.config.Eviction; e.SelfPreservation {
			p.say("          from %d instances on, silent ones stay up to %s when many are silent at once (self-preservation)", e.MinLeases, e.MaxSilence)
		}
	}
}

// saySettings tells which settings are not the defaults.
func (p *process) saySettings() {
	for _, changed := range p.config.Changed() {
		p.say("setting   %s=%s", changed.Name, changed.Value)
	}
}
