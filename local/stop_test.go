package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheStartTellsWhatRuns(t *testing.T) {
	const inMemory = "tables    in memory: the data ends with the process\n"
	endpoint := startEmulator(t)
	for name, c := range map[string]struct {
		settings []string
		tables   string
	}{
		"in memory": {[]string{"REGISTRY_LOCAL_EVENTS=true", "REGISTRY_EVICTION_INTERVAL=0s"}, inMemory + `evictions never
requests  as API Gateway events through the Lambda handlers
setting   REGISTRY_LISTEN=%[1]s
setting   REGISTRY_LOCAL_EVENTS=true
setting   REGISTRY_EVICTION_INTERVAL=0s
`},
		"on an engine": {[]string{"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint, "REGISTRY_LEASE_TABLE=mine"}, `engine    %[2]s
tables    mine (created), eureka-deltas
evictions every 1m0s
          from 10 instances on, silent ones stay up to 1h0m0s when many are silent at once (self-preservation)
setting   REGISTRY_LISTEN=%[1]s
setting   AWS_ENDPOINT_URL_DYNAMODB=%[2]s
setting   REGISTRY_LEASE_TABLE=mine
`},
	} {
		r := startRegistry(t, c.settings...)
		assert.Equal(t, fmt.Sprintf(`registry  http://%[1]s/eureka, also at /eureka/v2; dashboard at http://%[1]s/
access    everybody on this machine, without credentials
`+c.tables+"Ctrl-C stops it\n%.0[1]s%.0[2]s", r.address, endpoint), r.output.String(), name)
	}
}

func TestEachWayOfAskingForTheEndEndsWell(t *testing.T) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		r := startUntilKilled(t)
		r.signal(t, s)
		assert.NoError(t, r.wait(t), s)
		assert.True(t, strings.HasSuffix(r.output.String(), "\nCtrl-C stops it\nstopped\n"), r.output.String())
	}
}

func TestEachCommandThatGoesOnTellsItsEnd(t *testing.T) {
	endpoint := startEmulator(t)
	r := startRegistry(t)
	for begun, args := range map[string][]string{
		"Ctrl-C stops it":                 {"engine"},
		"evictions every":                 {"background"},
		"0 read: 0 registered, 0 changed": {"import", r.url("/eureka"), r.url("/eureka"), "--every", "1h"},
	} {
		c := launch(t, args, "AWS_ENDPOINT_URL_DYNAMODB="+endpoint)
		c.await(t, func() bool { return strings.Contains(c.output.String(), begun) })
		c.signal(t, os.Interrupt)
		assert.NoError(t, c.wait(t), args[0])
		assert.True(t, strings.HasSuffix(c.output.String(), "\nstopped\n"), c.output.String())
	}
}

// begin opens a connection, sends a registration without its last byte, and
// returns once the handler reads it. Without "100 Continue" to say so, a
// shutdown may close the connection before its request is read.
func (r *registry) begin(t *testing.T, body string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /eureka/apps/SHOP HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	require.NoError(t, err)
	const goOn = "HTTP/1.1 100 Continue\r\n\r\n"
	answer := make([]byte, len(goOn))
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	require.Equal(t, goOn, string(answer))
	_, err = io.WriteString(conn, body[:len(body)-1])
	require.NoError(t, err)
	return conn
}

// refuses waits until no connection is taken any more.
func (r *registry) refuses(t *testing.T) {
	t.Helper()
	r.await(t, func() bool {
		conn, err := net.Dial("tcp", r.address)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

func TestARequestUnderWayIsFinishedAtAnInterrupt(t *testing.T) {
	r := startUntilKilled(t)
	body := instance("SHOP", "shop-1", 90)
	conn := r.begin(t, body)
	r.signal(t, os.Interrupt)
	r.refuses(t)
	_, err := io.WriteString(conn, body[len(body)-1:])
	require.NoError(t, err)

	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusNoContent, resp.StatusCode)
	assert.NoError(t, r.wait(t))
}

// interruptUntilEnded goes on asking: right after the first interrupt the
// process may still be taking it for the same wish.
func (r *registry) interruptUntilEnded() {
	for {
		_ = r.cmd.Process.Signal(os.Interrupt) // it may have ended
		select {
		case <-r.ended:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestASecondInterruptKills(t *testing.T) {
	r := startUntilKilled(t)
	r.begin(t, instance("SHOP", "shop-1", 90))
	r.signal(t, os.Interrupt)
	r.refuses(t)

	r.interruptUntilEnded()

	// An orderly end would have the code 0, or 1 once requests were cut off.
	assert.Equal(t, -1, exitCode(r.wait(t)), "ended by the signal")
}
