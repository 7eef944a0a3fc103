package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/eurekaless/registry/core/access"
)

const (
	// startTime is how long a process may take to serve.
	startTime = 30 * time.Second
	// requestTime bounds a request; a hundred wait for one another.
	requestTime = 90 * time.Second
	password    = "a-password-of-the-bench"
)

// process is a registry under measurement.
type process struct {
	cmd     *exec.Cmd
	address string
	client  *http.Client
}

// measurement is the memory of a process in MiB, and the statuses of a hundred
// answers.
type measurement struct {
	idle, one, many int
	answers         string
}

// measure starts a process for one kind of request and measures it.
func measure(ctx context.Context, binary string, k kind) (m measurement, err error) {
	p, err := start(ctx, binary, k.environment)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if k.prepare != nil {
		if err := k.prepare(ctx, p); err != nil {
			return m, fmt.Errorf("prepare: %w", err)
		}
	}
	if m.idle, err = p.peak(); err != nil {
		return m, err
	}
	if _, err = p.send(ctx, k, 0); err != nil {
		return m, err
	}
	if m.one, err = p.peak(); err != nil {
		return m, err
	}
	if m.answers, err = p.sendAll(ctx, k); err != nil {
		return m, err
	}
	m.many, err = p.peak()
	return m, err
}

// start starts a process on a free port and waits until it serves.
func start(ctx context.Context, binary string, environment []string) (*process, error) {
	folder, err := os.MkdirTemp("", "registry-memory")
	if err != nil {
		return nil, err
	}
	credentials := filepath.Join(folder, "credentials.json")
	if err := writeCredentials(credentials); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "serve")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "REGISTRY_LISTEN=" + address,
		"REGISTRY_CREDENTIALS_FILE=" + credentials, "REGISTRY_LOG_LEVEL=error"}, environment...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, address: address, client: &http.Client{
		Timeout: requestTime, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: atOnce},
	}}
	for began := time.Now(); time.Since(began) < startTime; time.Sleep(50 * time.Millisecond) {
		// A request would make the first view, which is the empty registry's.
		if conn, err := net.Dial("tcp", address); err == nil {
			return p, conn.Close()
		}
	}
	return nil, errors.Join(errors.New("the process does not serve"), p.stop())
}

func (p *process) stop() error {
	p.client.CloseIdleConnections()
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait() // it says that it was killed
	return os.RemoveAll(p.cmd.Env[1][len("HOME="):])
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// writeCredentials writes a user for each role.
func writeCredentials(name string) error {
	hash, err := access.Hash(password)
	if err != nil {
		return err
	}
	users := map[string]any{}
	for _, role := range []access.Role{access.Read, access.Register, access.Admin} {
		users[string(role)] = map[string]any{"role": role, "passwords": []string{hash}}
	}
	data, err := json.Marshal(map[string]any{"users": users})
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}

// peak returns the most memory that the process has had resident, in MiB.
func (p *process) peak() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, found := bytes.Cut(status, []byte("VmHWM:"))
	fields := strings.Fields(string(after))
	if !found || len(fields) == 0 {
		return 0, errors.New("no VmHWM in /proc")
	}
	kibibytes, err := strconv.Atoi(fields[0])
	return (kibibytes + 1023) / 1024, err
}

// send sends the n-th request of a kind and returns its answer's status, 0 for
// none.
func (p *process) send(ctx context.Context, k kind, n int) (int, error) {
	if k.raw != nil {
		return 0, p.sendRaw(ctx, k.raw(n))
	}
	r := k.request(n)
	req, err := http.NewRequestWithContext(ctx, r.method, "http://"+p.address+r.path, bytes.NewReader(r.body))
	if err != nil {
		return 0, err
	}
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	if r.user != "" {
		req.SetBasicAuth(r.user, password)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, nil //nolint:nilerr // a request that was cut off has no answer
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

// sendRaw sends bytes and holds the connection for a while, without reading.
func (p *process) sendRaw(ctx context.Context, text string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(3 * time.Second)); err != nil {
		return err
	}
	_, _ = io.WriteString(conn, text) // the process may close it
	time.Sleep(3 * time.Second)
	return nil
}

// sendAll sends a hundred requests at once, and returns which answers came how
// often.
func (p *process) sendAll(ctx context.Context, k kind) (string, error) {
	statuses := make([]int, atOnce)
	faults := make([]error, atOnce)
	var group sync.WaitGroup
	for n := range atOnce {
		group.Go(func() { statuses[n], faults[n] = p.send(ctx, k, n+1) })
	}
	group.Wait()
	counts := map[int]int{}
	for _, status := range statuses {
		counts[status]++
	}
	var words []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%dx%s", counts[status], word(status)))
	}
	return strings.Join(words, " "), errors.Join(faults...)
}

func word(status int) string {
	if status == 0 {
		return "none"
	}
	return strconv.Itoa(status)
}
