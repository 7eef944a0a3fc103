package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// escapes clears a terminal in three ways, turns the direction of writing,
// and begins a line of its own.
const escapes = "\x1b[2J\u009b2J\x07\u202e\nforged: 0 differences\r"

// printsOnly fails when something in the output does not print, or began a line
// that the program did not begin.
func printsOnly(t *testing.T, output string) {
	t.Helper()
	for line := range strings.Lines(output) {
		line = strings.TrimSuffix(line, "\n")
		assert.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }), "%q", line)
		assert.False(t, strings.HasPrefix(strings.TrimSpace(line), "forged"), "%q", output)
	}
}

// TestWhatOthersNameReachesNoTerminal: whoever may register, and whoever answers
// as a registry, writes nothing but text to the terminal of an operator.
func TestWhatOthersNameReachesNoTerminal(t *testing.T) {
	endpoint := "AWS_ENDPOINT_URL_DYNAMODB=" + startEmulator(t)
	r := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s", endpoint)
	empty := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s")
	document, err := json.Marshal(map[string]any{"instance": map[string]any{
		"instanceId": "id" + escapes, "hostName": "h" + escapes, "app": "APP" + escapes, "ipAddr": escapes, "status": "UP",
		"metadata": map[string]string{"key" + escapes: "value" + escapes, ": \"a\" here": "b"}, "vipAddress": escapes, "homePageUrl": escapes,
		"dataCenterInfo": map[string]any{"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
	}})
	require.NoError(t, err)
	r.request(t, http.MethodPost, "/eureka/apps/"+url.PathEscape("APP"+escapes), string(document), 204)
	from, to := r.url("/eureka"), empty.url("/eureka")

	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/list/apps":
			fmt.Fprintf(w, `{"applications":{"application":[{"name":"A","instance":[%s]}]}}`, strings.TrimSuffix(strings.TrimPrefix(string(document), `{"instance":`), "}"))
		case "/nonsense/apps":
			fmt.Fprint(w, escapes)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "no"+escapes+"no")
		}
	}))
	defer failing.Close()

	export := launch(t, []string{"export"}, endpoint)
	require.NoError(t, export.wait(t))
	printsOnly(t, export.output.String())
	assert.Contains(t, export.output.String(), `\u009b2J`, "and it still is in the file")
	file := filepath.Join(t.TempDir(), "leases.json")
	require.NoError(t, os.WriteFile(file, []byte(export.output.String()), 0o600))

	for _, args := range [][]string{
		{"compare", from, to}, {"compare", file, to}, {"import", from, to, "--dry-run"},
		{"import", from, failing.URL + "/refuses"}, {"import", failing.URL + "/refuses", to}, {"import", failing.URL + "/nonsense", to},
		{"import", failing.URL + "/list", failing.URL + "/list"}, {"compare", failing.URL + "/list", to}, {"compare", from, failing.URL + "/list"},
		{"import", from, to}, {"compare", from, to}, {"import", file, to},
		{"import" + escapes}, {"import", escapes, escapes}, {"export", escapes}, {"import", "--" + escapes},
	} {
		_, out, errOut := execute(t, nil, args...)
		assert.NotEmpty(t, out+errOut, "%q", args)
		printsOnly(t, out)
		printsOnly(t, errOut)
	}
	_, before, _ := execute(t, nil, "compare", file, to)
	assert.Contains(t, before, "1 instances here, 1 there, 0 differences", "the file has the very names")
}
