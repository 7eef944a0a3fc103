package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/fulltest"
)

// hostileMemory is the most resident memory that a hostile registry may cost
// whoever reads it, in bytes.
const hostileMemory = 256 << 20

// list returns a list of one application whose instances are written by each,
// until it has about so many bytes.
func list(size int, each func(b *bytes.Buffer, n int)) []byte {
	var b bytes.Buffer
	b.WriteString(`{"applications":{"versions__delta":"1","apps__hashcode":"UP_1_","application":[{"name":"A","instance":[`)
	for n := 0; b.Len() < size; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		each(&b, n)
	}
	b.WriteString("]}]}}")
	return b.Bytes()
}

func repeated(text string) func(*bytes.Buffer, int) {
	return func(b *bytes.Buffer, _ int) { b.WriteString(text) }
}

// hostileLists are answers that cost little to send. Each is made for a limit,
// in bytes, of whoever reads it: some are larger, others just below.
func hostileLists() map[string]struct {
	body func(limit int) []byte
	says string
} {
	const tooMuch = "instances that take more than"
	return map[string]struct {
		body func(limit int) []byte
		says string
	}{
		"nameless instances":       {func(limit int) []byte { return list(2*limit, repeated("{}")) }, "response too large: more than"},
		"fewer nameless instances": {func(limit int) []byte { return list(limit-100, repeated("{}")) }, ""},
		"nothing but brackets":     {func(limit int) []byte { return bytes.Repeat([]byte("["), limit) }, "is not JSON"},
		"instances of a name": {func(limit int) []byte {
			return list(limit-100, func(b *bytes.Buffer, n int) { fmt.Fprintf(b, `{"hostName":"%d"}`, n) })
		}, tooMuch},
		"much metadata": {func(limit int) []byte {
			return list(200, func(b *bytes.Buffer, _ int) {
				b.WriteString(`{"hostName":"a","metadata":{`)
				for k := range limit / 16 {
					fmt.Fprintf(b, `"%x":"",`, k)
				}
				b.WriteString(`"":""}}`)
			})
		}, tooMuch},
		"many VIP addresses": {func(limit int) []byte {
			return list(200, func(b *bytes.Buffer, _ int) {
				b.WriteString(`{"hostName":"a","vipAddress":"`)
				for k := range limit / 12 {
					fmt.Fprintf(b, "%x,", k)
				}
				b.WriteString(`"}`)
			})
		}, tooMuch},
		"many applications": {func(limit int) []byte {
			var b bytes.Buffer
			b.WriteString(`{"applications":{"application":[`)
			for n := 0; b.Len() < limit-100; n++ {
				fmt.Fprintf(&b, `{"name":"%d","instance":{"hostName":"a"}},`, n)
			}
			b.WriteString("{}]}}")
			return b.Bytes()
		}, tooMuch},
		"not UTF-8": {func(limit int) []byte {
			return list(limit-2000, repeated("{\"a\":\""+strings.Repeat("\xffa", 500)+"\"}"))
		}, "is not UTF-8"},
		"hardly UTF-8": {func(limit int) []byte {
			return list(limit-2000, repeated("{\"a\":\""+strings.Repeat("\xff"+strings.Repeat("a", 40), 20)+"\"}"))
		}, ""},
		"names that grow": {func(limit int) []byte {
			return list(limit-2000, repeated(`{"hostName":"a","metadata":{"`+strings.Repeat(" ", 1000)+`":""}}`))
		}, tooMuch},
		"all that is allowed": {func(limit int) []byte {
			return list(limit-3000, func(b *bytes.Buffer, n int) {
				fmt.Fprintf(b, `{"hostName":"h-%d","status":"UP","homePageUrl":"%s"}`, n, strings.Repeat("x", 1300))
			})
		}, ""},
	}
}

// hostileServer answers /NAME/apps and /NAME/apps/delta with the list of that
// name, in gzip, and with too many results to every batch.
func hostileServer(t *testing.T, limit int) string {
	t.Helper()
	bodies := map[string][]byte{}
	for name, l := range hostileLists() {
		bodies[name] = zipped(l.body(limit))
	}
	results := zipped([]byte(`{"responseList":[` + strings.Repeat("{},", limit/3-10) + `{}]}`))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case path.Base(r.URL.Path) == "batch":
			w.Write(results)
		case bodies[name] != nil:
			w.Write(bodies[name])
		}
	}))
	t.Cleanup(server.Close)
	// A process that is started is counted with the peak of the one that starts it.
	debug.FreeOSMemory()
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
	return server.URL
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	w.Write(body)
	w.Close()
	return b.Bytes()
}

