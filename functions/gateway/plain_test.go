package gateway

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPlainRequests: what is made without the api-proxy is what it makes.
func TestPlainRequests(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	paths := []string{"/eureka/apps", "/eureka/apps/SHOP/a%2Fb", "/eureka/apps/SHOP/50%25", "/eureka/apps/Zürich", "//eureka//apps/", "//status", "/", "/a;b"}
	queries := []string{"", "status=UP&lastDirtyTimestamp=1", "note=a%2Bb%20c&note=d", "a=b=c&&%zz", "a b"}
	for _, file := range files {
		for _, path := range paths {
			for _, query := range queries {
				ev := plainEvent(t, file, path, query)
				raw, encoded := ev.rawQuery()
				if !encoded {
					assert.NotEmpty(t, ev.Query, "%s %s?%s", file, path, query)
					continue
				}
				want, err := ev.proxyRequest(raw)
				require.NoError(t, err)
				got := ev.plainRequest(raw)
				if got == nil {
					assert.Contains(t, query, " ", "%s %s", file, path)
					continue
				}
				assert.Equal(t, want.Method, got.Method)
				assert.Equal(t, want.URL.Path, got.URL.Path)
				assert.Equal(t, want.URL.EscapedPath(), got.URL.EscapedPath())
				assert.Equal(t, want.URL.RawQuery, got.URL.RawQuery)
				assert.Equal(t, want.ContentLength, got.ContentLength)
				assert.Equal(t, want.Proto, got.Proto)
				assert.Equal(t, http.NoBody, got.Body)
			}
		}
	}
}

// plainEvent is a fixture's event with another path and query and no body.
func plainEvent(t *testing.T, file, path, query string) *event {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	ev, err := decode(data)
	require.NoError(t, err)
	ev.Body, ev.Base64, ev.PathParameters = "", false, nil
	ev.Path, ev.RawPath, ev.RequestContext.HTTP.Path = path, path, path
	ev.RawQuery, ev.Query, ev.MultiQuery = "", nil, nil
	switch {
	case ev.payload == payload2:
		ev.RawQuery = query
	case query != "":
		ev.Query = map[string]string{"query": query}
	}
	return ev
}
