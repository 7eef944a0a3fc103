package boot_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/functions/boot"
)

func loadRegions(text string) (boot.Config, error) {
	return boot.Load(func(name string) (string, bool) {
		return map[string]string{"REGISTRY_REMOTE_REGIONS": text, "AWS_REGION": "us-east-1"}[name], true
	}, boot.Local)
}

// TestNoPasswordsInAFunctionsEnvironment: a function refuses them and says where
// they belong.
func TestNoPasswordsInAFunctionsEnvironment(t *testing.T) {
	for _, user := range []boot.User{boot.Read, boot.API} {
		for text, refused := range map[string]bool{
			"west=https://reader:secret-word@registry.example.org/eureka":                            true,
			"east=https://registry.example.org/eureka,west=https://reader:secret-word@x.example.org": true,
			"west=https://reader@registry.example.org/eureka":                                        true,
			"west=https://registry.example.org/eureka":                                               false,
		} {
			_, err := boot.Load(lookup(map[string]string{"REGISTRY_REMOTE_REGIONS": text, "REGISTRY_ANONYMOUS": "true"}), user)
			if !refused {
				assert.NoError(t, err, text)
				continue
			}
			require.ErrorContains(t, err, "west: the URL has credentials", text)
			assert.ErrorContains(t, err, "secret")
			assert.NotContains(t, err.Error(), "secret-word")
		}
	}
}

// TestRegionsAreReadWithTheSecretsLogin: the registry of another region gets the
// login that the document of credentials has for it, and no other region's.
func TestRegionsAreReadWithTheSecretsLogin(t *testing.T) {
	seen := make(chan string, 10)
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		seen <- r.URL.Path[:2] + user + ":" + password
		http.NotFound(w, r)
	}))
	defer remote.Close()
	p, _, _ := closedParts(t)
	text := strings.TrimSuffix(string(document()), "}") + `, "regions": {"west": {"user": "reader", "password": "a:b%"}, "other": {"user": "x", "password": "y"}}}`
	p.Guard = access.New(access.Config{
		Source: func(context.Context) ([]byte, error) { return []byte(text), nil }, Logger: slog.New(slog.DiscardHandler),
	})
	p.Config.RemoteRegions = []boot.RemoteRegion{{Name: "west", URL: remote.URL + "/w"}, {Name: "east", URL: remote.URL + "/e"}}
	got, ok := direct(p.API())(t, call{method: "GET", path: "/eureka/apps", query: "?regions=west,east", headers: map[string]string{
		"Authorization": basic("reader", passwordOf("reader")),
	}})
	require.True(t, ok)
	require.Equal(t, http.StatusOK, got.status, got.body)
	logins := map[string]bool{}
	for len(seen) > 0 {
		logins[<-seen] = true
	}
	assert.Equal(t, map[string]bool{"/wreader:a:b%": true, "/e:": true}, logins)
}

func TestRemoteRegions(t *testing.T) {
	cfg, err := loadRegions("us-west-2=https://ops:secret-word@registry.example.org/eureka, eu=http://127.0.0.1:1/eureka")
	require.NoError(t, err)
	assert.Equal(t, []boot.RemoteRegion{
		{Name: "us-west-2", URL: "https://ops:secret-word@registry.example.org/eureka"}, {Name: "eu", URL: "http://127.0.0.1:1/eureka"},
	}, cfg.RemoteRegions)
	assert.Equal(t, []boot.Value{{Name: "REGISTRY_REMOTE_REGIONS",
		Value: "us-west-2=https://***@registry.example.org/eureka, eu=http://127.0.0.1:1/eureka"}}, cfg.Changed(), "passwords are not shown")
	for _, wrong := range []string{"https://x/eureka", "a=x", "a=ftp://u:secret-word@x/", "a=http://x/,a=http://y/", "a b=http://x/", ","} {
		_, err := loadRegions(wrong)
		require.ErrorContains(t, err, "REGISTRY_REMOTE_REGIONS", wrong)
		assert.NotContains(t, err.Error(), "secret-word")
	}
}
