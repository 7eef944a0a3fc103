package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// environment is a fixed set of variables.
func environment(values map[string]string) boot.Lookup { return lookupIn(variables(values)) }

// variables are a set of them in the form of os.Environ.
func variables(values map[string]string) []string {
	var out []string
	for name, value := range values {
		out = append(out, name+"="+value)
	}
	return out
}

// execute runs a command line to its end, and stops it when it would go on.
func execute(t *testing.T, settings map[string]string, args ...string) (code int, out, errOut string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var o, e bytes.Buffer
	code = run(ctx, args, variables(settings), &o, &e)
	require.NoError(t, ctx.Err(), "it went on\n%s%s", &o, &e)
	return code, o.String(), e.String()
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}} {
		code, out, errOut := execute(t, nil, args...)
		assert.Zero(t, code)
		assert.Empty(t, errOut)
		for _, c := range commands() {
			assert.Contains(t, out, "  "+c.name+" ")
		}
	}
}

func TestHelpOfACommandListsItsSettings(t *testing.T) {
	cases := []struct {
		command   string
		has, lack []string
	}{
		{"serve", []string{"REGISTRY_LISTEN ", "127.0.0.1:8761", "REGISTRY_CACHE_REFRESH", "AWS_ENDPOINT_URL_DYNAMODB "},
			[]string{"REGISTRY_STREAMING", "REGISTRY_ENGINE_LISTEN"}},
		{"engine", []string{"REGISTRY_ENGINE_LISTEN", "REGISTRY_LEASE_TABLE"}, []string{"REGISTRY_LISTEN ", "REGISTRY_CACHE_REFRESH"}},
		{"background", []string{"AWS_ENDPOINT_URL_DYNAMODB_STREAMS", "REGISTRY_EVICTION_INTERVAL"}, []string{"REGISTRY_LISTEN ", "REGISTRY_MAX_BODY"}},
	}
	for _, c := range cases {
		t.Run(c.command, func(t *testing.T) {
			code, out, errOut := execute(t, nil, c.command, "--help")
			assert.Zero(t, code)
			assert.Empty(t, errOut)
			assert.Contains(t, out, "usage: registry "+c.command)
			for _, text := range c.has {
				assert.Contains(t, out, text)
			}
			for _, text := range c.lack {
				assert.NotContains(t, out, text)
			}
		})
	}
}

func TestWrongCommandLines(t *testing.T) {
	cases := []struct {
		args []string
		says string
	}{
		{[]string{"server"}, "no such command: \"server\"; did you mean serve?"},
		{[]string{"Export"}, "did you mean export?"},
		{[]string{"dance"}, "no such command: \"dance\"\n"},
		{[]string{"serve", "now"}, `unexpected argument: "now"`},
		{[]string{"--port", "1"}, "flag provided but not defined: -port"},
	}
	for _, c := range cases {
		code, out, errOut := execute(t, nil, c.args...)
		assert.Equal(t, 2, code)
		assert.Empty(t, out)
		assert.Contains(t, errOut, c.says)
		assert.Contains(t, errOut, "usage: registry")
	}
}

// TestAMistypedCommandIsToldShortly: the list of commands is for who asks for
// it. (Case H41.)
func TestAMistypedCommandIsToldShortly(t *testing.T) {
	_, _, errOut := execute(t, nil, "sevre")
	assert.Equal(t, "no such command: \"sevre\"; did you mean serve?\nusage: registry [command] [--help]; `registry help` lists the commands\n", errOut)
}

// TestVersion: also where settings are wrong. (Case H41.)
func TestVersion(t *testing.T) {
	for _, arg := range []string{"--version", "-version", "version"} {
		code, out, errOut := execute(t, map[string]string{"REGISTRY_CACHE_REFRESH": "soon"}, arg)
		assert.Zero(t, code)
		assert.Regexp(t, `^registry \S.*, go1\.\d+.*, \w+/\w+\n$`, out)
		assert.Empty(t, errOut)
	}
	for want, build := range map[string]*debug.BuildInfo{
		"unknown": nil,
		"v1.2.3":  {Main: debug.Module{Version: "v1.2.3"}},
		"commit 0123456789ab": {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "false"}}},
		"commit 0123456789ab, changed since": {Settings: []debug.BuildSetting{
			{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "0123456789abcdef"}}},
	} {
		assert.Equal(t, want, versionOf(build))
	}
}

