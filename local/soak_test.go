package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// envSoak is how long [TestSoak] runs, such as "1h"; `make soak` sets it.
// Without it that is a minute, and three where nothing may be missing.
const envSoak = "REGISTRY_TEST_SOAK"

const (
	soakInstances = 500
	soakInterval  = 5 * time.Second
	soakLease     = 90 * time.Second
	// soakReaders are clients that read lists.
	soakReaders = 5
	// soakConnections bounds the connections of the whole fleet.
	soakConnections = 64
)

// TestSoak runs a fleet against a registry whose process and whose engine are
// killed again and again. Nobody who renews may ever be lost, lists must hold
// together, and goroutines, memory and open files must stay level.
func TestSoak(t *testing.T) {
	duration := soakDuration(t)
	s := &soak{t: t, began: time.Now(), engine: newFileEngine(t), address: freeAddress(t)}
	s.client = &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: soakConnections, MaxConnsPerHost: soakConnections},
		Timeout:   30 * time.Second,
	}
	s.start()
	ctx, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	var group sync.WaitGroup
	for n := range soakInstances {
		group.Go(func() { s.live(ctx, n) })
	}
	for range soakReaders {
		group.Go(func() { s.read(ctx) })
	}
	s.disturb(ctx, duration)
	group.Wait()
	t.Logf("the fleet is done")
	s.judge()
	s.settle()
	s.quit()
}

func soakDuration(t *testing.T) time.Duration {
	switch text := os.Getenv(envSoak); {
	case text != "":
		duration, err := time.ParseDuration(text)
		require.NoError(t, err, envSoak)
		return duration
	}
	fulltest.Only(t, "a fleet for three minutes")
	return 3 * time.Minute
}

// soak is a fleet and what it lives on.
type soak struct {
	t       *testing.T
	began   time.Time
	engine  *fileEngine
	address string
	client  *http.Client
	process *registry

	heartbeats, unanswered, registrations, reads, lapsed atomic.Int64
	// gone are the instances that cancelled for good.
	gone sync.Map
	// unsure are those whose lease may have run out unanswered.
	unsure sync.Map

	samples []sample
}

// sample is what a process uses.
type sample struct {
	process, resident, files int
	goroutines               int
}

// start starts the process, at the address where the last one was.
func (s *soak) start() {
	s.process = launch(s.t, nil, "REGISTRY_LISTEN="+s.address, "AWS_ENDPOINT_URL_DYNAMODB="+s.engine.url(),
		"REGISTRY_CACHE_REFRESH=5s", "REGISTRY_EVICTION_INTERVAL=10s", "REGISTRY_LOG_LEVEL=error")
	s.process.address = s.address
	s.process.await(s.t, func() bool {
		resp, err := s.client.Get(s.process.url("/health"))
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
}

// quit ends the process by SIGQUIT, on which Go tells every goroutine, and
// notes how many there were.
func (s *soak) quit() {
	s.sample()
	start := time.Now()
	defer func() { s.t.Logf("ended after %s", time.Since(start).Round(time.Millisecond)) }()
	s.process.signal(s.t, syscall.SIGQUIT)
	_ = s.process.wait(s.t) // it ends with code 2
	count := strings.Count(s.process.output.String(), "\ngoroutine ")
	s.samples[len(s.samples)-1].goroutines = count
	s.t.Logf("%d goroutines", count)
	assert.NotZero(s.t, count)
	assert.Less(s.t, count, 4*soakConnections+400, "goroutines: two a connection, the engine's too")
}

func (s *soak) sample() {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.process.cmd.Process.Pid))
	require.NoError(s.t, err)
	s.samples = append(s.samples, sample{s.process.cmd.Process.Pid, s.process.resident(s.t), len(files), 0})
	s.t.Logf("after %s: %+v, %d heartbeats, %d registrations, %d reads, %d requests unanswered, %d leases lapsed by that",
		time.Since(s.began).Round(time.Second), s.samples[len(s.samples)-1], s.heartbeats.Load(), s.registrations.Load(), s.reads.Load(), s.unanswered.Load(), s.lapsed.Load())
}

