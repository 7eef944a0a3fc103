package functions_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// container is a function's process, on a stand-in of Lambda's runtime API.
type container struct {
	t      testing.TB
	cmd    *exec.Cmd
	api    *runtimeAPI
	server *httptest.Server
	out    output
	// began is when the process was started.
	began time.Time
}

// launch starts a function, which ends with the test.
func launch(t testing.TB, binary string, env map[string]string) *container {
	t.Helper()
	api := &runtimeAPI{events: make(chan string, 1), asked: make(chan time.Time, 1), answered: make(chan answer, 1)}
	server := httptest.NewServer(api)
	c := &container{t: t, cmd: exec.Command(binary), api: api, server: server}
	c.cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(server.URL, "http://"), "AWS_LAMBDA_FUNCTION_NAME=cold", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
	}
	for name, value := range env {
		c.cmd.Env = append(c.cmd.Env, name+"="+value)
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	t.Cleanup(c.end)
	c.began = time.Now()
	require.NoError(t, c.cmd.Start())
	return c
}

// invoke gives the function an event and returns its answer.
func (c *container) invoke(event string) answer {
	c.t.Helper()
	c.offer(event)
	return c.answer()
}

// offer gives the function an event when it next asks for one.
func (c *container) offer(event string) { c.api.events <- event }

// answer returns what the function answers to the event.
func (c *container) answer() answer {
	c.t.Helper()
	got := await(c.t, c.api.answered, &c.out)
	require.False(c.t, got.failed, got.body)
	return got
}

// end ends the process, if it has not ended yet.
func (c *container) end() {
	if c.cmd.Process != nil && c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait() // says that it was killed
		c.server.Close()
	}
}

// output is what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func await[T any](t testing.TB, from <-chan T, out *output) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(20 * time.Second):
		t.Fatalf("the function does not get on: %s", out)
		panic("not reached")
	}
}

// runtimeAPI stands in for Lambda's runtime API:
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
type runtimeAPI struct {
	events chan string
	// asked tells when the function asked for its first event.
	asked    chan time.Time
	once     sync.Once
	answered chan answer
}

type answer struct {
	at     time.Time
	body   string
	failed bool
}

func (a *runtimeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/invocation/next") {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		a.answered <- answer{time.Now(), string(body), strings.HasSuffix(r.URL.Path, "/error")}
		return
	}
	a.once.Do(func() { a.asked <- time.Now() })
	select {
	case <-r.Context().Done():
	case event := <-a.events:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(20*time.Second).UnixMilli(), 10))
		_, _ = io.WriteString(w, event)
	}
}
