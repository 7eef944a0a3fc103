// Package enginetest starts engines that speak DynamoDB's protocol, for tests.
//
// No engine is the database itself, so a test runs on each that is there:
// kumo, in the test's own process, always; dynoxide, the more faithful one,
// where everything is asked for (package fulltest) or REGISTRY_TEST_DYNOXIDE
// names it; and any endpoint that REGISTRY_TEST_DYNAMODB names, such as DynamoDB
// Local.
package enginetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/sivchari/kumo"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/sdkconfig"
)

// Variables that the tests look at.
const (
	// EnvDynoxide is the path of dynoxide's binary; without it PATH is
	// searched, and an npm folder in the user's cache (see [dynoxideFolder]).
	EnvDynoxide = "REGISTRY_TEST_DYNOXIDE"
	// EnvEndpoint is the URL of a further engine.
	EnvEndpoint = "REGISTRY_TEST_DYNAMODB"
)

// Engine is a running engine.
type Engine struct {
	Name     string
	Endpoint string
}

// Each runs a test on each engine, in subtests of their names.
func Each(t *testing.T, test func(t *testing.T, e Engine)) {
	t.Helper()
	t.Run("kumo", func(t *testing.T) { test(t, Kumo(t)) })
	t.Run("dynoxide", func(t *testing.T) { test(t, Dynoxide(t)) })
	if endpoint := os.Getenv(EnvEndpoint); endpoint != "" {
		t.Run("endpoint", func(t *testing.T) { test(t, Engine{Name: "endpoint", Endpoint: endpoint}) })
	}
}

// starting is held while a kumo is made: all of a process's share their
// services, which the making of each wires up anew.
var starting sync.Mutex

// Kumo starts the engine that is embedded in the process. All of a process's
// kumos have the same tables.
func Kumo(t testing.TB) Engine {
	t.Helper()
	starting.Lock()
	server := kumo.NewServer()
	starting.Unlock()
	t.Cleanup(server.Close)
	return Engine{Name: "kumo", Endpoint: server.URL}
}

// Dynoxide starts a dynoxide of the test's own, in memory.
func Dynoxide(t testing.TB) Engine {
	t.Helper()
	return dynoxide(t)
}

// DynoxideOn starts a dynoxide of the test's own that keeps its tables in a
// file.
func DynoxideOn(t testing.TB, file string) Engine {
	t.Helper()
	return dynoxide(t, "--db-path", file)
}

// DynoxideBinary returns the path of dynoxide's binary, for a test that starts
// and stops it itself.
func DynoxideBinary(t testing.TB) string {
	t.Helper()
	if os.Getenv(EnvDynoxide) == "" {
		fulltest.Only(t, "it needs dynoxide, which $"+EnvDynoxide+" would name")
	}
	binary, err := findDynoxide()
	require.NoError(t, err)
	return binary
}

func dynoxide(t testing.TB, options ...string) Engine {
	t.Helper()
	binary := DynoxideBinary(t)
	for range 3 { // another process may take the port meanwhile
		if e, ok := startDynoxide(t, binary, options...); ok {
			return e
		}
	}
	t.Fatalf("%s does not start", binary)
	return Engine{}
}

// dynoxideFolder is where `npm install --prefix` puts the binary, under the
// user's cache folder.
const dynoxideFolder = "eureka-registry/node_modules/@dynoxide/linux-x64"

func findDynoxide() (string, error) {
	if path := os.Getenv(EnvDynoxide); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath("dynoxide"); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, dynoxideFolder, "dynoxide")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no dynoxide in PATH, at $%s or at %s: npm install --prefix %s @dynoxide/linux-x64@1.2.1",
			EnvDynoxide, path, filepath.Join(cache, "eureka-registry"))
	}
	return path, nil
}

// startDynoxide reports false when it ended instead of listening.
func startDynoxide(t testing.TB, binary string, options ...string) (Engine, bool) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)

	ctx, stop := context.WithCancel(context.Background())
	var output bytes.Buffer
	command := exec.CommandContext(ctx, binary, append([]string{"serve", "--host", "127.0.0.1", "--port", port}, options...)...)
	command.Stdout, command.Stderr = &output, &output
	require.NoError(t, command.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // it is killed
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		if t.Failed() {
			t.Logf("dynoxide said:\n%s", output.String())
		}
	})
	return Engine{Name: "dynoxide", Endpoint: "http://" + address}, listens(ended, address)
}

// listens waits until the address takes connections, or the process ended.
func listens(ended <-chan struct{}, address string) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(15 * time.Second)
	defer limit.Stop()
	for {
		if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			_ = c.Close()
			return true
		}
		select {
		case <-ended:
			return false
		case <-limit.C:
			return false
		case <-tick.C:
		}
	}
}

// Client returns a client for the engine.
func (e Engine) Client(t testing.TB, options ...func(*awsdynamodb.Options)) *awsdynamodb.Client {
	t.Helper()
	client, err := sdkconfig.NewClient(t.Context(), dynamodb.ClientConfig{Endpoint: e.Endpoint}, options...)
	require.NoError(t, err)
	return client
}

// Tables creates tables of the test's own and returns their names in a Config.
// At another than a loopback endpoint they must be created some other way, and
// the test fails.
func (e Engine) Tables(t testing.TB) dynamodb.Config {
	t.Helper()
	suffix := strings.ToLower(rand.Text())
	cfg := dynamodb.Config{
		LeaseTable: "leases-" + suffix, DeltaTable: "deltas-" + suffix,
		ConsistentDeltas: true,
		Logger:           slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	client := e.Client(t)
	_, err := dynamodb.CreateTables(t.Context(), client, cfg.LeaseTable, cfg.DeltaTable)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, name := range []string{cfg.LeaseTable, cfg.DeltaTable} {
			_, err := client.DeleteTable(context.WithoutCancel(t.Context()), &awsdynamodb.DeleteTableInput{TableName: aws.String(name)})
			if err != nil {
				t.Logf("delete table %s: %v", name, err)
			}
		}
	})
	return cfg
}

// Store returns a store on tables of the test's own.
func (e Engine) Store(t testing.TB) *dynamodb.Store {
	t.Helper()
	return dynamodb.New(e.Client(t), e.Tables(t))
}
