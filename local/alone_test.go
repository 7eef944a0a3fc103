package main

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// TestEngineAndPumpAlone runs both as processes of their own, and the API in
// this one, as functions in the SAM CLI are beside them. They end well, also
// while a client holds a connection on which it has not asked for anything yet.
func TestEngineAndPumpAlone(t *testing.T) {
	address := freeAddress(t)
	endpoint := "AWS_ENDPOINT_URL_DYNAMODB=http://" + address
	engine := launch(t, []string{"engine"}, "REGISTRY_ENGINE_LISTEN="+address)
	engine.await(t, func() bool { return strings.Contains(engine.output.String(), endpoint) })
	background := launch(t, []string{"background"}, endpoint, "REGISTRY_EVICTION_INTERVAL=1s")
	background.await(t, func() bool { return strings.Contains(background.output.String(), "evictions every 1s") })
	assert.Contains(t, background.output.String(), "tables    eureka-leases, eureka-deltas\n", "the engine created them")

	api := apiAt(t, "http://"+address)
	require.Equal(t, http.StatusNoContent, call(api, http.MethodPost, "/eureka/apps/SHOP", instance("SHOP", "shop-1", 2)).Code)

	readsAction(t, api, "ADDED")
	readsAction(t, api, "DELETED")

	unused, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer unused.Close()
	for _, process := range []*registry{background, engine} {
		process.signal(t, os.Interrupt)
		assert.NoError(t, process.wait(t))
	}
}

// apiAt returns the API on an engine, without view and stream.
func apiAt(t *testing.T, endpoint string) http.Handler {
	t.Helper()
	config, err := boot.Load(environment(map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "REGISTRY_CACHE_REFRESH": "0s",
	}), boot.Local)
	require.NoError(t, err)
	p := &process{config: config, log: slog.New(slog.DiscardHandler)}
	b, err := connect(t.Context(), p)
	require.NoError(t, err)
	return b.parts(p).API()
}

func call(api http.Handler, method, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	api.ServeHTTP(w, req)
	return w
}

// readsAction waits until the delta tells an action of the instance.
func readsAction(t *testing.T, api http.Handler, action string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var a answer
		if json.Unmarshal(call(api, http.MethodGet, "/eureka/apps/delta", "").Body.Bytes(), &a) != nil {
			return false
		}
		i, _ := a.find("shop-1")
		return i.Action == action
	}, 10*time.Second, 20*time.Millisecond, action)
}
