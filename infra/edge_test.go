package infra_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/memory"
)

// TestTheEdgeTellsApartWhatListsDo: the key of the cache in front holds every
// header that lists vary by, credentials among them, and the parameter that
// changes them; it holds nothing else, with which a client could have the
// registry asked each time.
func TestTheEdgeTellsApartWhatListsDo(t *testing.T) {
	key := dict(t, properties(t, "EdgeKey"), "CachePolicyConfig", "ParametersInCacheKeyAndForwardedToOrigin")
	headers := list(t, key, "HeadersConfig", "Headers")
	if text(t, key, "EnableAcceptEncodingGzip") == "true" {
		headers = append(headers, "Accept-Encoding")
	}

	var varies []any
	for header := range strings.SplitSeq(listAnswer(t).Get("Vary"), ", ") {
		varies = append(varies, header)
	}
	assert.ElementsMatch(t, varies, headers)
	assert.Equal(t, []any{"regions"}, list(t, key, "QueryStringsConfig", "QueryStrings"))
	assert.Equal(t, "none", text(t, key, "CookiesConfig", "CookieBehavior"))
}

// admitAll is a gate that lets everybody in.
type admitAll struct{}

func (admitAll) Admit(*http.Request, access.Level, string) error { return nil }

// listAnswer returns the headers of a list that needs credentials and that
// caches may keep.
func listAnswer(t *testing.T) http.Header {
	t.Helper()
	cfg, err := boot.Load(func(name string) (string, bool) {
		return "true", slices.Contains([]string{"REGISTRY_EDGE_CACHING", "REGISTRY_CREDENTIALS_SECRET"}, name)
	}, boot.Read)
	require.NoError(t, err)
	store := memory.New(memory.Config{})
	parts := &boot.Parts{
		Config: cfg, Tables: storage.Tables{LeaseTable: store, DeltaTable: store}, Guard: admitAll{},
		Log: slog.New(slog.DiscardHandler), Meter: handlers.Unmetered{}, Now: time.Now,
	}
	w := httptest.NewRecorder()
	parts.API().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/eureka/apps", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return w.Header()
}

// TestTheEdgeKeepsNothingUnasked: no answer that does not say so, and no error.
func TestTheEdgeKeepsNothingUnasked(t *testing.T) {
	policy := dict(t, properties(t, "EdgeKey"), "CachePolicyConfig")
	assert.Equal(t, "0", text(t, policy, "MinTTL"))
	assert.Equal(t, "0", text(t, policy, "DefaultTTL"))
	config := dict(t, properties(t, "Edge"), "DistributionConfig")
	var kept []string
	for _, e := range list(t, config, "CustomErrorResponses") {
		assert.Equal(t, "0", text(t, e, "ErrorCachingMinTTL"))
		kept = append(kept, text(t, e, "ErrorCode"))
	}
	// What CloudFront keeps for ten seconds by itself.
	assert.Equal(t, []string{"400", "403", "404", "405", "414", "500", "501", "502", "503", "504"}, kept)
}

// TestTheEdgeLetsEverythingThrough: every method of the API, and over TLS alone.
func TestTheEdgeLetsEverythingThrough(t *testing.T) {
	config := dict(t, properties(t, "Edge"), "DistributionConfig")
	behaviour := dict(t, config, "DefaultCacheBehavior")
	for _, route := range httpapi.Routes() {
		assert.Contains(t, list(t, behaviour, "AllowedMethods"), route.Method)
	}
	assert.NotContains(t, behaviour, "CachedMethods", "GET and HEAD alone are kept")
	assert.Equal(t, "https-only", text(t, behaviour, "ViewerProtocolPolicy"))
	for _, origin := range list(t, config, "Origins") {
		assert.Equal(t, "https-only", text(t, origin, "CustomOriginConfig", "OriginProtocolPolicy"))
	}
}
