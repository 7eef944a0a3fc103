package gateway

import (
	"bytes"
	"log/slog"
	"net/http"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFits: what is said to fit gets through, and what is a little larger is
// said not to.
func TestFits(t *testing.T) {
	bodies := map[string]struct {
		piece string
		fits  func([]byte) bool
	}{
		"JSON":    {`{"name":"value"},` + "\n\t\\", textFits},
		"XML":     {"<a>&amp;</a>\n", textFits},
		"control": {"\x01\x1f", textFits},
		"gzip":    {"\x1f\x8b\xff", binaryFits},
	}
	for name, tt := range bodies {
		t.Run(name, func(t *testing.T) {
			body := func(pieces int) []byte { return bytes.Repeat([]byte(tt.piece), pieces) }
			first := sort.Search(MaxAnswer/len(tt.piece), func(pieces int) bool {
				return !tt.fits(body(pieces))
			})
			require.Positive(t, first)
			assert.True(t, getsThrough(t, body(first-1)), "what is said to fit")
			assert.False(t, getsThrough(t, body(first+first/100)), "a hundredth more")
		})
	}
}

func getsThrough(t *testing.T, body []byte) bool {
	t.Helper()
	h := New(Config{
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
