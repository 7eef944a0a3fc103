package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestImportCompareExport drives the commands on two processes.
func TestImportCompareExport(t *testing.T) {
	endpoint := "AWS_ENDPOINT_URL_DYNAMODB=" + startEmulator(t)
	from := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s", endpoint)
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
	assert.Contains(t, out, "2 read: 2 registered, 0 changed, 0 cancelled, 0 only renewed, 0 newer there, 0 gone, 0 failed")
	code, out, _ = execute(t, nil, "compare", fromURL, toURL)
	assert.Zero(t, code, out)

	export := launch(t, []string{"export"}, endpoint)
	require.NoError(t, export.wait(t))
	var leases []map[string]any
	require.NoError(t, json.Unmarshal([]byte(export.output.String()), &leases))
	require.Len(t, leases, 2)
	assert.Equal(t, "SHOP", leases[0]["app"])
	assert.Equal(t, "a", leases[0]["instanceId"])
	assert.InDelta(t, 90, leases[0]["durationSeconds"], 0)
	assert.Contains(t, export.output.String(), `"ipAddr":"192.0.2.1"`)
}

// TestImportWithCredentials: they come from the environment, where no list of
// processes shows them, or from the URL, which counts first; they are never
// printed, and a registry that refuses them is told as what failed, not by a
// count of what was done.
func TestImportWithCredentials(t *testing.T) {
	const secret = "p@ss:w/rd %41#?-1"
	file := credentials(t, map[string]testUser{
		"ops":    {Role: "admin", Passwords: []string{secret}},
		"reader": {Role: "read", Passwords: []string{secret}},
	})
	r := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s", "REGISTRY_CREDENTIALS_FILE="+file)
	open := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s")
	closed, from := r.url("/eureka"), open.url("/eureka")
	open.register(t, "SHOP", "a", 90)
	inURL := func(user, password string) string {
		return strings.Replace(closed, "//", "//"+url.UserPassword(user, password).String()+"@", 1)
	}

	for name, c := range map[string]struct {
		from, to               string
		fromVariable, variable string
		code                   int
		says, lacks            string
	}{
		"right":                     {from, closed, "", "ops:" + secret, 0, "1 read: ", "broken off"},
		"right for both":            {closed, closed, "reader:" + secret, "ops:" + secret, 0, " read: ", "broken off"},
		"the URL's count first":     {from, inURL("ops", secret), "", "ops:wrong-" + secret, 0, "1 read: ", "broken off"},
		"none":                      {from, closed, "", "", 1, "answered 401", "Z 1 read: "},
		"none for the source":       {closed, from, "", "ops:" + secret, 1, "read the source: fetch applications: answered 401", " read: "},
		"wrong":                     {from, closed, "", "ops:wrong-" + secret, 1, "answered 401", "Z 1 read: "},
		"wrong in the URL":          {from, inURL("ops", "wrong-"+secret), "", "ops:" + secret, 1, "answered 401", "Z 1 read: "},
		"a role that is not enough": {from, closed, "", "reader:" + secret, 1, "answered 403", "Z 1 read: "},
		"no user":                   {from, closed, "", secret[:4], 1, "REGISTRY_TO_CREDENTIALS: not user:password", " read: "},
	} {
		t.Run(name, func(t *testing.T) {
			variables := map[string]string{"REGISTRY_FROM_CREDENTIALS": c.fromVariable, "REGISTRY_TO_CREDENTIALS": c.variable}
			code, out, errOut := execute(t, variables, "import", c.from, c.to)
			assert.Equal(t, c.code, code, out+errOut)
			assert.Contains(t, out+errOut, c.says)
			assert.NotContains(t, out, c.lacks)
			_, compared, compareErr := execute(t, variables, "compare", c.from, c.to)
			for _, shown := range []string{secret, url.QueryEscape(secret), url.UserPassword("", secret).String(), secret[:4]} {
				assert.NotContains(t, out+errOut+compared+compareErr, shown)
			}
		})
	}
	for _, command := range []string{"import", "compare"} {
		_, out, _ := execute(t, nil, command, "--help")
		assert.Regexp(t, `environment:\n  REGISTRY_FROM_CREDENTIALS +user:password`, out)
		assert.Contains(t, out, "REGISTRY_TO_CREDENTIALS")
	}
}

func TestCommandsSayWhatIsMissing(t *testing.T) {
	cases := []struct {
		args []string
		code int
		says string
	}{
		{[]string{"import"}, 2, "missing: FROM TO"},
		{[]string{"compare", "http://127.0.0.1:1/eureka"}, 2, "missing: TO"},
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
