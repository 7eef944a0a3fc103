package gateway_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/gateway"
)

// TestFits: what is said to fit gets through, and what is a little larger is
// said not to.
func TestFits(t *testing.T) {
	bodies := map[string]struct {
		piece  string
		binary bool
	}{
		"JSON":    {`{"name":"value"},` + "\n\t\\", false},
		"XML":     {"<a>&amp;</a>\n", false},
		"control": {"\x01\x1f", false},
		"gzip":    {"\x1f\x8b\xff", true},
	}
	for name, tt := range bodies {
		t.Run(name, func(t *testing.T) {
			body := func(pieces int) []byte { return bytes.Repeat([]byte(tt.piece), pieces) }
			first := sort.Search(gateway.MaxAnswer/len(tt.piece), func(pieces int) bool {
				return !gateway.Fits(body(pieces), tt.binary)
			})
			require.Positive(t, first)
			assert.True(t, getsThrough(t, body(first-1)), "what is said to fit")
			assert.False(t, getsThrough(t, body(first+first/100)), "a hundredth more")
		})
	}
}

func getsThrough(t *testing.T, body []byte) bool {
	t.Helper()
	h := gateway.New(gateway.Config{
		Log: slog.New(slog.DiscardHandler),
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 4000))
			_, _ = w.Write(body)
		}),
	})
	envelope, err := h.Invoke(t.Context(), []byte(`{"httpMethod": "GET", "path": "/eureka/apps"}`))
	require.NoError(t, err)
	return !bytes.Contains(envelope[:200], []byte("406"))
}
