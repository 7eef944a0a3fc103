package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
)

// credentialSuites are, by folder, the user in EUREKA_URL, the command that runs a suite on a registry that asks for
// credentials, and the one that expects to be refused, as the password is wrong; "" for none.
var credentialSuites = map[string]struct{ user, works, refused string }{
	"spring":  {"team", "mvn -q -B test -Dtest=StoryTest#shortIntervals", "mvn -q -B test -Dtest=Refused"},
	"fargo":   {"team", "go test -count=1 ./...", "go test -count=1 -tags refused -run TestRefused ."},
	"js":      {"team", "node --test eureka.test.js", "node --test refused.js"},
	"python":  {"team", ".venv/bin/python -m unittest -v test_eureka", ".venv/bin/python -m unittest -v refused"},
	"browser": {"operator", "node --test closed.js", ""},
}

// password needs no encoding in a URL.
const password = "fV0-zD_6zGnU3vN1kQ2s"

// TestClientsWithCredentials runs the suites with credentials in the registry's URL, as clients are configured: those of
// a team that may register these applications and no others. With a wrong password each is refused, and says so.
func TestClientsWithCredentials(t *testing.T) {
	if testing.Short() {
		t.Skip("clients of other makers take minutes")
	}
	if os.Getenv("EUREKA_URL") != "" {
		t.Skip("the credentials of the registry at EUREKA_URL are not known")
	}
	require.NoError(t, openSources())
	for _, suite := range suites {
		commands, ok := credentialSuites[suite.folder]
		if !ok {
			continue
		}
		t.Run(suite.folder, func(t *testing.T) {
			install := suite.commands[:len(suite.commands)-1]
			requireTools(t, suite.commands)
			t.Parallel()
			open := startRegistry(t, "REGISTRY_CREDENTIALS_FILE="+writeCredentials(t))
			assertClosed(t, open)
			with := func(password string) string {
				return strings.Replace(open, "://", "://"+commands.user+":"+password+"@", 1)
			}
			for _, command := range install {
				run(t, suite.folder, open, command)
			}
			if commands.refused != "" {
				run(t, suite.folder, with("another-"+password), commands.refused)
			}
			run(t, suite.folder, with(password), commands.works)
		})
	}
}

// writeCredentials returns the name of a file with the credentials of a team and an operator, whose password is the same.
func writeCredentials(t *testing.T) string {
	t.Helper()
	hash, err := access.Hash(password)
	require.NoError(t, err)
	text, err := json.Marshal(map[string]any{"users": map[string]any{
		"team": map[string]any{
			"role": "register", "applications": []string{"SPRING-*", "FARGO-*", "JS-CLIENT", "PYTHON-CLIENT"}, "passwords": []string{hash},
		},
		"operator": map[string]any{"role": "admin", "passwords": []string{hash}},
	}})
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "credentials.json")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return name
}

// assertClosed makes sure that the suites prove something.
func assertClosed(t *testing.T, url string) {
	t.Helper()
	answer, err := http.Get(url + "/apps")
	require.NoError(t, err)
	answer.Body.Close()
	assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
}
