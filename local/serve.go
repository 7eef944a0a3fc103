package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/gateway"
	"github.com/eurekaless/registry/local/apigateway"
)

// serve is the sub-command serve: everything in one process.
func serve(ctx context.Context, p *process) (err error) {
	listener, err := net.Listen("tcp", p.config.Listen)
	if err != nil {
		return fmt.Errorf("REGISTRY_LISTEN: %w", err)
	}
	// The server closes it too; what counts is that nothing keeps it open.
	defer listener.Close()
	if p.config.DynamoDBEndpoint != "" {
		return serveOn(ctx, p, listener, p.config.DynamoDBEndpoint)
	}
	e, err := startEngine(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeEngine(ctx, e)) }()
	return serveOn(ctx, p, listener, "http://"+e.Address()+", embedded, in memory: the data ends with the process")
}

// serveOn serves with the engine that the configuration now names; where tells
// about it.
func serveOn(ctx context.Context, p *process, listener net.Listener, where string) error {
	b, err := connect(ctx, p)
	if err != nil {
		return err
	}
	parts := b.parts(p)
	if parts.Guard, err = guard(ctx, p); err != nil {
		return err
	}
	parts.Limiter = limiter(p.config)
	work, err := newBackground(p, b, parts)
	if err != nil {
		return err
	}
	p.sayServing(listener.Addr().String(), where, b)
	return serveAll(ctx, p, listener, forThisMachine(p, apiHandler(p, parts)), work)
}

// serveAll serves until the context ends. Changes that the last requests made
// are still brought to the readers' table.
func serveAll(ctx context.Context, p *process, listener net.Listener, handler http.Handler, work *background) error {
	outlast, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { work.run(outlast) })
	err := serveHTTP(ctx, listener, handler, p.log)
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
	if !p.config.LocalEvents {
		return limitTime(parts.API())
	}
	parts.Fits = gateway.Fits
	read, write := parts.Read(), parts.Write()
	return apigateway.New(func(method string) apigateway.Function {
		if readOnly(method) {
			return read
		}
		return write
	}, p.log, time.Now)
}
