package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestImportCompareExport drives the commands on two processes.
func TestImportCompareExport(t *testing.T) {
	engine := freeAddress(t)
	from := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s", "REGISTRY_ENGINE_LISTEN="+engine)
	to := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s")
	fromURL, toURL := from.url("/eureka"), to.url("/eureka/")
	for _, id := range []string{"b", "a"} {
		resp, err := http.Post(fromURL+"/apps/SHOP", "application/json", strings.NewReader(`{"instance": {
			"instanceId": "`+id+`", "hostName": "h", "app": "SHOP", "ipAddr": "192.0.2.1", "status": "UP",
			"dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, 204, resp.StatusCode)
	}
	code, out, errOut := execute(t, nil, "compare", fromURL, toURL)
	assert.Equal(t, 1, code)
	assert.Equal(t, "\"SHOP/a\": registered here, missing there\n\"SHOP/b\": registered here, missing there\n2 instances here, 0 there, 2 differences\n", out)
	assert.Contains(t, errOut, "differ")

	code, out, _ = execute(t, nil, "import", fromURL, toURL, "--dry-run")
	assert.Zero(t, code)
	assert.Contains(t, out, "nothing was changed, this would be: 2 read: 2 registered")
	code, out, _ = execute(t, nil, "import", fromURL, toURL)
	assert.Zero(t, code)
	assert.Contains(t, out, "2 read: 2 registered, 0 changed, 0 cancelled, 0 only renewed, 0 newer there, 0 failed")
	code, out, _ = execute(t, nil, "compare", fromURL, toURL)
	assert.Zero(t, code, out)

	export := launch(t, []string{"export"}, "AWS_ENDPOINT_URL_DYNAMODB=http://"+engine)
	require.NoError(t, export.wait(t))
	var leases []exportedLease
	require.NoError(t, json.Unmarshal([]byte(export.output.String()), &leases))
	require.Len(t, leases, 2)
	assert.Equal(t, "SHOP", leases[0].App)
	assert.Equal(t, "a", leases[0].ID)
	assert.Equal(t, 90.0, leases[0].DurationSec)
	assert.Contains(t, string(leases[0].Instance), `"ipAddr":"192.0.2.1"`)
}

func TestCommandsSayWhatIsMissing(t *testing.T) {
	cases := []struct {
		args []string
		code int
		says string
	}{
		{[]string{"import"}, 2, "missing: FROM TO"},
		{[]string{"compare", "http://127.0.0.1:1/eureka"}, 2, "missing: URL"},
		{[]string{"import", "http://secret@x/eureka", "http://127.0.0.1:1/eureka", "more"}, 2, "unexpected argument"},
		{[]string{"import", "--every", "soon", "a", "b"}, 2, "invalid value"},
		{[]string{"import", "here", "there"}, 1, "argument 1: not a registry's URL"},
		{[]string{"export"}, 1, "AWS_ENDPOINT_URL_DYNAMODB is not set"},
	}
	for _, c := range cases {
		code, out, errOut := execute(t, nil, c.args...)
		assert.Equal(t, c.code, code, c.args)
		assert.Empty(t, out)
		assert.Contains(t, errOut, c.says)
		assert.NotContains(t, errOut, "secret")
	}
}
