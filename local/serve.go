package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/local/apigateway"
)

// serve is the sub-command serve: everything in one process.
func serve(ctx context.Context, p *process) error {
	listener, err := net.Listen("tcp", p.config.Listen)
	if err != nil {
		return fmt.Errorf("REGISTRY_LISTEN: %w", err)
	}
	// The server closes it too; what counts is that nothing keeps it open.
	defer listener.Close()
	if p.unattended() {
		p.logAsFunction()
	}
	tables, err := openTables(ctx, p)
	if err != nil {
		return err
	}
	parts := tables.parts
	if parts.Guard, err = guard(ctx, p); err != nil {
		return err
	}
	parts.Limiter = limiter(p.config)
	if p.unattended() {
		p.log.Info("serving", "address", listener.Addr().String(), "leaseTable", p.config.LeaseTable, "deltaTable", p.config.DeltaTable)
	} else {
		p.sayServing(listener.Addr().String(), tables.banner)
	}
	return serveAll(ctx, p, listener, forThisMachine(p, apiHandler(p, parts)), tables.work)
}

// tables is what a registry serves from.
type tables struct {
	parts *boot.Parts
	// work is done beside; nil: none, as others do it.
	work *background
	// banner tells the person at the terminal where the tables are.
	banner func()
}

// openTables makes tables in memory, or reaches those at the endpoint.
func openTables(ctx context.Context, p *process) (t tables, err error) {
	if p.config.DynamoDBEndpoint == "" {
		t.banner = p.sayMemory
		t.parts, t.work, err = memoryTables(p)
		return t, err
	}
	b, err := connect(ctx, p)
	if err != nil {
		return t, err
	}
	t.parts, t.banner = b.parts(p), func() { p.sayEndpoint(b) }
	if p.config.Background {
		t.work, err = newBackground(p, b, t.parts)
	}
	return t, err
}

// serveAll serves until the context ends. Changes that the last requests made
// are still brought to the readers' table.
func serveAll(ctx context.Context, p *process, listener net.Listener, handler http.Handler, work *background) error {
	outlast, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { work.run(outlast) })
	err := serveHTTP(p.outlasting(ctx), listener, handler, p.log)
	stop()
	group.Wait()
	return err
}

// forThisMachine serves a registry that is open without anybody's asking, as it
// is at a loopback address, under this machine's names alone.
func forThisMachine(p *process, handler http.Handler) http.Handler {
	if !p.config.AnonymousByDefault {
		return handler
	}
	hostname, err := os.Hostname()
	if err != nil {
		p.log.Warn("the machine's name is not known", "error", err)
	}
	return ownNames(hostname, p.log, handler)
}

// apiHandler is the core's handler, or a gateway before the Lambda handlers.
func apiHandler(p *process, parts *boot.Parts) http.Handler {
	switch {
	case !p.config.LocalEvents && p.config.DynamoDBEndpoint == "":
		return parts.API() // nothing there waits for others
	case !p.config.LocalEvents:
		return limitTime(parts.API())
	}
	read, write := parts.Read(), parts.Write()
	return apigateway.New(func(method string) apigateway.Function {
		if readOnly(method) {
			return read
		}
		return write
	}, p.log, time.Now)
}
