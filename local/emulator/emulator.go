// Package emulator runs a DynamoDB-protocol engine inside the process, so that
// the registry runs whole on a machine that has nothing but Go.
//
// The engine is github.com/sivchari/kumo. It keeps everything in memory and is
// the convenient engine, not the faithful one: a failed condition returns no
// old item, consumed capacity is not reported, pages have no limit of 1 MB, and
// stream records are kept for ever (about 9 KB each). What must hold on
// DynamoDB is therefore proved on another engine too. Its tables belong to the
// process: two engines in one process share them, and must not be started at
// the same time.
package emulator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/sivchari/kumo"
)

// Emulator is a running engine.
type Emulator struct {
	server *kumo.Server
	front  *http.Server
	// address is where the front listens; empty without one.
	address string
	// served yields the front's last word once it has stopped.
	served chan error
}

// Start starts an engine. It always listens on a free loopback port of its own
// choice; with a listen address ("host:port", port 0 for a free one) it can be
// reached there too, by the DynamoDB and DynamoDB Streams protocols alone.
func Start(listen string, log *slog.Logger) (*Emulator, error) {
	e := &Emulator{server: kumo.NewServer()}
	if listen == "" {
		return e, nil
	}
	if err := e.listen(listen, log); err != nil {
		e.server.Close()
		return nil, err
	}
	return e, nil
}

// URL is the engine's endpoint for clients in this process, without a detour.
func (e *Emulator) URL() string { return e.server.URL }

// Address is the "host:port" at which other processes find the engine: the
// wanted one, or the loopback port that the engine chose.
func (e *Emulator) Address() string {
	if e.address != "" {
		return e.address
	}
	return strings.TrimPrefix(e.server.URL, "http://")
}

// Close stops the engine after the requests under way, or cuts them off when
// the context ends. Its tables are gone with the process.
func (e *Emulator) Close(ctx context.Context) error {
	var err error
	if e.front != nil {
		if err = e.front.Shutdown(ctx); err != nil {
			err = errors.Join(err, e.front.Close())
		}
		if failed := <-e.served; !errors.Is(failed, http.ErrServerClosed) {
			err = errors.Join(err, failed)
		}
	}
	e.server.Close()
	return err
}

// listen puts the engine on an address of the caller's choice: the engine
// itself only takes a loopback port of its own.
func (e *Emulator) listen(address string, log *slog.Logger) error {
	target, err := url.Parse(e.server.URL)
	if err != nil {
		return fmt.Errorf("engine address %q: %w", e.server.URL, err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	e.address = listener.Addr().String()
	e.front = &http.Server{
		Handler:           onlyDynamoDB(proxy(target, log)),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	e.served = make(chan error, 1)
	go func() { e.served <- e.front.Serve(listener) }()
	return nil
}

// idleConnections are kept towards the engine, so that a busy client does not
// open one for each request.
const idleConnections = 64

func proxy(target *url.URL, log *slog.Logger) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{
			MaxIdleConnsPerHost: idleConnections,
			IdleConnTimeout:     time.Minute,
			DisableCompression:  true,
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// onlyDynamoDB passes the two protocols that the registry speaks. The engine
// emulates many other services, which are nothing for an address that others
// may reach.
func onlyDynamoDB(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := r.Header.Get("X-Amz-Target")
		if !strings.HasPrefix(target, "DynamoDB_20120810.") && !strings.HasPrefix(target, "DynamoDBStreams_20120810.") {
			http.Error(w, "DynamoDB and DynamoDB Streams are served here", http.StatusNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}
