//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/local/replay"
)

// envSAM names the SAM CLI's program; without it TestSAM is skipped.
const envSAM = "REGISTRY_TEST_SAM"

const (
	// passInterval is between eviction passes, and how old a change must be before a pass writes again what the stream
	// poller has not brought: what is seen within deltaPatience came by the poller.
	passInterval  = 20 * time.Second
	deltaPatience = 15 * time.Second
	// evictionPatience: the scheduler's first pass only looks, and the machine may be busy.
	evictionPatience = 2 * time.Minute
	// startPatience: the functions are built first, perhaps with nothing of them in Go's cache.
	startPatience = 12 * time.Minute
	endPatience   = time.Minute
)

// TestSAM runs infra/sam-local, the functions behind the SAM CLI's own gateway with the background work on this machine:
// the recorded conversation, deltas that the poller brings, two clients of other makers, an eviction by the scheduler,
// and Ctrl-C, which must leave nothing behind.
func TestSAM(t *testing.T) {
	program := os.Getenv(envSAM)
	if program == "" {
		t.Skip("SKIPPED, the SAM CLI was not tried: " + envSAM + " does not name it (make test-sam does)")
	}
	require.NoError(t, openSources())
	s := startSAM(t, program, "http")
	t.Run("replay", func(t *testing.T) { replay.Run(t, s.url, http.DefaultClient.Do, deltaPatience) })
	t.Run("deltas", s.changesReachDeltas)
	s.register(t, "SAM-BRIEF", "brief-1", 1) // passes go by while the clients are at work
	for _, suite := range suites {
		if !slices.Contains([]string{"fargo", "js"}, suite.folder) {
			continue
		}
		t.Run(suite.folder, func(t *testing.T) {
			requireTools(t, suite.commands)
			for _, command := range suite.commands {
				run(t, suite.folder, s.url, command)
			}
		})
	}
	t.Run("eviction", s.expiredIsEvicted)
	t.Run("Ctrl-C", s.endsWholly)
}

// TestSAMFunctionURL does so with Entry=url: the api function behind a function URL answers the whole recorded
// conversation.
func TestSAMFunctionURL(t *testing.T) {
	program := os.Getenv(envSAM)
	if program == "" {
		t.Skip("SKIPPED, the SAM CLI was not tried: " + envSAM + " does not name it (make test-sam does)")
	}
	s := startSAM(t, program, "url")
	t.Run("replay", func(t *testing.T) { replay.Run(t, s.url, http.DefaultClient.Do, deltaPatience) })
	t.Run("deltas", s.changesReachDeltas)
	t.Run("Ctrl-C", s.endsWholly)
}

// samRun is infra/sam-local at work.
type samRun struct {
	url string
	// functions are those that it runs.
	functions []string
	cmd       *exec.Cmd
	ended     chan error
}

// startSAM returns when the functions answer.
func startSAM(t *testing.T, program, entry string) *samRun {
	t.Helper()
	removeContainers(t) // of a run that was killed
	gateway := freeAddress(t)
	cmd := exec.Command("../../infra/sam-local", "--skip-pull-image")
	cmd.Env = append(os.Environ(),
		"SAM="+program, "ENTRY="+entry, "PORT="+portOf(t, gateway), "ENGINE_PORT="+portOf(t, freeAddress(t)),
		"LAMBDA_PORT="+portOf(t, freeAddress(t)),
		"REGISTRY_CACHE_REFRESH=0s", "REGISTRY_DELTA_RETENTION=30m", "REGISTRY_EVICTION_INTERVAL="+passInterval.String(),
		"REGISTRY_SELF_PRESERVATION=false") // the recording's leases die all at once
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	// A group of its own, which is what Ctrl-C reaches; and an end to it when this process is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	cmd.WaitDelay = endPatience
	require.NoError(t, cmd.Start())
	s := &samRun{url: "http://" + gateway + "/eureka", functions: functions[:4], cmd: cmd, ended: make(chan error, 1)}
	if entry == "url" { // SAM starts a container at its first invocation
		s.functions = functions[4:]
	}
	go func() { s.ended <- cmd.Wait() }()
	t.Cleanup(func() { s.kill(t) })

	require.NoError(t, awaitAnswer(s.url+"/health", s.ended, startPatience))
	return s
}

// kill is for a run that has not ended as it should.
func (s *samRun) kill(t *testing.T) {
	select {
	case <-s.ended:
		return
	default:
	}
	assert.NoError(t, syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL))
	<-s.ended
	removeContainers(t)
}

