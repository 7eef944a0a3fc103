package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/eurekaless/registry/functions/boot"
)

const (
	serveHelp = `
Serves Eureka's API under /eureka and /eureka/v2 on REGISTRY_LISTEN, for this
machine alone unless that is told otherwise. The tables are in this process's
memory and end with it, unless AWS_ENDPOINT_URL_DYNAMODB says where they are.
At an address of this machine they are created.`

	healthHelp = `
Asks the registry at REGISTRY_LISTEN on this machine for its health, and exits
with 1 and the reason when it does not answer 200 within four seconds. It is the
health check of a container, whose image has no shell.`

	engineHelp = `
Emulates DynamoDB and DynamoDB Streams on REGISTRY_ENGINE_LISTEN, with the tables
created, until it is stopped. Others find it by AWS_ENDPOINT_URL_DYNAMODB. It is
for tests and the SAM CLI: it keeps every stream record, 9 KB a heartbeat.`

	backgroundHelp = `
Does what the event source mapping and the schedule do on AWS, for functions
that run elsewhere, such as in the SAM CLI: reads the lease table's stream at
AWS_ENDPOINT_URL_DYNAMODB, which must be set, writes the delta table, and evicts.`

	credentialsHelp = `
Reads one line from the standard input, a password of 12 or more characters,
and writes its salted hash, which goes into the "passwords" of a user in the
file that REGISTRY_CREDENTIALS_FILE names, or in the secret on AWS. Passwords
that nobody has to remember are best, without characters that a URL encodes:
head -c 24 /dev/urandom | base64 | tr +/ -_`
)

// usage tells what commands there are.
func usage(out io.Writer) {
	fmt.Fprint(out, "usage: registry [command] [--help]\n\ncommands:\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(table, "  %s\t%s\n", c.name, c.does)
	}
	table.Flush()
	fmt.Fprint(out, "\nEverything is set by environment variables; `registry COMMAND --help` lists them.\n")
}

// help tells about one command and its settings.
func help(out io.Writer, cmd *command) {
	fmt.Fprintf(out, "usage: registry %s%s\n%s\n", cmd.name, commandLine(cmd), cmd.more)
	helpFlags(out, cmd)
	helpEnvironment(out, cmd)
}

// commandLine names what a command takes from the command line.
func commandLine(cmd *command) string {
	if cmd.takes == nil {
		return ""
	}
	names := cmd.takes.operands
	if cmd.takes.flags != nil {
		names = append([]string{"[flags]"}, names...)
	}
	return " " + strings.Join(names, " ")
}

func helpFlags(out io.Writer, cmd *command) {
	if cmd.takes == nil || cmd.takes.flags == nil {
		return
	}
	fmt.Fprint(out, "\nflags:\n")
	flags := declare(cmd, &given{})
	flags.SetOutput(out)
	flags.PrintDefaults()
}

func helpEnvironment(out io.Writer, cmd *command) {
	var rows []string
	for _, s := range boot.Settings() {
		if cmd.reads != nil && s.Users.Has(boot.Local) && cmd.reads(s) {
			rows = append(rows, fmt.Sprintf("  %s\t%s\t%s\n", s.Name, defaultIn(cmd, s), meaningIn(cmd, s)))
		}
	}
	if cmd.takes != nil {
		for _, v := range cmd.takes.variables {
			rows = append(rows, fmt.Sprintf("  %s\t%s\n", v.name, v.meaning))
		}
	}
	if rows == nil {
		return
	}
	fmt.Fprint(out, "\nenvironment:\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, strings.Join(rows, ""))
	table.Flush()
}

func serveReads(s boot.Setting) bool { return s.Name != "REGISTRY_ENGINE_LISTEN" }

// endpointSetting is the one that some commands cannot do without.
const endpointSetting = "AWS_ENDPOINT_URL_DYNAMODB"

// needsEndpoint reports whether a command works only on tables that are there.
func needsEndpoint(cmd *command) bool { return cmd.name == "background" || cmd.name == "export" }

// defaultIn and meaningIn are what the help of a command says of a setting.
func defaultIn(cmd *command, s boot.Setting) string {
	if s.Name == endpointSetting && needsEndpoint(cmd) {
		return "must be set"
	}
	return cmp.Or(s.DefaultFor(boot.Local), "-")
}

func meaningIn(cmd *command, s boot.Setting) string {
	if s.Name == endpointSetting && needsEndpoint(cmd) {
		return "DynamoDB's address, such as http://127.0.0.1:8000 or https://dynamodb.us-east-1.amazonaws.com"
	}
	return s.Meaning
}

func healthReads(s boot.Setting) bool { return s.Name == "REGISTRY_LISTEN" }

func engineReads(s boot.Setting) bool {
	return slices.Contains([]string{
		"REGISTRY_ENGINE_LISTEN", "REGISTRY_LEASE_TABLE", "REGISTRY_DELTA_TABLE", "REGISTRY_LOG_LEVEL",
	}, s.Name)
}

// backgroundReads: what the two functions read that it calls.
func backgroundReads(s boot.Setting) bool {
	return s.Users.Has(boot.Stream) || s.Users.Has(boot.Evict) || s.Name == "AWS_ENDPOINT_URL_DYNAMODB_STREAMS"
}