// TestHelpOfExportAgreesWithItself: the endpoint must be set, and nothing else
// is said of it. (Case H41.)
func TestHelpOfExportAgreesWithItself(t *testing.T) {
	for _, command := range []string{"export", "background"} {
		_, out, _ := execute(t, nil, command, "--help")
		assert.Regexp(t, `AWS_ENDPOINT_URL_DYNAMODB +must be set `, out)
		assert.NotContains(t, out, "embedded engine")
	}
	_, out, _ := execute(t, nil, "export", "--help")
	assert.NotContains(t, out, "REGISTRY_DELTA_TABLE")
}

// TestSettingsThatNobodyReadAreRefused: with the nearest right one, and only by
// commands that read settings. (Case H37.)
func TestSettingsThatNobodyReadAreRefused(t *testing.T) {
	settings := map[string]string{"REGISTRY_CHACHE_REFRESH": "5s", "REGISTRY_STREAMING": "true", "REGISTRY_LISTEN": "127.0.0.1:0"}
	for _, command := range []string{"serve", "engine", "background", "export"} {
		code, out, errOut := execute(t, settings, command)
		assert.Equal(t, 2, code, command)
		assert.Empty(t, out)
		assert.Contains(t, errOut, "  REGISTRY_CHACHE_REFRESH is not read: there is no such setting; the nearest is REGISTRY_CACHE_REFRESH\n")
		assert.Contains(t, errOut, "  REGISTRY_STREAMING is not read by the local process")
	}
	code, _, _ := execute(t, settings, "version")
	assert.Zero(t, code)
	assert.Empty(t, unread(variables(map[string]string{"REGISTRY_FROM_CREDENTIALS": "a:b", "REGISTRY_TEST_REQUIRE_ALL": "1"})),
		"what another command or the tests read")
}

// TestAnAddressWithoutAPortIsTold: and nothing of open access. (Case H38.)
func TestAnAddressWithoutAPortIsTold(t *testing.T) {
	code, _, errOut := execute(t, map[string]string{"REGISTRY_LISTEN": "8921"})
	assert.Equal(t, 2, code)
	assert.Contains(t, errOut, "port is missing")
	assert.NotContains(t, errOut, "REGISTRY_ANONYMOUS")
}

func TestReachable(t *testing.T) {
	for address, want := range map[string]string{
		"[::]:8921": "127.0.0.1:8921", "0.0.0.0:8921": "127.0.0.1:8921", "127.0.0.1:8921": "127.0.0.1:8921",
		"[::1]:8921": "[::1]:8921", "192.0.2.1:80": "192.0.2.1:80", "odd": "odd",
	} {
		assert.Equal(t, want, reachable(address))
	}
}

// TestBadCredentialsFileIsOneLine: it names the file and the reason. (Case H38.)
func TestBadCredentialsFileIsOneLine(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct{ content, reason string }{
		"empty":      {"", "the document is empty"},
		"blank":      {" \n", "the document is empty"},
		"cut off":    {`{"users": {`, "the JSON is cut off"},
		"not JSON":   {`users: none`, "no JSON at byte 1"},
		"no users":   {`{"users": {}}`, "no users"},
		"unknown":    {`{"user": {}}`, "unknown field"},
		"wrong kind": {`{"users": 5}`, "wrong kind of value"},
		"two faults": {`{"users": {"a": {"role": "boss", "passwords": ["x"]}, "b": {"role": "read"}}}`, "; "},
		"and more":   {`{"users": {}} x`, "something follows"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(folder, name)
			require.NoError(t, os.WriteFile(file, []byte(c.content), 0o600))
			assertOneLine(t, file, c.reason)
		})
	}
	assertOneLine(t, filepath.Join(folder, "missing"), "no such file or directory")
	assertOneLine(t, folder, "is a directory")
}

func assertOneLine(t *testing.T, file, reason string) {
	t.Helper()
	code, out, errOut := execute(t, map[string]string{"REGISTRY_LISTEN": "127.0.0.1:0", "REGISTRY_CREDENTIALS_FILE": file})
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	assert.Contains(t, errOut, file+": ")
	assert.Contains(t, errOut, reason)
	assert.NotContains(t, errOut, "store")
}

func TestWrongSettingsAreToldAllAtOnce(t *testing.T) {
	code, out, errOut := execute(t, map[string]string{"REGISTRY_CACHE_REFRESH": "soon", "REGISTRY_LOCAL_EVENTS": "maybe"})
	assert.Equal(t, 2, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "REGISTRY_CACHE_REFRESH")
	assert.Contains(t, errOut, "REGISTRY_LOCAL_EVENTS")
}

