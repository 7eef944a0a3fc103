// Package e2e lets Eureka clients of other makers loose on the registry. Each has a folder with a suite in its own
// language, which takes the registry's base URL from EUREKA_URL; here each suite gets a registry process of its own.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
)

// suites are the commands that install a client and run its suite, in its folder, and what the registry is told for it
// beside the usual; the longest is first.
var suites = []struct {
	folder   string
	commands []string
	settings []string
}{
	{"spring", []string{"java -version", "mvn -q -B test"}, nil},
	// A pass over 10,000 instances each second would be most of the work.
	{"browser", []string{"chromium --version", "npm ci --silent", "node --test"}, []string{"REGISTRY_EVICTION_INTERVAL=5s"}},
	{"fargo", []string{"go test -count=1 ./..."}, nil},
	{"js", []string{"npm ci --silent", "node --test"}, nil},
	{"python", []string{
		"python3 -m venv .venv",
		".venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt",
		".venv/bin/python -m unittest -v",
	}, nil},
}

// binary is where buildOnce puts the local registry.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "registry-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "registry")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// TestClients runs every suite; one after the other on a server that they share, since a suite counts its full fetches.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("clients of other makers take minutes")
	}
	require.NoError(t, openSources())
	for _, suite := range suites {
		t.Run(suite.folder, func(t *testing.T) {
			requireTools(t, suite.commands)
			url := os.Getenv("EUREKA_URL")
			if url == "" {
				t.Parallel()
				url = startRegistry(t, suite.settings...)
			}
			for _, command := range suite.commands {
				run(t, suite.folder, url, command)
			}
		})
	}
}

// openSources opens every folder of the module, for go test to know what this test depends on: it takes a cached result
// only while the folders that the test opened are unchanged, and it does not see what subprocesses read.
func openSources() error {
	made := []string{".git", ".venv", "__pycache__", "node_modules", "target"}
	return filepath.WalkDir("../..", func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains(made, entry.Name()) {
			return filepath.SkipDir
		}
		return err
	})
}

// requireTools wants the program of each command.
func requireTools(t *testing.T, commands []string) {
	t.Helper()
	for _, command := range commands {
		tool := strings.Fields(command)[0]
		if !strings.Contains(tool, "/") { // else an earlier command installs it
			fulltest.Tool(t, tool)
		}
	}
}

// run ends the command in time to say which one it was when the test's own deadline is near.
func run(t *testing.T, folder, url, command string) {
	t.Helper()
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-30*time.Second))
		defer cancel()
	}
	args := strings.Fields(command)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "EUREKA_URL="+url, "GOWORK=off")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	require.NoError(t, cmd.Run(), "%s: %s", folder, command)
}

var buildOnce = sync.OnceValue(func() error {
	output, err := exec.Command("go", "build", "-o", binary, "..").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the local registry: %w\n%s", err, output)
	}
	return nil
})

// startRegistry gives the base URL of a new registry process, which must end with success when it is interrupted.
func startRegistry(t *testing.T, settings ...string) string {
	t.Helper()
	require.NoError(t, buildOnce())
	address := freeAddress(t)
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(),
		"REGISTRY_LISTEN="+address, "REGISTRY_CACHE_REFRESH=1s", "REGISTRY_EVICTION_INTERVAL=1s")
	cmd.Env = append(cmd.Env, settings...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { interrupt(t, cmd, ended) })

	url := "http://" + address + "/eureka"
	require.NoError(t, awaitAnswer(url+"/health", ended, 30*time.Second)) // it is answered without credentials
	return url
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// awaitAnswer returns when the URL is answered 200, and an error when the process ends first or takes too long.
func awaitAnswer(url string, ended chan error, patience time.Duration) error {
	late := time.After(patience)
	for {
		if answers(url) {
			return nil
		}
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("the registry ended before it answered: %w", err)
		case <-late:
			return errors.New("the registry does not answer")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func answers(url string) bool {
	client := http.Client{Timeout: time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// interrupt ends a process as Ctrl-C does and requires it to end well.
func interrupt(t *testing.T, cmd *exec.Cmd, ended chan error) {
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	select {
	case err := <-ended:
		require.NoError(t, err, "the registry's end after an interrupt")
	case <-time.After(20 * time.Second):
		require.NoError(t, cmd.Process.Kill())
		<-ended
		require.Fail(t, "the registry does not end when it is interrupted")
	}
}
