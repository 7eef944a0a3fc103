package fieldtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
)

// stockFolder has the source of the stock server.
const stockFolder = "../../../local/bench/stock"

// process is a registry that runs in a process of its own.
type process struct {
	t       *testing.T
	command []string
	// settings are added to the environment.
	settings []string
	base     string

	cmd   *exec.Cmd
	ended chan error
}

// startLocal starts the local registry, with settings.
func startLocal(t *testing.T, settings ...string) *process {
	t.Helper()
	binary, err := buildLocal()
	require.NoError(t, err)
	address := freeAddress(t)
	p := &process{t: t, command: []string{binary, "serve"}, base: "http://" + address + "/eureka",
		settings: append(settings, "REGISTRY_LISTEN="+address)}
	p.start()
	t.Cleanup(p.stop)
	return p
}

// buildLocal builds the local registry once.
var buildLocal = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(built, "registry")
	output, err := exec.Command("go", "build", "-o", binary, "../../../local").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the local registry: %w\n%s", err, output)
	}
	return binary, nil
})

// startStock starts Spring Cloud's Eureka server, with its response cache
// always current and its eviction at the pace of these tests.
func startStock(t *testing.T) *process {
	t.Helper()
	fulltest.Tool(t, "java")
	jar := filepath.Join(stockFolder, "target", "stock-eureka-server-1.jar")
	if _, err := os.Stat(jar); err != nil {
		fulltest.Tool(t, "mvn")
		build := exec.CommandContext(t.Context(), "mvn", "-q", "-B", "package")
		build.Dir, build.Stdout, build.Stderr = stockFolder, t.Output(), t.Output()
		require.NoError(t, build.Run(), "mvn package")
	}
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	p := &process{t: t, base: "http://" + address + "/eureka", command: []string{
		"java", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8", "-jar", jar, "--server.port=" + port,
		"--eureka.server.useReadOnlyResponseCache=false",
		fmt.Sprintf("--eureka.server.eviction-interval-timer-in-ms=%d", passes.Milliseconds()),
		"--eureka.server.enable-self-preservation=false",
		// A list that was being made while something changed stays for this long, three minutes by default.
		"--eureka.server.response-cache-auto-expiration-in-seconds=1",
		// Its only peer is itself: by default it passes everything on to port 8761.
		"--eureka.instance.hostname=127.0.0.1", "--eureka.client.service-url.defaultZone=http://" + address + "/eureka/",
		"--logging.level.root=warn",
	}}
	p.start()
	t.Cleanup(p.stop)
	return p
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// start starts the process and waits until it answers.
func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.command[0], p.command[1:]...)
	p.cmd.Env = append(cleanEnvironment(), p.settings...)
	p.cmd.Stdout, p.cmd.Stderr = p.t.Output(), p.t.Output()
	require.NoError(p.t, p.cmd.Start())
	ended := make(chan error, 1)
	p.ended = ended
	go func(cmd *exec.Cmd) { ended <- cmd.Wait() }(p.cmd)
	require.EventuallyWithT(p.t, func(c *assertT) {
		select {
		case err := <-ended:
			ended <- err
			c.FailNow()
		default:
		}
		require.Equal(c, http.StatusOK, statusOf(p.base+"/apps"))
	}, 2*time.Minute, 100*time.Millisecond, "%s answers", p.command[0])
}

// stop ends the process, as Ctrl-C does, unless it has ended.
func (p *process) stop() {
	p.t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		require.NoError(p.t, p.cmd.Process.Kill())
		<-p.ended
		require.Fail(p.t, "the process does not end when it is interrupted")
	}
}

// statusOf returns the status of a GET, or 0.
func statusOf(url string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
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