// disturb kills the process or the engine, five times in all or every two
// minutes, and samples in between. Three times of four it is the engine, whose
// stream must not grow long; a process lives for long enough to show whether
// what it uses grows.
func (s *soak) disturb(ctx context.Context, duration time.Duration) {
	every := min(max(duration/6, 10*time.Second), 2*time.Minute)
	for n := 0; wait(ctx, every/2); n++ {
		s.sample()
		if !wait(ctx, every/2) {
			return
		}
		if n%4 == 0 {
			s.quit()
			s.start()
		} else {
			s.sample()
			s.engine.restart()
		}
	}
}

// wait reports false when the context ends first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// send makes a request of the fleet; status 0: no answer, as while a process
// is being started.
func (s *soak) send(method, path, body string) (status int, answer []byte) {
	req, err := http.NewRequestWithContext(context.Background(), method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		s.unanswered.Add(1)
		return 0, nil
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode == http.StatusServiceUnavailable {
		s.unanswered.Add(1)
		return 0, nil
	}
	return resp.StatusCode, answer
}

func soakID(n int) string { return fmt.Sprintf("soak-%d", n) }

// live is an instance's life: it registers, renews in time, and every tenth
// cancels and comes back now and then.
func (s *soak) live(ctx context.Context, n int) {
	app := fmt.Sprintf("APP-%d", n%20)
	path := "/eureka/apps/" + app + "/" + soakID(n)
	registered, last := false, time.Now()
	for wait(ctx, soakInterval/2+rand.N(soakInterval)) {
		switch {
		case !registered:
			status, answer := s.send(http.MethodPost, "/eureka/apps/"+app, instance(app, soakID(n), int(soakLease.Seconds())))
			registered = status == http.StatusNoContent
			assert.True(s.t, registered || status == 0, "register %s: %d %s", soakID(n), status, answer)
			s.registrations.Add(1)
		case n%10 == 0 && rand.N(6) == 0:
			// A cancel whose answer was lost may have been done: 404 then.
			status, answer := s.send(http.MethodDelete, path, "")
			assert.Contains(s.t, []int{0, http.StatusOK, http.StatusNotFound}, status, "cancel %s: %s", soakID(n), answer)
			registered = status == 0
			if status == 0 {
				registered = s.renewOrBack(path)
			}
		default:
			status, answer := s.send(http.MethodPut, path+"?status=UP&lastDirtyTimestamp=1700000000000", "")
			if status == http.StatusNotFound && time.Since(last) > soakLease-soakInterval {
				s.lapsed.Add(1) // nothing answered it for so long
				registered = false
				continue
			}
			assert.Contains(s.t, []int{0, http.StatusOK}, status, "%s renewed %s ago and is answered %d %s", soakID(n), time.Since(last), status, answer)
			if status == http.StatusOK {
				last = time.Now()
			}
			s.heartbeats.Add(1)
			continue
		}
		last = time.Now()
	}
	if registered && time.Since(last) > soakLease/2 {
		s.unsure.Store(soakID(n), true)
	}
	if !registered {
		s.gone.Store(soakID(n), true)
	}
}

// renewOrBack reports whether a lease is still there.
func (s *soak) renewOrBack(path string) bool {
	for {
		switch status, _ := s.send(http.MethodPut, path+"?lastDirtyTimestamp=1700000000000", ""); status {
		case http.StatusOK:
			return true
		case http.StatusNotFound:
			return false
		}
		<-time.After(100 * time.Millisecond)
	}
}

// read reads lists and holds each to its own hash code.
func (s *soak) read(ctx context.Context) {
	for wait(ctx, time.Second+rand.N(time.Second)) {
		status, body := s.send(http.MethodGet, "/eureka/apps", "")
		if status == 0 {
			continue
		}
		var all answer
		if assert.Equal(s.t, http.StatusOK, status) && assert.NoError(s.t, json.Unmarshal(body, &all)) {
			assert.Equal(s.t, all.hash(), all.Applications.Hash)
		}
		status, body = s.send(http.MethodGet, "/eureka/apps/delta", "")
		assert.True(s.t, status == 0 || status == http.StatusOK && json.Valid(body))
		s.reads.Add(1)
	}
}

// settle demands that in the end lists hold who is there, and nobody else.
func (s *soak) settle() {
	start, missing, extra := time.Now(), 0, 0
	s.process.await(s.t, func() bool {
		status, body := s.send(http.MethodGet, "/eureka/apps", "")
		var all answer
		if status != http.StatusOK || json.Unmarshal(body, &all) != nil {
			return false
		}
		missing, extra = 0, 0
		for n := range soakInstances {
			if _, unsure := s.unsure.Load(soakID(n)); unsure {
				continue
			}
			_, there := all.find(soakID(n))
			_, gone := s.gone.Load(soakID(n))
			if there && gone {
				extra++
			} else if !there && !gone {
				missing++
			}
		}
		if missing+extra > 0 && time.Since(start) > 20*time.Second {
			s.t.Logf("%d missing, %d that should be gone", missing, extra)
		}
		return missing+extra == 0
	})
	s.t.Logf("lists and leases agree after %s", time.Since(start).Round(time.Millisecond))
}

// judge holds what was sampled: files by the connections that there are, memory
// by the first sample of a process that has served for a while.
func (s *soak) judge() {
	s.sample()
	first := map[int]int{}
	for _, x := range s.samples {
		assert.Less(s.t, x.files, 4*soakConnections+100, "open files: %+v", x)
		if _, ok := first[x.process]; !ok {
			first[x.process] = x.resident
		}
		assert.Less(s.t, x.resident, first[x.process]*3/2+bearable(64), "memory: %+v", s.samples)
	}
	assert.NotZero(s.t, s.heartbeats.Load())
}

// fileEngine is a dynoxide on a file, in a process of its own.
type fileEngine struct {
	t       *testing.T
	binary  string
	file    string
	address string
	process *exec.Cmd
}

func newFileEngine(t *testing.T) *fileEngine {
	t.Helper()
	e := &fileEngine{
		t: t, binary: enginetest.DynoxideBinary(t),
		file: filepath.Join(t.TempDir(), "tables.db"), address: freeAddress(t),
	}
	e.run()
	t.Cleanup(e.stop)
	e.restart() // with the index
	return e
}

func (e *fileEngine) url() string { return "http://" + e.address }

func (e *fileEngine) run() {
	host, port, _ := strings.Cut(e.address, ":")
	e.process = exec.Command(e.binary, "serve", "--host", host, "--port", port, "--db-path", e.file)
	require.NoError(e.t, e.process.Start())
	limit := time.Now().Add(15 * time.Second)
	for {
		resp, err := http.Get(e.url())
		if err == nil {
			resp.Body.Close()
			return
		}
		require.True(e.t, time.Now().Before(limit), "the engine does not start")
		<-time.After(10 * time.Millisecond)
	}
}

func (e *fileEngine) stop() {
	_ = e.process.Process.Kill() // it may have ended
	_ = e.process.Wait()         // it was killed
}

// restart kills the engine and starts it on its file, without the stream
// records that no poller takes any more: the engine keeps them for ever,
// DynamoDB for a day. Each write looks among all of them for the last sequence
// number, at 18,000 records for 13 ms; by the index it finds it at once.
func (e *fileEngine) restart() {
	e.stop()
	const tend = `import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as file:
    file.execute("DELETE FROM _stream_records WHERE created_at < (SELECT MAX(created_at) FROM _stream_records) - 130")
    file.execute("CREATE INDEX IF NOT EXISTS last_sequence_number ON _stream_records (table_name, CAST(sequence_number AS INTEGER))")`
	output, err := exec.Command("python3", "-c", tend, e.file).CombinedOutput()
	if err != nil {
		e.t.Logf("the stream is neither trimmed nor indexed: %v\n%s", err, output)
	}
	e.run()
}
