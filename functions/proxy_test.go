package functions_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy is the network between a container and the engine.
type proxy struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	links []*link
}

// link is one connection through the proxy.
type link struct {
	client, engine *net.TCPConn
	silent         atomic.Bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, to: to}
	go p.serve()
	t.Cleanup(func() {
		_ = listener.Close()
		p.reset()
	})
	return p
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		engine, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client: client.(*net.TCPConn), engine: engine.(*net.TCPConn)}
		p.mu.Lock()
		p.links = append(p.links, l)
		p.mu.Unlock()
		go l.pass(l.engine, l.client)
		go l.pass(l.client, l.engine)
	}
}

// pass passes on what comes, until either side ends; a silent link swallows it.
func (l *link) pass(to, from *net.TCPConn) {
	defer to.Close()
	data := make([]byte, 32<<10)
	for {
		n, err := from.Read(data)
		if err != nil {
			return
		}
		if l.silent.Load() {
			continue
		}
		if _, err := to.Write(data[:n]); err != nil {
			return
		}
	}
}

// reset ends all connections as a network does that has forgotten them.
func (p *proxy) reset() {
	p.each(func(l *link) {
		_ = l.client.SetLinger(0)
		_ = l.client.Close()
	})
}

// silence lets all connections be, and nothing through them any more.
func (p *proxy) silence() { p.each(func(l *link) { l.silent.Store(true) }) }

// accepted counts the connections so far.
func (p *proxy) accepted() int {
	n := 0
	p.each(func(*link) { n++ })
	return n
}

func (p *proxy) each(do func(*link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		do(l)
	}
}
