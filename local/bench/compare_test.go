package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/local/bench/process"
)

// TestCompare: both servers are asked in turns, reads only once both list the
// fleet, and what is printed says how they compare.
func TestCompare(t *testing.T) {
	serve := func() (*httptest.Server, *bytes.Buffer) {
		var asked bytes.Buffer
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.WriteString(r.Method + " " + r.URL.Path + "\n")
			switch {
			case r.Method == http.MethodPost:
				w.WriteHeader(http.StatusNoContent)
			case r.Header.Get("Accept-Encoding") == "":
				_, _ = io.WriteString(w, "host-000001:service-0000:8080")
			}
		})), &asked
	}
	this, askedThis := serve()
	defer this.Close()
	other, askedOther := serve()
	defer other.Close()
	var out bytes.Buffer
	pid := strconv.Itoa(os.Getpid())

	err := run(t.Context(), []string{
		"-base", this.URL, "-against", other.URL + "/", "-pid", pid, "-against-pid", pid,
		"-instances", "2", "-workers", "1", "-seconds", "0.02", "-rounds", "2",
	}, &out)

	require.NoError(t, err)
	for _, asked := range []*bytes.Buffer{askedThis, askedOther} {
		assert.Equal(t, 6, strings.Count(asked.String(), "POST "), "a turn to warm up and two that count")
		assert.Contains(t, asked.String(), "GET /apps/delta\n")
	}
	assert.Equal(t, 5, strings.Count(out.String(), "this   "))
	assert.Equal(t, 5, strings.Count(out.String(), "other  "))
	assert.Equal(t, 5, strings.Count(out.String(), "  processor "), out.String())
	assert.Error(t, run(t.Context(), []string{"-base", this.URL, "-against", "http://192.0.2.1"}, &out))
}

func TestRatios(t *testing.T) {
	turn := func(took, request time.Duration, processor time.Duration, resident int64) result {
		return result{
			name: "delta", took: took, times: []time.Duration{request, request},
			server: &process.Usage{Processor: processor, Resident: resident},
		}
	}
	this := turn(time.Second, time.Millisecond, 10*time.Millisecond, 10).plus(turn(time.Second, time.Millisecond, 30*time.Millisecond, 99))
	other := turn(4*time.Second, 4*time.Millisecond, 40*time.Millisecond, 40)
	assert.Equal(t, "delta      rate 4.00x  p50 0.25x  p99 0.25x  processor 0.50x  memory 0.25x", ratios(this, other))
}
