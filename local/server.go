package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of the HTTP server, against clients that are slow or too many. A
// client's heartbeats come every 30 s, so a connection may be idle for longer.
const (
	headerTimeout = 10 * time.Second
	// bodyTimeout bounds a whole request, so that nobody holds a connection by
	// sending a byte now and then.
	bodyTimeout = 30 * time.Second
	// writeTime and readTime are the template's timeouts of the functions.
	writeTime = 10 * time.Second
	readTime  = 20 * time.Second
	// answerTimeout bounds handling and sending of an answer.
	answerTimeout = 90 * time.Second
	idleTimeout   = 2 * time.Minute
	// maxHeaderBytes is a little over what API Gateway takes.
	maxHeaderBytes = 12 << 10
	// maxConnections are served at once, with some 20 KB each; further ones
	// wait until one is free.
	maxConnections = 16384
	// shutdownTime is how long requests under way may take after a stop.
	shutdownTime = 10 * time.Second
)

// serveHTTP serves a handler until the context ends, then lets requests under
// way finish. It fails when the server does.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan error, 1)
	end := context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		err := server.Shutdown(limit)
		if err != nil {
			err = errors.Join(errors.New("requests were cut off"), err, server.Close())
		}
		stopped <- err
	})
	err := server.Serve(limitConnections(listener, maxConnections))
	if end() {
		return err
	}
	return <-stopped
}

// limitTime gives each request the time that its function has on AWS, so that an
// engine that does not answer costs a client no more than that (TestEngineAway).
func limitTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := writeTime
		if readOnly(r.Method) {
			limit = readTime
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// readOnly reports whether a method is the read function's.
func readOnly(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// limitConnections bounds how many accepted connections are open at once.
func limitConnections(listener net.Listener, n int) net.Listener {
	return &limitedListener{Listener: listener, slots: make(chan struct{}, n), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	slots  chan struct{}
	close  sync.Once
	closed chan struct{}
}

// Accept waits for a free slot, then for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, slots: l.slots}, nil
}

// Close ends a waiting Accept too.
func (l *limitedListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// limitedConn gives its slot back when it is closed.
type limitedConn struct {
	net.Conn
	release sync.Once
	slots   chan struct{}
}

func (c *limitedConn) Close() error {
	c.release.Do(func() { <-c.slots })
	return c.Conn.Close()
}
