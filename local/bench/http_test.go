package main

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkHTTP measures reads over a socket from the core's handler, as the
// local process and a container serve it. What the client takes is in it.
func BenchmarkHTTP(b *testing.B) {
	s := newStage(b, 1000)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	web := &http.Server{Handler: s.parts.API()}
	go func() { _ = web.Serve(listener) }() // it ends by Close
	defer web.Close()
	target := newServer("http://"+listener.Addr().String()+"/eureka", 0, 1)
	for name, r := range map[string]request{
		"full read": {http.MethodGet, "/apps", nil, http.StatusOK},
		"one app":   s.fleet.application(0),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := target.ask(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
