package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// serveBare serves GET /{n}, n random bytes, with net/http and nothing else, at
// an address that it prints first, until its input ends: what an answer of that
// length costs on this machine whoever makes it.
func serveBare(in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, listener.Addr())
	server := &http.Server{Handler: bareHandler(), ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func bareHandler() http.Handler {
	body := make([]byte, 8<<20)
	rand.Read(body)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || n < 0 || n > len(body) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(n))
		w.Write(body[:n])
	})
}

// startBare runs serveBare in a process of its own, so that its processor time
// can be told from the load's.
func startBare(ctx context.Context, o options) (s *server, stop func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	command := exec.CommandContext(ctx, program, "-serve-bare")
	in, err := command.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	printed, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() error { return errors.Join(in.Close(), command.Wait()) }
	address, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("the bare server's address: %w", err), stop())
	}
	return newServer("http://"+strings.TrimSpace(address), command.Process.Pid, o.workers), stop, nil
}

// measureBare measures answers of a length from the bare server.
func measureBare(ctx context.Context, o options, s *server, length int) (result, error) {
	path := "/" + strconv.Itoa(length)
	return measure(ctx, o, phase{name: "  net/http", request: func(int) request {
		return request{method: http.MethodGet, path: path, want: http.StatusOK}
	}}, s)
}
