package boot_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/faulty"
)

// TestStoreHangs: where the database gives no answer, each function still gives
// one before its own time is over: 503 with a time to try again, or what a warm
// container has, with its age.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, c := parts(t, boot.Local, nil)
		m, hangs := meter{}, false
		p.Meter = m
		p.Tables = faulty.Wrap(p.Tables, func(storage.Operation, eureka.Key) faulty.Fault {
			if !hangs {
				return faulty.Fault{}
			}
			return faulty.Fault{Kind: faulty.NotApplied, Before: func(ctx context.Context) { <-ctx.Done() }}
		})
		write, warm, cold := p.Write(), p.Read(), p.Read()
		require.Equal(t, http.StatusNoContent, within(t, write, 10*time.Second, event(t, "POST", "/eureka/apps/SHOP", registration)).StatusCode)
		require.Equal(t, http.StatusOK, within(t, warm, 20*time.Second, event(t, "GET", "/eureka/apps", "")).StatusCode)

		hangs = true
		c.now = c.now.Add(5 * time.Minute)
		for _, request := range [][]byte{
			event(t, "PUT", "/eureka/apps/SHOP/shop-1", ""),
			event(t, "POST", "/eureka/apps/SHOP", registration),
			event(t, "DELETE", "/eureka/apps/SHOP/shop-1", ""),
		} {
			a := within(t, write, 10*time.Second, request)
			assert.Equal(t, http.StatusServiceUnavailable, a.StatusCode)
			assert.NotEmpty(t, a.header("Retry-After"))
		}
		stale := within(t, warm, 20*time.Second, event(t, "GET", "/eureka/apps", ""))
		assert.Equal(t, http.StatusOK, stale.StatusCode)
		assert.NotEmpty(t, stale.header("Registry-Age"))
		assert.Greater(t, m[handlers.RegistryAge], 299.0)
		none := within(t, cold, 20*time.Second, event(t, "GET", "/eureka/apps", ""))
		assert.Equal(t, http.StatusServiceUnavailable, none.StatusCode)
		assert.NotEmpty(t, none.header("Retry-After"))

		hangs = false
		c.now = c.now.Add(time.Minute)
		for _, h := range []invoker{warm, cold} {
			healed := within(t, h, 20*time.Second, event(t, "GET", "/eureka/apps", ""))
			assert.Equal(t, http.StatusOK, healed.StatusCode)
			assert.Empty(t, healed.header("Registry-Age"))
		}
	})
}

// gatewayAnswer is an answer as the gateway gets it.
type gatewayAnswer struct {
	StatusCode int
	Headers    map[string]string
}

func (a gatewayAnswer) header(name string) string {
	for n, value := range a.Headers {
		if http.CanonicalHeaderKey(n) == name {
			return value
		}
	}
	return ""
}

// within calls a function that may take so long, and demands an answer in time.
func within(t *testing.T, h invoker, limit time.Duration, payload []byte) gatewayAnswer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	answer, err := h.Invoke(ctx, payload)
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "the function timed out")
	var a gatewayAnswer
	require.NoError(t, json.Unmarshal(answer, &a))
	return a
}