func skipUnlessHostile(t *testing.T) {
	t.Helper()
	fulltest.Only(t, "processes that read hostile lists, for a minute")
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: reads /proc")
	}
	if raceDetector {
		t.Skip("SKIPPED: the race detector takes memory of its own")
	}
	require.NoError(t, buildOnce())
}

// within checks a process's peak, which the kernel counts.
func within(t *testing.T, name string, peak int64) {
	t.Helper()
	t.Logf("%s: %d MiB resident at most", name, peak>>20)
	assert.Less(t, peak, int64(hostileMemory), name)
}

// TestHostileSourceOfImportAndCompare costs little memory and is told.
func TestHostileSourceOfImportAndCompare(t *testing.T) {
	skipUnlessHostile(t)
	hostile := hostileServer(t, discovery.DefaultMaxResponseBytes)
	empty := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s")
	small := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s")
	small.register(t, "SHOP", "a", 90)
	for name, l := range hostileLists() {
		base := hostile + "/" + strings.ReplaceAll(name, " ", "%20")
		for _, args := range [][]string{
			{"import", base, empty.url("/eureka"), "--dry-run"}, {"compare", base, base},
			{"import", small.url("/eureka"), base}, // whose batches are answered with too much
		} {
			cmd := exec.CommandContext(t.Context(), binary, args...)
			cmd.Env = cleanEnvironment()
			output, err := cmd.CombinedOutput()
			output = output[max(0, len(output)-2000):]
			within(t, name+", "+args[0], cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
			switch {
			case args[1] != base && args[2] == base:
				require.Error(t, err)
				assert.Contains(t, string(output), "has more than 1 results")
			case l.says != "":
				require.Error(t, err, "%s", output)
				assert.Contains(t, string(output), l.says)
			default:
				require.NoError(t, err, "%s", output)
			}
		}
	}
}

// TestHostileRegion costs a registry that joins it little memory, and is told.
func TestHostileRegion(t *testing.T) {
	skipUnlessHostile(t)
	hostile := hostileServer(t, 8<<20)
	for name, l := range hostileLists() {
		r := startRegistry(t, "REGISTRY_CACHE_REFRESH=1s", "REGISTRY_REMOTE_REGIONS=west="+hostile+"/"+strings.ReplaceAll(name, " ", "%20"))
		r.register(t, "SHOP", "a", 90)
		r.await(t, func() bool {
			_, body, err := ask(t.Context(), http.MethodGet, r.url("/eureka/apps"), "")
			return err == nil && strings.Contains(string(body), "SHOP")
		})
		for _, media := range []string{"application/json", "application/xml", "application/json"} {
			for _, what := range []string{"/apps", "/apps/delta"} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url("/eureka"+what+"?regions=west"), nil)
				require.NoError(t, err)
				req.Header.Set("Accept", media)
				resp, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				resp.Body.Close()
				assert.Equal(t, 200, resp.StatusCode, "the own instances are served")
			}
		}
		within(t, name, peakOf(t, r.cmd.Process.Pid))
		if l.says != "" {
			r.await(t, func() bool { return strings.Contains(r.output.String(), "region not fetched") })
			assert.Contains(t, r.output.String(), l.says)
		}
	}
}

// peakOf returns the most resident memory that a process had, in bytes.
func peakOf(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(t, err)
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, peak)
	kib, err := strconv.ParseInt(string(peak[1]), 10, 64)
	require.NoError(t, err)
	return kib << 10
}

const (
	hostileClientURL  = "TEST_HOSTILE_URL"
	hostileClientSays = "TEST_HOSTILE_SAYS"
)

// TestHostileServerOfAClient costs the Go client little memory, and its report
// tells why it has no registry. Each runs in a process of its own.
func TestHostileServerOfAClient(t *testing.T) {
	if base := os.Getenv(hostileClientURL); base != "" {
		readHostile(t, base, os.Getenv(hostileClientSays))
		return
	}
	skipUnlessHostile(t)
	hostile := hostileServer(t, discovery.DefaultMaxResponseBytes)
	for name, l := range hostileLists() {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHostileServerOfAClient$")
		cmd.Env = append(cleanEnvironment(), hostileClientURL+"="+hostile+"/"+strings.ReplaceAll(name, " ", "%20"), hostileClientSays+"="+l.says)
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, output)
		within(t, name, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
}

// readHostile runs a client that fetches several times.
func readHostile(t *testing.T, base, says string) {
	client, err := discovery.New(discovery.Config{ServiceURLs: []string{base}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	require.NoError(t, err)
	require.NoError(t, client.Start(t.Context()))
	defer func() { require.NoError(t, client.Stop(context.Background())) }()
	for range 5 {
		err := client.Refresh(t.Context())
		if says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, client.Report().FetchErr, says)
	}
}
