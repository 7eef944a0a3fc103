package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/eurekaless/registry/core/discovery"
)

// call calls GREETER by name, again and again, and prints the answers. It is
// not registered itself.
func (e *example) call(ctx context.Context) error {
	client, err := discovery.New(discovery.Config{
		ServiceURLs:   []string{e.registry},
		FetchInterval: 3 * e.pause,
		Picker:        discovery.RoundRobin(),
		Logger:        e.log,
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	calls := &http.Client{Transport: client.RoundTripper(transport), Timeout: 5 * time.Second}

	ticker := time.NewTicker(e.pause)
	defer ticker.Stop()
	for ctx.Err() == nil {
		fmt.Fprintf(e.out, "%q\n", greeting(ctx, calls)) // quoted: another process wrote it
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return stop(client)
}

// maxGreeting is how much of an answer is shown, in bytes.
const maxGreeting = 1 << 10

// greeting returns what a greeter answers, or what is in the way.
func greeting(ctx context.Context, calls *http.Client) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://GREETER/hello", nil)
	if err != nil {
		return err.Error()
	}
	resp, err := calls.Do(req)
	if errors.Is(err, discovery.ErrNoUsableInstance) {
		return "nobody to call yet"
	}
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxGreeting))
	if err != nil {
		return err.Error()
	}
	return string(body)
}
