package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipes is a listener in memory, which works in a bubble of fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8761} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// serving serves a handler on pipes; stop ends it and returns its last word.
func serving(t *testing.T, handler http.HandlerFunc) (p *pipes, stop func() error) {
	t.Helper()
	p = newPipes()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveHTTP(ctx, p, handler, slog.New(slog.DiscardHandler)) }()
	return p, func() error {
		cancel()
		return <-ended
	}
}

func TestASilentConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := serving(t, func(http.ResponseWriter, *http.Request) { t.Error("called") })
		conn, start := p.dial(), time.Now()

		_, err := io.ReadAll(conn)

		assert.NoError(t, err)
		assert.Equal(t, headerTimeout, time.Since(start))
		assert.NoError(t, stop())
	})
}

func TestABodyThatTricklesIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed error
		p, stop := serving(t, func(_ http.ResponseWriter, r *http.Request) { _, failed = io.ReadAll(r.Body) })
		conn, start := p.dial(), time.Now()
		go io.Copy(io.Discard, conn)
		_, err := io.WriteString(conn, "POST /eureka/apps/SHOP HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
		require.NoError(t, err)
		for err == nil {
			<-time.After(time.Second)
			_, err = io.WriteString(conn, "x")
		}

		assert.Error(t, failed)
		assert.LessOrEqual(t, time.Since(start), bodyTimeout+2*time.Second)
		assert.NoError(t, stop())
	})
}

func TestHeadersThatAreTooLargeAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := serving(t, func(http.ResponseWriter, *http.Request) { t.Error("called") })
		conn := p.dial()
		go io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 2*maxHeaderBytes)+"\r\n\r\n")

		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)

		require.NoError(t, err)
		assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode)
		conn.Close()
		assert.NoError(t, stop())
	})
}

func TestARequestUnderWayIsFinishedAtAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(shutdownTime / 2)
			w.WriteHeader(http.StatusNoContent)
		})
		conn := p.dial()
		_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- stop() }()

		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)

		require.NoError(t, err)
		assert.Equal(t, http.StatusNoContent, resp.StatusCode)
		conn.Close()
		assert.NoError(t, <-ended)
	})
}

func TestARequestThatNeverEndsIsCutOffAtAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := serving(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		conn := p.dial()
		_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		synctest.Wait()
		start := time.Now()

		err = stop()

		assert.ErrorContains(t, err, "cut off")
		assert.Equal(t, shutdownTime, time.Since(start))
		conn.Close()
	})
}

func TestAListenerThatFailsIsAnError(t *testing.T) {
	p := newPipes()
	p.Close()
	err := serveHTTP(t.Context(), p, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	assert.ErrorIs(t, err, net.ErrClosed)
}

func TestConnectionsOverTheLimitWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		limited := limitConnections(p, 1)
		go p.dial()
		go p.dial()
		first, err := limited.Accept()
		require.NoError(t, err)
		accepted := make(chan net.Conn)
		go func() {
			second, err := limited.Accept()
			assert.NoError(t, err)
			accepted <- second
		}()
		synctest.Wait()
		select {
		case <-accepted:
			t.Error("accepted over the limit")
		default:
		}

		assert.NoError(t, first.Close())
		assert.NoError(t, first.Close(), "a second close frees no second slot")

		second := <-accepted
		assert.NoError(t, second.Close())
		assert.NoError(t, limited.Close())
	})
}

func TestALimitedListenerThatIsFullCanBeClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		limited := limitConnections(p, 1)
		go p.dial()
		_, err := limited.Accept()
		require.NoError(t, err)
		ended := make(chan error)
		go func() {
			_, err := limited.Accept()
			ended <- err
		}()
		synctest.Wait()

		assert.NoError(t, limited.Close())

		assert.ErrorIs(t, <-ended, net.ErrClosed)
	})
}
