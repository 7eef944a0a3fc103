package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// binary is where buildOnce puts the process that the tests drive.
var binary string

// TestMain demands that no test leaves a goroutine behind. The embedded
// engine's library starts one when it is loaded.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "registry")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "registry")
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// buildOnce builds the process as the tests were built: with the race detector
// where they have it.
var buildOnce = sync.OnceValue(func() error {
	args := []string{"build", "-o", binary}
	if raceDetector {
		args = append(args, "-race")
	}
	output, err := exec.Command("go", append(args, ".")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build: %w\n%s", err, output)
	}
	return nil
})

// registry is a process of the built binary.
type registry struct {
	cmd     *exec.Cmd
	address string
	output  lines
	// ended is closed when the process has ended, with err.
	ended chan struct{}
	err   error
}

// lines collects what a process writes, and passes it on to the test's log.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
	log io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(p)
	return l.log.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// launch starts the binary with arguments and settings ("NAME=value").
func launch(t *testing.T, args []string, settings ...string) *registry {
	t.Helper()
	require.NoError(t, buildOnce())
	r := &registry{cmd: exec.Command(binary, args...), ended: make(chan struct{}), output: lines{log: t.Output()}}
	r.cmd.Env = append(cleanEnvironment(), settings...)
	r.cmd.Stdout, r.cmd.Stderr = &r.output, &r.output
	require.NoError(t, r.cmd.Start())
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	t.Cleanup(r.kill)
	return r
}

// cleanEnvironment is this process's without the settings of whoever runs it.
func cleanEnvironment() []string {
	var out []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "REGISTRY_") && !strings.HasPrefix(variable, "AWS_") {
			out = append(out, variable)
		}
	}
	return out
}

// startRegistry starts a registry on a free port and waits until it answers. It must
// end well at the end of the test.
func startRegistry(t *testing.T, settings ...string) *registry {
	t.Helper()
	r := startUntilKilled(t, settings...)
	t.Cleanup(func() {
		r.signal(t, os.Interrupt)
		require.NoError(t, r.wait(t), "the end after an interrupt")
	})
	return r
}

// startUntilKilled starts a registry that the test itself ends.
func startUntilKilled(t *testing.T, settings ...string) *registry {
	t.Helper()
	address := freeAddress(t)
	r := launch(t, nil, append(settings, "REGISTRY_LISTEN="+address)...)
	r.address = address
	r.await(t, func() bool {
		resp, err := http.Get(r.url("/health"))
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
	return r
}

// startEmulator starts the emulator as a process of its own and returns its
// endpoint.
func startEmulator(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	e := launch(t, []string{"engine"}, "REGISTRY_ENGINE_LISTEN="+address)
	e.await(t, func() bool { return strings.Contains(e.output.String(), "AWS_ENDPOINT_URL_DYNAMODB=http://"+address) })
	return "http://" + address
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func (r *registry) url(path string) string { return "http://" + r.address + path }

// await waits until something is so, and fails when the process ends first.
func (r *registry) await(t *testing.T, so func() bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for !so() {
		select {
		case <-r.ended:
			require.Fail(t, "the process ended", "%v\n%s", r.err, r.output.String())
		case <-limit:
			require.Fail(t, "waited in vain", r.output.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (r *registry) signal(t *testing.T, s os.Signal) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Signal(s))
}

// wait waits for the end and returns the process's error.
func (r *registry) wait(t *testing.T) error {
	t.Helper()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(30 * time.Second):
		require.Fail(t, "the process does not end", r.output.String())
		return nil
	}
}

// kill is kill -9.
func (r *registry) kill() {
	_ = r.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-r.ended
}

// exitCode returns the code that a process ended with.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// ask sends a request with a JSON body ("" for none) and returns status and
// body.
func ask(ctx context.Context, method, url, body string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// instance is a registration with a lease of its own length.
func instance(app, id string, leaseSeconds int) string {
	return fmt.Sprintf(`{"instance": {"instanceId": %q, "hostName": "%s.example.org", "app": %q, "ipAddr": "192.0.2.10",
		"status": "UP", "port": {"$": 8080, "@enabled": "true"}, "vipAddress": "shop",
		"dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
		"leaseInfo": {"renewalIntervalInSecs": 1, "durationInSecs": %d},
		"lastDirtyTimestamp": "1700000000000"}}`, id, id, app, leaseSeconds)
}

// register registers an instance and requires it to be taken.
func (r *registry) register(t *testing.T, app, id string, leaseSeconds int) {
	t.Helper()
	status, body, err := ask(t.Context(), http.MethodPost, r.url("/eureka/apps/"+app), instance(app, id, leaseSeconds))
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, status, string(body))
}
