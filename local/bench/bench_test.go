package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/local/bench/process"
)

func TestAllPhasesAskWhatTheySay(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Accept-Encoding") != "gzip" {
			// The question whether the lists hold the last of the fleet.
			assert.Contains(t, []string{"/eureka/apps/SERVICE-0001", "/eureka/apps/delta"}, r.URL.Path)
			io.WriteString(w, "host-000011:service-0001:8080")
			return
		}
		asked[r.Method+" "+r.URL.Path]++
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer server.Close()
	var out bytes.Buffer

	err := run(t.Context(), []string{"-base", server.URL + "/eureka/", "-instances", "12", "-seconds", "0.05", "-workers", "3"}, &out)

	require.NoError(t, err)
	assert.Equal(t, 10, asked["POST /eureka/apps/SERVICE-0000"])
	assert.Equal(t, 2, asked["POST /eureka/apps/SERVICE-0001"])
	assert.NotZero(t, asked["PUT /eureka/apps/SERVICE-0000/host-000000:service-0000:8080"])
	assert.NotZero(t, asked["GET /eureka/apps"])
	assert.NotZero(t, asked["GET /eureka/apps/delta"])
	assert.NotZero(t, asked["GET /eureka/apps/SERVICE-0000"])
	assert.Equal(t, 5, bytes.Count(out.Bytes(), []byte("failed 0")), out.String())
}

func TestTheBareServerAnswersWithAsManyBytesAsAreAskedFor(t *testing.T) {
	in, stop := io.Pipe()
	printed, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- serveBare(in, out) }()
	address, err := bufio.NewReader(printed).ReadString('\n')
	require.NoError(t, err)
	o := options{workers: 2, phase: 20 * time.Millisecond}

	got, err := measureBare(t.Context(), o, newServer("http://"+strings.TrimSpace(address), 0, o.workers), 5000)

	require.NoError(t, err)
	assert.Equal(t, 5000, got.body)
	assert.Zero(t, got.failed)
	require.NoError(t, stop.Close())
	assert.NoError(t, <-served)
}

func TestAServerThatOnlyFailsIsAnError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()

	err := run(t.Context(), []string{"-base", server.URL, "-instances", "2"}, &bytes.Buffer{})

	assert.ErrorIs(t, err, errAllFailed)
	assert.ErrorContains(t, err, "404")

	err = run(t.Context(), []string{"-base", server.URL, "-register=false"}, &bytes.Buffer{})

	assert.ErrorContains(t, err, "404")
}

func TestLoadIsOnlySentToThisMachine(t *testing.T) {
	for _, base := range []string{"http://192.0.2.1/eureka", "http://localhost.example.org", "http://127.0.0.1.example.org", "::"} {
		assert.Error(t, run(t.Context(), []string{"-base", base}, &bytes.Buffer{}), base)
	}
	for _, base := range []string{"http://localhost:1", "http://127.0.0.2:1", "http://[::1]:1"} {
		_, err := parse([]string{"-base", base})
		assert.NoError(t, err, base)
	}
}

func TestRegistrationsDiffer(t *testing.T) {
	f := fleet{perApp: 10}
	seen := map[string]bool{}
	for i := range 100 {
		body := f.register(i).body
		assert.True(t, json.Valid(body))
		assert.False(t, seen[string(body)])
		seen[string(body)] = true
	}
}

func TestAResultIsToldInALine(t *testing.T) {
	r := result{
		name: "heartbeat", took: 2 * time.Second, failed: 1, body: 7, firstFailed: errors.New("refused"),
		times:  []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond, 9 * time.Millisecond},
		server: &process.Usage{Processor: 200 * time.Microsecond, Resident: 30 << 20},
	}
	assert.Equal(t, "heartbeat         2/s  p50    2.00 ms  p99    3.00 ms  failed 1  body 7 bytes"+
		"  server: 50 us of processor a request, 30 MiB resident  first failure: refused", r.String())
}

// TestASoakTellsMemoryAndFailures: it keeps the whole fleet alive and fails when
// a heartbeat does.
func TestASoakTellsMemoryAndFailures(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		fails  bool
	}{"a healthy server": {http.StatusOK, false}, "a server that forgets": {http.StatusNotFound, true}} {
		var mu sync.Mutex
		renewed := map[string]int{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodPost:
				w.WriteHeader(http.StatusNoContent)
			case http.MethodPut:
				mu.Lock()
				renewed[r.URL.Path]++
				mu.Unlock()
				w.WriteHeader(c.status)
			}
		}))
		defer server.Close()
		var out bytes.Buffer

		err := run(t.Context(), []string{
			"-base", server.URL, "-instances", "12", "-every", "20ms", "-soak", "200ms", "-pid", strconv.Itoa(os.Getpid()),
		}, &out)

		mu.Lock() // a request may be under way
		assert.Len(t, renewed, 12, name)
		mu.Unlock()
		if c.fails {
			assert.ErrorContains(t, err, "404", name)
			continue
		}
		require.NoError(t, err, name)
		assert.Contains(t, out.String(), " 0 failed; most ", name)
		assert.Contains(t, out.String(), "over the last half between", name)
	}
	assert.ErrorContains(t, run(t.Context(), []string{"-soak", "1s"}, io.Discard), "-pid")
}