// endsWholly: no process and no container is left.
func (s *samRun) endsWholly(t *testing.T) {
	for _, function := range s.functions {
		// SAM loses sight of one now and then, and has another.
		assert.NotEmpty(t, containersOf(t, function), "a container for each function: %s", function)
	}
	strayContainer(t) // which SAM never knew
	group := -s.cmd.Process.Pid
	require.NoError(t, syscall.Kill(group, syscall.SIGINT))
	select {
	case err := <-s.ended:
		s.ended <- err
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		assert.Equal(t, 130, exit.ExitCode(), "what a shell says of Ctrl-C")
	case <-time.After(endPatience):
		require.Fail(t, "it does not end")
	}
	assert.ErrorIs(t, syscall.Kill(group, 0), syscall.ESRCH, "processes are left")
	assert.Empty(t, containers(t), "containers are left")
}

func (s *samRun) changesReachDeltas(t *testing.T) {
	const app, id = "SAM-DELTA", "delta-1"
	s.register(t, app, id, 90)
	s.seesDelta(t, id, "ADDED")
	assert.Equal(t, http.StatusOK, s.ask(t, http.MethodDelete, "/apps/"+app+"/"+id, "", nil))
	s.seesDelta(t, id, "DELETED")
}

// expiredIsEvicted looks at the lease of a second that TestSAM registers.
func (s *samRun) expiredIsEvicted(t *testing.T) {
	const instance = "/apps/SAM-BRIEF/brief-1"
	sees(t, "an expired instance evicted", evictionPatience, func() bool {
		return s.ask(t, http.MethodGet, instance, "", nil) == http.StatusNotFound
	})
	assert.Equal(t, http.StatusNotFound, s.ask(t, http.MethodPut, instance, "", nil))
	s.seesDelta(t, "brief-1", "DELETED")
}

func (s *samRun) register(t *testing.T, app, id string, leaseSeconds int) {
	t.Helper()
	body := fmt.Sprintf(`{"instance": {"app": %q, "instanceId": %q, "hostName": "host", "ipAddr": "192.0.2.1", "status": "UP",
		"dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
		"leaseInfo": {"durationInSecs": %d}}}`, app, id, leaseSeconds)
	require.Equal(t, http.StatusNoContent, s.ask(t, http.MethodPost, "/apps/"+app, body, nil))
}

// seesDelta waits until the deltas have the instance with the action.
func (s *samRun) seesDelta(t *testing.T, id, action string) {
	t.Helper()
	sees(t, id+" "+action+" in the deltas", deltaPatience, func() bool {
		var delta struct {
			Applications struct {
				Application []struct {
					Instance []struct{ InstanceID, ActionType string }
				}
			}
		}
		require.Equal(t, http.StatusOK, s.ask(t, http.MethodGet, "/apps/delta", "", &delta))
		for _, app := range delta.Applications.Application {
			for _, instance := range app.Instance {
				if instance.InstanceID == id && instance.ActionType == action {
					return true
				}
			}
		}
		return false
	})
}

// sees waits for what is to come about.
func sees(t *testing.T, what string, patience time.Duration, condition func() bool) {
	t.Helper()
	for late := time.After(patience); !condition(); {
		select {
		case <-late:
			require.Fail(t, "never seen: "+what)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// ask returns the status, and the body in answer if that is not nil.
func (s *samRun) ask(t *testing.T, method, path, body string, answer any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	if answer != nil {
		require.NoError(t, json.NewDecoder(response.Body).Decode(answer))
	}
	return response.StatusCode
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}

// functions are those that SAM runs.
var functions = []string{"WriteFunction", "ReadFunction", "StreamFunction", "EvictFunction", "ApiFunction"}

// built is where a function of this checkout was built.
func built(t *testing.T, function string) string {
	t.Helper()
	folder, err := filepath.Abs("../../.aws-sam/build/" + function)
	require.NoError(t, err)
	return folder
}

// containersOf are those of a function of this checkout, in any state.
func containersOf(t *testing.T, function string) []string {
	t.Helper()
	ids, err := exec.Command("docker", "ps", "--all", "--quiet", "--filter", "volume="+built(t, function)).Output()
	require.NoError(t, err, "docker ps")
	return strings.Fields(string(ids))
}

// containers are those of all functions.
func containers(t *testing.T) (ids []string) {
	t.Helper()
	for _, function := range functions {
		ids = append(ids, containersOf(t, function)...)
	}
	return ids
}

// strayContainer makes a container as SAM makes them.
func strayContainer(t *testing.T) {
	t.Helper()
	image, err := exec.Command("docker", "inspect", "--format", "{{.Image}}", containers(t)[0]).Output()
	require.NoError(t, err, "docker inspect")
	output, err := exec.Command("docker", "create", "--volume", built(t, functions[0])+":/var/task:ro", strings.TrimSpace(string(image)), "bootstrap").CombinedOutput()
	require.NoError(t, err, "docker create: %s", output)
}

func removeContainers(t *testing.T) {
	t.Helper()
	if ids := containers(t); len(ids) > 0 {
		output, err := exec.Command("docker", append([]string{"rm", "--force"}, ids...)...).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
}
