package main

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// environment is a fixed set of variables.
func environment(values map[string]string) boot.Lookup {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// execute runs a command line to its end, and stops it when it would go on.
func execute(t *testing.T, settings map[string]string, args ...string) (code int, out, errOut string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var o, e bytes.Buffer
	code = run(ctx, args, environment(settings), &o, &e)
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
			[]string{"REGISTRY_CREDENTIALS_SECRET", "REGISTRY_ENGINE_LISTEN"}},
		{"engine", []string{"REGISTRY_ENGINE_LISTEN", "REGISTRY_LEASE_TABLE"}, []string{"REGISTRY_LISTEN ", "REGISTRY_CACHE_REFRESH"}},
		{"pump", []string{"AWS_ENDPOINT_URL_DYNAMODB_STREAMS", "REGISTRY_EVICTION_INTERVAL"}, []string{"REGISTRY_LISTEN ", "REGISTRY_MAX_BODY"}},
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
		{[]string{"server"}, `no such command: "server"`},
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
	for _, name := range []string{
		"REGISTRY_LEASE_TABLE", "REGISTRY_DELTA_TABLE", "REGISTRY_CREDENTIALS_SECRET",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB_STREAMS", "REGISTRY_ENGINE_LISTEN",
		"ECS_CONTAINER_METADATA_URI", "ECS_CONTAINER_METADATA_URI_V4",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EXECUTION_ENV",
	} {
		code, out, errOut := execute(t, map[string]string{"REGISTRY_LISTEN": "127.0.0.1:0", name: "http://192.0.2.1/x"})
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
	for _, command := range []string{"serve", "pump"} {
		code, _, errOut := execute(t, map[string]string{
			"REGISTRY_LISTEN": "127.0.0.1:0", "AWS_ENDPOINT_URL_DYNAMODB": "http://" + address,
		}, command)
		assert.Equal(t, 1, code)
		assert.Contains(t, errOut, "no DynamoDB at http://"+address)
	}
}

func TestThePumpNeedsToKnowWhere(t *testing.T) {
	code, _, errOut := execute(t, nil, "pump")
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
