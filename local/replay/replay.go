// Package replay asks a server what a recording of a real Eureka server holds
// and compares the answers field by field. It serves tests: of the process over
// HTTP, and of the Lambda handlers without it.
//
// Times set by the server, the order of lists, white space and the texts of
// error bodies are not compared; every other field is, with its JSON type.
package replay

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Recording is where the recording lies in this module.
const Recording = "core/wire/testdata/recorded.jsonl"

// Exchange is one request and what the recorded server answered.
type Exchange struct {
	Name    string            `json:"name"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Body    *string           `json:"body"`
	Headers map[string]string `json:"headers"`
	// Response is the recorded answer.
	Response Answer `json:"response"`
}

// Answer is an HTTP answer, its body unpacked.
type Answer struct {
	Status          int    `json:"status"`
	ContentType     string `json:"contentType"`
	ContentEncoding string `json:"contentEncoding"`
	Body            string `json:"body"`
}

// Doer sends a request. A client's Do is one.
type Doer func(*http.Request) (*http.Response, error)

const (
	// again is the pause before a read that differed is repeated.
	again = 100 * time.Millisecond
	// apart is the pause after each exchange. The requests that were recorded
	// were never in the same millisecond, which is the grain of the registry's
	// clock: of two cancels in one, the second is taken for the first sent again.
	apart = 2 * time.Millisecond
)

// Run replays the recording against the server at base ("http://host/eureka"),
// whose registry must be empty: each exchange is a subtest. A read is repeated
// for up to wait until it agrees, since reads may come from a cache and deltas
// by a stream.
func Run(t *testing.T, base string, do Doer, wait time.Duration) {
	t.Helper()
	exchanges, err := load()
	if err != nil {
		t.Fatal(err)
	}
	r := &replayer{base: strings.TrimSuffix(base, "/"), do: do, wait: wait}
	for _, ex := range exchanges {
		t.Run(ex.Name, func(t *testing.T) {
			for _, difference := range r.exchange(t, ex) {
				t.Error(difference)
			}
		})
	}
}

type replayer struct {
	base     string
	do       Doer
	wait     time.Duration
	compared comparison
}

// exchange returns the differences that stay.
func (r *replayer) exchange(t *testing.T, ex Exchange) []string {
	t.Helper()
	deadline := time.Now().Add(r.wait)
	for {
		answer, err := r.ask(t, ex)
		if err != nil {
			t.Fatal(err)
		}
		differences := r.compared.differences(ex, answer)
		repeatable := ex.Method == http.MethodGet || ex.Method == http.MethodHead
		if len(differences) == 0 || !repeatable || time.Now().After(deadline) {
			r.compared.note(ex, answer)
			<-time.After(apart)
			return differences
		}
		<-time.After(again)
	}
}

func (r *replayer) ask(t *testing.T, ex Exchange) (Answer, error) {
	var body io.Reader
	if ex.Body != nil {
		body = strings.NewReader(*ex.Body)
	}
	req, err := http.NewRequestWithContext(t.Context(), ex.Method, r.base+ex.Path, body)
	if err != nil {
		return Answer{}, fmt.Errorf("request: %w", err)
	}
	// Or the client would ask for gzip by itself, and hide that it got it.
	req.Header.Set("Accept-Encoding", "identity")
	for name, value := range ex.Headers {
		req.Header.Set(name, value)
	}
	resp, err := r.do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("ask: %w", err)
	}
	defer resp.Body.Close()
	return read(resp)
}

// read takes in an answer.
func read(resp *http.Response) (Answer, error) {
	contentType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	answer := Answer{
		Status:          resp.StatusCode,
		ContentType:     contentType,
		ContentEncoding: resp.Header.Get("Content-Encoding"),
	}
	var body io.Reader = resp.Body
	if answer.ContentEncoding == "gzip" && resp.Request.Method != http.MethodHead {
		unpacked, err := gzip.NewReader(resp.Body)
		if err != nil {
			return answer, fmt.Errorf("gzip: %w", err)
		}
		body = unpacked
	}
	text, err := io.ReadAll(body)
	answer.Body = string(text)
	return answer, err
}

// load reads the recording from the module that the test runs in.
func load() ([]Exchange, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(root, Recording))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var exchanges []Exchange
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var ex Exchange
		if err := json.Unmarshal(lines.Bytes(), &ex); err != nil {
			return nil, fmt.Errorf("%s: %w", Recording, err)
		}
		exchanges = append(exchanges, ex)
	}
	if len(exchanges) == 0 {
		return nil, fmt.Errorf("%s: nothing is recorded", Recording)
	}
	return exchanges, lines.Err()
}

// moduleRoot finds the folder of go.mod above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = up
	}
}
