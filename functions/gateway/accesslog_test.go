package gateway

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAccessLogHasALinePerRequest: only when it is asked for, and without the
// query or credentials.
func TestAccessLogHasALinePerRequest(t *testing.T) {
	event, err := os.ReadFile("testdata/url.json")
	require.NoError(t, err)
	for _, on := range []bool{true, false} {
		var lines bytes.Buffer
		h := New(Config{AccessLog: on, Log: slog.New(slog.NewJSONHandler(&lines, nil)), HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
		})})
		_, err := h.Invoke(t.Context(), event)
		require.NoError(t, err)
		if !on {
			assert.Empty(t, lines.String())
			continue
		}
		var line map[string]any
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line), "one line")
		assert.Equal(t, "request", line["msg"])
		assert.EqualValues(t, http.StatusNotFound, line["status"])
		assert.NotEmpty(t, line["method"])
		assert.NotEmpty(t, line["path"])
		assert.NotContains(t, line["path"], "?")
		assert.NotContains(t, lines.String(), "Basic")
	}
}
