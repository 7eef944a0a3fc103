package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// exportedBy returns what `export` prints of the tables that settings name, and
// the leases in it without their times at the server and their versions.
func exportedBy(t *testing.T, settings ...string) (text string, leases []map[string]any) {
	t.Helper()
	r := launch(t, []string{"export"}, settings...)
	require.NoError(t, r.wait(t))
	text = r.output.String()
	require.NoError(t, json.Unmarshal([]byte(text), &leases))
	for _, l := range leases {
		for _, own := range []string{"registered", "renewed", "updated", "serviceUp", "version"} {
			delete(l, own)
		}
		// What an instance registered with says nothing of its override now.
		delete(l["registration"].(map[string]any)["instance"].(map[string]any), "overriddenStatus")
	}
	return text, leases
}

func (r *registry) request(t *testing.T, method, path, body string, want int) {
	t.Helper()
	status, answer, err := ask(t.Context(), method, r.url(path), body)
	require.NoError(t, err)
	require.Equal(t, want, status, string(answer))
}

// TestExportedFileIsImportedAgain: what `export` printed of one process's tables
// is registered with another process, with statuses, overrides, metadata, lease
// durations and dirty timestamps of any year.
func TestExportedFileIsImportedAgain(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		tables := func(prefix string) []string {
			return []string{"AWS_ENDPOINT_URL_DYNAMODB=" + e.Endpoint, "REGISTRY_LEASE_TABLE=" + prefix + "-leases", "REGISTRY_DELTA_TABLE=" + prefix + "-deltas"}
		}
		from := startRegistry(t, append(tables("restore-from"), "REGISTRY_CACHE_REFRESH=0s")...)
		for n, millis := range []string{"1700000000001", "1700000000000000", "9223372036854775807"} { // the second counts in microseconds
			id := fmt.Sprintf("i-%d", n)
			from.request(t, http.MethodPost, "/eureka/apps/SHOP", fmt.Sprintf(`{"instance": {"instanceId": %q, "hostName": "h", "app": "SHOP",
				"ipAddr": "192.0.2.1", "status": "UP", "metadata": {"zone": "ä\u001b", "n": "%d"}, "lastDirtyTimestamp": %q,
				"leaseInfo": {"renewalIntervalInSecs": 15, "durationInSecs": 3600},
				"dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`, id, n, millis), 204)
		}
		from.request(t, http.MethodPut, "/eureka/apps/SHOP/i-0/status?value=OUT_OF_SERVICE", "", 200)
		text, before := exportedBy(t, tables("restore-from")...)
		require.Len(t, before, 3)
		assert.Contains(t, text, `"lastDirty":"2023-11-14T22:13:20.001Z"`)
		assert.Contains(t, text, `"lastDirty":1700000000000000,`)
		assert.Contains(t, text, `"lastDirty":9223372036854775807,`)
		file := filepath.Join(t.TempDir(), "leases.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))

		to := startRegistry(t, append(tables("restore-to"), "REGISTRY_CACHE_REFRESH=0s")...)
		code, out, _ := execute(t, nil, "import", file, to.url("/eureka"), "--dry-run")
		assert.Zero(t, code)
		assert.Contains(t, out, "nothing was changed, this would be: 3 read: 3 registered")
		code, out, errOut := execute(t, nil, "import", file, to.url("/eureka"))
		assert.Zero(t, code, out+errOut)
		assert.Contains(t, out, "3 read: 3 registered, 0 changed")
		code, out, errOut = execute(t, nil, "compare", file, to.url("/eureka"))
		assert.Zero(t, code, out+errOut)
		_, after := exportedBy(t, tables("restore-to")...)
		assert.Equal(t, before, after)

		_, out, _ = execute(t, nil, "import", file, to.url("/eureka"))
		assert.Contains(t, out, "0 registered, 0 changed, 0 cancelled, 3 only renewed", "a second time changes nothing")
		to.request(t, http.MethodPut, "/eureka/apps/SHOP/i-0?status=UP&lastDirtyTimestamp=1700000000001", "", 200) // its client goes on
		code, _, errOut = execute(t, nil, "import", file, to.url("/eureka"), "--every", "30s")
		assert.Equal(t, 1, code)
		assert.Contains(t, errOut, "a file is imported once")
	})
}

// TestImportRefusesOtherFiles with a reason.
func TestImportRefusesOtherFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"empty":            {"", "not an exported file"},
		"another document": {`{"applications": {}}`, "not an exported file"},
		"cut off":          {"[\n{\"app\":\"A\"", "not an exported file"},
		"no registration":  {`[{"app":"A","instanceId":"a"}]`, "lease 1 of the file"},
		"another instance": {`[{"app":"A","instanceId":"a","registration":{"instance":{"hostName":"b","app":"A"}}}]`, `registration of "A/a" is that of another instance`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "leases.json")
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			code, out, errOut := execute(t, nil, "import", file, "http://127.0.0.1:1/eureka")
			assert.Equal(t, 1, code)
			assert.Empty(t, out)
			assert.Contains(t, errOut, c.says)
		})
	}
}