func TestOtherMachinesAreServedOnlyWhenThatIsAskedFor(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:8761"} {
		code, _, errOut := execute(t, map[string]string{"REGISTRY_LISTEN": address})
		assert.Equal(t, 2, code, address)
		assert.Contains(t, errOut, "REGISTRY_ANONYMOUS=true")
	}
}

func TestAnAddressThatIsTakenIsTold(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	address := taken.Addr().String()

	for command, name := range map[string]string{"serve": "REGISTRY_LISTEN", "engine": "REGISTRY_ENGINE_LISTEN"} {
		code, _, errOut := execute(t, map[string]string{name: address}, command)
		assert.Equal(t, 1, code)
		assert.Contains(t, errOut, name)
		assert.Contains(t, errOut, address)
	}
}

// TestTablesInMemoryAreRefused: a process that is told of tables elsewhere, and
// not where, does not serve from tables of its own.
func TestTablesInMemoryAreRefused(t *testing.T) {
	const url = "http://192.0.2.1/x"
	for name, value := range map[string]string{
		"REGISTRY_LEASE_TABLE": "leases", "REGISTRY_DELTA_TABLE": "deltas", "REGISTRY_CREDENTIALS_SECRET": "arn:x",
		"AWS_ENDPOINT_URL": url, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": url, "REGISTRY_ENGINE_LISTEN": "127.0.0.1:0",
		"ECS_CONTAINER_METADATA_URI": url, "ECS_CONTAINER_METADATA_URI_V4": url,
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": url, "AWS_CONTAINER_CREDENTIALS_FULL_URI": url, "AWS_EXECUTION_ENV": url,
	} {
		code, out, errOut := execute(t, map[string]string{"REGISTRY_LISTEN": "127.0.0.1:0", name: value})
		assert.Equal(t, 1, code, name)
		assert.Empty(t, out, name)
		assert.Contains(t, errOut, name)
	}
	code, out, errOut := execute(t, map[string]string{"REGISTRY_LISTEN": "127.0.0.1:0", "REGISTRY_BACKGROUND": "false"})
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "REGISTRY_BACKGROUND=false")
}

func TestAnEngineThatDoesNotAnswerIsTold(t *testing.T) {
	address := freeAddress(t)
	for _, command := range []string{"serve", "background"} {
		code, _, errOut := execute(t, map[string]string{
			"REGISTRY_LISTEN": "127.0.0.1:0", "AWS_ENDPOINT_URL_DYNAMODB": "http://" + address,
		}, command)
		assert.Equal(t, 1, code)
		assert.Contains(t, errOut, "no DynamoDB at http://"+address)
	}
}

func TestThePumpNeedsToKnowWhere(t *testing.T) {
	code, _, errOut := execute(t, nil, "background")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "AWS_ENDPOINT_URL_DYNAMODB")
}

func TestStreamsEndpoint(t *testing.T) {
	cases := []struct {
		name         string
		db, streams  string
		wantEndpoint string
	}{
		{"the same engine", "http://127.0.0.1:8000", "", "http://127.0.0.1:8000"},
		{"another address", "http://127.0.0.1:8000", "http://127.0.0.1:8001", "http://127.0.0.1:8001"},
		{"AWS has its own", "https://dynamodb.eu-west-1.amazonaws.com", "", ""},
		{"AWS, dual stack", "https://dynamodb.eu-west-1.api.aws", "", ""},
		{"a host that only looks like it", "http://amazonaws.com.example.org", "", "http://amazonaws.com.example.org"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config := boot.Config{DynamoDBEndpoint: c.db, StreamsEndpoint: c.streams}
			assert.Equal(t, c.wantEndpoint, streamsEndpoint(config))
		})
	}
}

// TestServiceBuildHasNoEmulator: it would be a third of the program that `make
// run` starts and of the image.
func TestServiceBuildHasNoEmulator(t *testing.T) {
	for tags, want := range map[string]bool{"": true, "noemulator": false} {
		list, err := exec.Command("go", "list", "-deps", "-tags", tags, ".").Output()
		require.NoError(t, err)
		assert.Equal(t, want, bytes.Contains(list, []byte("github.com/sivchari/kumo")), tags)
	}
}
