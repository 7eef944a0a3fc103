package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/local/eventsource"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/memory"
)

// engine is where the tables are.
type engine struct {
	// tables returns them; what is read of them is reported to usage, if the
	// engine counts it.
	tables func(cfg boot.Config, usage func(context.Context, dynamodb.Usage)) (storage.Tables, error)
	// follow brings changes to the readers until the context ends.
	follow func(ctx context.Context, parts *boot.Parts) error
	// pid is its process, which may be this one.
	pid  int
	stop func() error
}

// config returns the settings of all functions.
func (o options) config() (boot.Config, error) {
	return boot.Load(func(name string) (string, bool) {
		return o.refresh.String(), name == "REGISTRY_CACHE_REFRESH"
	}, boot.Local)
}

// parts returns what one function is put together from.
func (o options) parts(e *engine, usage func(context.Context, dynamodb.Usage)) (*boot.Parts, error) {
	cfg, err := o.config()
	if err != nil {
		return nil, err
	}
	tables, err := e.tables(cfg, usage)
	return &boot.Parts{
		Config: cfg, Tables: tables, Meter: handlers.Unmetered{}, Now: time.Now, Environment: "big",
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}, err
}

// fleetEngine starts the engine that -engine names.
func (o options) fleetEngine(ctx context.Context) (*engine, error) {
	switch o.engine {
	case "kumo":
		return startKumo(ctx, o)
	case "dynoxide":
		return startDynoxide(ctx, o)
	case "memory":
		return inMemory(), nil
	}
	return nil, fmt.Errorf("no engine %q", o.engine)
}

// turnEngine starts one that counts capacity, unless the tables are to be in
// memory.
func (o options) turnEngine(ctx context.Context) (*engine, error) {
	if o.engine == "memory" {
		return inMemory(), nil
	}
	return startDynoxide(ctx, o)
}

// inMemory is the tables in this process.
func inMemory() *engine {
	store := memory.New(memory.Config{})
	return &engine{
		pid: os.Getpid(),
		tables: func(boot.Config, func(context.Context, dynamodb.Usage)) (storage.Tables, error) {
			return storage.Tables{LeaseTable: store, DeltaTable: store}, nil
		},
		follow: func(ctx context.Context, parts *boot.Parts) error { return followMemory(ctx, store, parts.Tables) },
		stop:   func() error { return nil },
	}
}

// followMemory does what stream and stream function do, ten times a second.
func followMemory(ctx context.Context, store *memory.Store, to delta.Sink) error {
	for seen := 0; sleep(ctx, 100*time.Millisecond); {
		records := store.Records(seen)
		seen += len(records)
		var rows []delta.Row
		for _, r := range records {
			if row, ok := delta.Project(r.Image); ok && r.Passes() {
				row.Written = time.Now()
				rows = append(rows, row)
			}
		}
		if err := to.Put(context.WithoutCancel(ctx), rows); err != nil {
			return err
		}
	}
	return nil
}

// startKumo starts the local process's embedded engine as a process. It stands
// for a database that is not on this machine: with memory in plenty it collects
// garbage only near the bound.
func startKumo(ctx context.Context, o options) (*engine, error) {
	cmd := exec.CommandContext(ctx, o.registry, "engine")
	cmd.Env = append(os.Environ(), "GOGC=off", fmt.Sprintf("GOMEMLIMIT=%d", o.memory*3/4))
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		// engine    http://127.0.0.1:PORT, in memory: ...
		if url, ok := strings.CutPrefix(lines.Text(), "engine"); ok {
			url, _, _ = strings.Cut(strings.TrimSpace(url), ",")
			go func() { _, _ = io.Copy(io.Discard, said) }()
			return onEndpoint(url, cmd), nil
		}
	}
	return nil, errors.Join(fmt.Errorf("%s engine says no address", o.registry), cmd.Wait())
}

// startDynoxide starts a dynoxide with its tables in memory.
func startDynoxide(ctx context.Context, o options) (*engine, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	host, port, _ := strings.Cut(address, ":")
	cmd := exec.CommandContext(ctx, o.dynoxide, "serve", "--host", host, "--port", port)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for range 1000 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return onEndpoint("http://"+address, cmd), conn.Close()
		}
		if !sleep(ctx, 20*time.Millisecond) {
			break
		}
	}
	return nil, errors.Join(fmt.Errorf("%s does not listen", o.dynoxide), cmd.Process.Kill(), cmd.Wait())
}

// local is what engines on this machine want to be told, and do not look at.
var local = aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}

// onEndpoint is an engine that runs as a process.
func onEndpoint(url string, cmd *exec.Cmd) *engine {
	where := dynamodb.ClientConfig{Endpoint: url}
	return &engine{
		pid: cmd.Process.Pid,
		tables: func(cfg boot.Config, usage func(context.Context, dynamodb.Usage)) (storage.Tables, error) {
			client := dynamodb.ClientFrom(local, where, dynamodb.ObserveUsage(usage))
			_, err := dynamodb.CreateTables(context.Background(), client, cfg.LeaseTable, cfg.DeltaTable)
			return boot.Tables(client, cfg, slog.Default(), handlers.Unmetered{}), err
		},
		follow: func(ctx context.Context, parts *boot.Parts) error { return followStream(ctx, where, parts) },
		stop: func() error {
			return errors.Join(cmd.Process.Kill(), ignoreExit(cmd.Wait()))
		},
	}
}

// ignoreExit drops the error that says that a process was killed.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// followStream polls the lease table's stream, with the template's filters and
// the stream function's handler.
func followStream(ctx context.Context, where dynamodb.ClientConfig, parts *boot.Parts) error {
	p, err := eventsource.New(eventsource.Config{
		Table:   parts.Config.LeaseTable,
		Tables:  dynamodb.ClientFrom(local, where),
		Streams: dynamodbstreams.NewFromConfig(local, func(s *dynamodbstreams.Options) { s.BaseEndpoint = &where.Endpoint }),
		Handler: parts.Stream().Handle,
		Filters: []string{dynamodb.FilterChange, dynamodb.FilterRemoval},
		Now:     time.Now, Log: parts.Log,
	})
	if err != nil {
		return err
	}
	p.Run(ctx)
	return nil
}
