package handlers_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/gateway"
	"github.com/eurekaless/registry/functions/handlers"
)

// TestHTTP: the fixtures of both functions are answered, within the
// invocation's time, and the age of the registry is measured.
func TestHTTP(t *testing.T) {
	for name, method := range map[string]string{"../write/event.json": "PUT", "../read/event.json": "GET"} {
		var seen *http.Request
		var deadline time.Time
		m := meter{}
		h := handlers.NewHTTP(handlers.HTTPConfig{
			Meter: m,
			Age:   func() (time.Duration, bool) { return 3 * time.Second, true },
			Gateway: gateway.New(gateway.Config{HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen = r
				deadline, _ = r.Context().Deadline()
			})}),
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		answer, err := h.Invoke(ctx, read(t, name))
		invocation, _ := ctx.Deadline()
		cancel()
		require.NoError(t, err)
		var a struct{ StatusCode int }
		require.NoError(t, json.Unmarshal(answer, &a))
		assert.Equal(t, http.StatusOK, a.StatusCode)
		assert.Equal(t, method, seen.Method)
		assert.Equal(t, 500*time.Millisecond, invocation.Sub(deadline))
		assert.Equal(t, 3.0, m[handlers.RegistryAge])
	}
}

// TestHTTPWithoutView: before there is a view it has no age.
func TestHTTPWithoutView(t *testing.T) {
	m := meter{}
	h := handlers.NewHTTP(handlers.HTTPConfig{
		Meter: m, Gateway: gateway.New(gateway.Config{HTTP: http.NotFoundHandler()}),
		Age: func() (time.Duration, bool) { return 0, false },
	})
	_, err := h.Invoke(t.Context(), read(t, "../read/event.json"))
	require.NoError(t, err)
	assert.Empty(t, m)
}
