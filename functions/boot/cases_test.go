package boot_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/gateway"
)

// TestH24: 5,000 instances of 1.5 KB do not get through a function as they are,
// which is a 406 that says what to do and a line in the log, and do with gzip.
func TestH24(t *testing.T) {
	const instances = 5000
	p, store, c := parts(t, boot.Local, nil)
	var log bytes.Buffer
	p.Log = slog.New(slog.NewTextHandler(&log, nil))
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range instances {
		l := largeLease(n, rng)
		l.Dirty, l.Updated, l.Registered, l.Renewed = c.now, c.now, c.now, c.now
		if size := len(wire.Encoding{Format: wire.JSON}.AppendInstanceDocument(nil, l.Effective())); n == 0 {
			require.InDelta(t, 1500, size, 150, "bytes an instance")
		}
		require.NoError(t, store.Register(t.Context(), registry.Registration{Lease: l}))
	}
	read := p.Read()

	zipped, size := askForAll(t, read, map[string]string{"accept-encoding": "gzip"})
	require.Equal(t, http.StatusOK, zipped.StatusCode)
	require.True(t, zipped.IsBase64Encoded)
	assert.Less(t, size, gateway.MaxAnswer/2, "the whole answer, base64 counted")
	plain := unpack(t, zipped.Body)
	assert.Greater(t, len(plain), gateway.MaxAnswer)
	assert.Len(t, idsOf(t, plain), instances)
	assert.Empty(t, log.String())

	refused, size := askForAll(t, read, map[string]string{})
	assert.Equal(t, http.StatusNotAcceptable, refused.StatusCode)
	assert.Less(t, size, 2000)
	assert.Contains(t, refused.Body, "Accept-Encoding: gzip")
	assert.Contains(t, log.String(), "response too large")
}

// functionAnswer is what a function answers to an event of an HTTP API.
type functionAnswer struct {
	StatusCode      int
	Body            string
	IsBase64Encoded bool
}

// askForAll asks the function for everything, and returns the answer and how
// many bytes it took.
func askForAll(t *testing.T, read invoker, headers map[string]string) (answer functionAnswer, size int) {
	t.Helper()
	headers["accept"] = "application/json"
	payload, err := json.Marshal(map[string]any{
		"version": "2.0", "rawPath": "/eureka/apps", "headers": headers,
		"requestContext": map[string]any{"http": map[string]string{"method": "GET", "path": "/eureka/apps"}},
	})
	require.NoError(t, err)
	raw, err := read.Invoke(t.Context(), payload)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &answer))
	return answer, len(raw)
}

// unpack undoes base64 and gzip.
func unpack(t *testing.T, body string) []byte {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(body)
	require.NoError(t, err)
	unpacker, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	plain, err := io.ReadAll(unpacker)
	require.NoError(t, err)
	return plain
}

// idsOf returns the ids of all instances in a list.
func idsOf(t *testing.T, list []byte) map[string]bool {
	t.Helper()
	var document struct {
		Applications struct {
			Application []struct {
				Instance []struct{ InstanceID string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(list, &document))
	ids := map[string]bool{}
	for _, app := range document.Applications.Application {
		for _, i := range app.Instance {
			ids[i.InstanceID] = true
		}
	}
	return ids
}

// largeLease is one instance of a fleet, with metadata that does not pack well.
func largeLease(n int, rng *rand.Rand) eureka.Lease {
	metadata := map[string]string{}
	for k := range 11 {
		metadata[fmt.Sprintf("setting-%d", k)] = fmt.Sprintf("%016x-%016x-%016x", rng.Uint64(), rng.Uint64(), rng.Uint64())
	}
	app, id := fmt.Sprintf("SHOP-%02d", n%50), fmt.Sprintf("shop-%04d", n)
	return eureka.Lease{
		Key: eureka.NewKey(app, id),
		Instance: &eureka.InstanceInfo{
			InstanceID: id, HostName: id + ".example.org", App: app, IPAddr: "192.0.2.10", Status: eureka.Up,
			Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 8443}, CountryID: 1,
			DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
			VIPAddress: "shop", HomePageURL: "http://" + id + ".example.org:8080/", Metadata: metadata,
		},
		Status: eureka.Up, Action: eureka.Added,
		Interval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration,
	}
}
