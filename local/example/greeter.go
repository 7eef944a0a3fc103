package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/eurekaless/registry/core/discovery"
)

// stopping is how long a service may take to end.
const stopping = 10 * time.Second

// greet serves greetings on a free port, and is registered as GREETER while it
// does.
func (e *example) greet(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	server := http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "hello from port %d", port)
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	client, err := discovery.New(discovery.Config{
		ServiceURLs: []string{e.registry},
		Instance: &discovery.Instance{
			App: "greeter", HostName: "127.0.0.1", IPAddr: "127.0.0.1", Port: port,
		},
		RegisterAtStart: true, // it listens already
		DisableFetch:    true, // it calls nobody
		Logger:          e.log,
	})
	if err == nil {
		err = client.Start(ctx)
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-served:
		}
		err = errors.Join(err, stop(client))
	}
	return errors.Join(err, shutdown(&server))
}

// stop cancels the lease: first no more calls, then no more answers.
func stop(client *discovery.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopping)
	defer cancel()
	return client.Stop(ctx)
}

func shutdown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopping)
	defer cancel()
	return server.Shutdown(ctx)
}
