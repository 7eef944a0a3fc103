package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/fulltest"
)

// The passwords of the tests' users.
const (
	teamPassword     = "password-of-the-team"
	operatorPassword = "password-of-the-operator"
)

// credentials writes a file of users, each with passwords, and returns its name.
func credentials(t *testing.T, users map[string]testUser) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "credentials.json")
	writeCredentials(t, name, users)
	return name
}

// testUser is a user as the file has it, with passwords in place of hashes.
type testUser struct {
	Role         string   `json:"role"`
	Applications []string `json:"applications,omitempty"`
	Passwords    []string `json:"passwords"`
}

func writeCredentials(t *testing.T, name string, users map[string]testUser) {
	t.Helper()
	hashed := map[string]testUser{}
	for user, u := range users {
		var hashes []string
		for _, password := range u.Passwords {
			hash, err := access.Hash(password)
			require.NoError(t, err)
			hashes = append(hashes, hash)
		}
		u.Passwords = hashes
		hashed[user] = u
	}
	text, err := json.Marshal(map[string]any{"users": hashed})
	require.NoError(t, err)
	// A rename, so that nobody reads half of it.
	require.NoError(t, os.WriteFile(name+".new", text, 0o600))
	require.NoError(t, os.Rename(name+".new", name))
}

// as returns an URL with credentials in it, as clients have them.
func (r *registry) as(user, password, path string) string {
	return strings.Replace(r.url(path), "://", "://"+user+":"+password+"@", 1)
}

// TestCredentialsAreAskedFor in both ways of serving.
func TestCredentialsAreAskedFor(t *testing.T) {
	fulltest.Only(t, "hashes of passwords take seconds")
	file := credentials(t, map[string]testUser{
		"team":     {Role: "register", Applications: []string{"SHOP*"}, Passwords: []string{teamPassword}},
		"operator": {Role: "admin", Passwords: []string{operatorPassword}},
	})
	for _, events := range []string{"false", "true"} {
		t.Run("events="+events, func(t *testing.T) {
			r := startRegistry(t, "REGISTRY_CREDENTIALS_FILE="+file, "REGISTRY_LOCAL_EVENTS="+events, "REGISTRY_CACHE_REFRESH=0s")
			for _, c := range []struct {
				name, method, url, body string
				status                  int
			}{
				{"health is open", "GET", r.url("/health"), "", 200},
				{"nobody", "GET", r.url("/eureka/apps"), "", 401},
				{"wrong password", "GET", r.as("team", "wrong-password", "/eureka/apps"), "", 401},
				{"unknown user", "GET", r.as("nobody", teamPassword, "/eureka/apps"), "", 401},
				{"a reader of all", "GET", r.as("team", teamPassword, "/eureka/apps"), "", 200},
				{"its own", "POST", r.as("team", teamPassword, "/eureka/apps/SHOP-EU"), instance("SHOP-EU", "a", 90), 204},
				{"its own heartbeat", "PUT", r.as("team", teamPassword, "/eureka/apps/SHOP-EU/a"), "", 200},
				{"another's", "POST", r.as("team", teamPassword, "/eureka/apps/BILLING"), instance("BILLING", "b", 90), 403},
				{"anybody's", "POST", r.as("operator", operatorPassword, "/eureka/apps/BILLING"), instance("BILLING", "b", 90), 204},
			} {
				status, body, err := ask(t.Context(), c.method, c.url, c.body)
				require.NoError(t, err)
				assert.Equal(t, c.status, status, "%s: %s", c.name, body)
			}
			said := r.output.String()
			assert.Contains(t, said, "with credentials of "+file)
			for _, secret := range []string{teamPassword, operatorPassword, "wrong-password", "argon2"} {
				assert.NotContains(t, said, secret)
			}
		})
	}
}

// TestCredentialsThatCannotBeRead are told before anything is served.
func TestCredentialsThatCannotBeRead(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.json")
	code, _, errOut := execute(t, map[string]string{"REGISTRY_LISTEN": "127.0.0.1:0", "REGISTRY_CREDENTIALS_FILE": missing})
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "REGISTRY_CREDENTIALS_FILE")
	assert.Contains(t, errOut, missing)
}

// TestRateLimit: reads of a client that asks too often are told to wait, those
// of privileged clients and renewals are not.
func TestRateLimit(t *testing.T) {
	r := startRegistry(t, "REGISTRY_RATE_LIMIT=0.1", "REGISTRY_PRIVILEGED_CLIENTS=DefaultServer")
	r.register(t, "SHOP", "a", 90)
	answer := func(method, path, name string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, r.url(path), nil)
		require.NoError(t, err)
		req.Header.Set("DiscoveryIdentity-Name", name)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		return resp
	}
	assert.Equal(t, 200, answer("GET", "/eureka/apps", "DefaultClient").StatusCode)
	second := answer("GET", "/eureka/apps/delta", "DefaultClient")
	assert.Equal(t, 429, second.StatusCode)
	assert.Regexp(t, `^([89]|10)$`, second.Header.Get("Retry-After"))
	for range 5 {
		assert.Equal(t, 200, answer("GET", "/eureka/apps", "DefaultServer").StatusCode)
		assert.Equal(t, 200, answer("PUT", "/eureka/apps/SHOP/a", "DefaultClient").StatusCode)
		assert.Equal(t, 200, answer("GET", "/health", "DefaultClient").StatusCode)
	}
}

// hashOf runs the sub-command credentials.
func hashOf(t *testing.T, input string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := runCredentials(t.Context(), &process{in: strings.NewReader(input), out: &out})
	return out.String(), err
}

func TestCredentialsCommand(t *testing.T) {
	for _, input := range []string{teamPassword, teamPassword + "\n", teamPassword + "\r\nmore\n"} {
		hash, err := hashOf(t, input)
		require.NoError(t, err)
		assert.Regexp(t, `^\$argon2id\$v=19\$m=7168,t=5,p=1\$[^$]+\$[^$]+\n$`, hash)
	}
	for _, input := range []string{"", "\n", "short\n", "grö" + teamPassword} {
		_, err := hashOf(t, input)
		assert.Error(t, err, "%.20q", input)
	}
}

// TestCredentialsCommandEndsAtAnInterrupt while it waits for a password.
func TestCredentialsCommandEndsAtAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, terminal := io.Pipe()
	defer terminal.Close()
	cancel()
	err := runCredentials(ctx, &process{in: in, out: io.Discard})
	assert.ErrorIs(t, err, context.Canceled)
}

// TestCredentialsCommandReadsNoSettings: the file need not be there before its
// first hash is made, and passwords are not taken from the command line.
func TestCredentialsCommandReadsNoSettings(t *testing.T) {
	r := launch(t, []string{"credentials"}, "REGISTRY_LISTEN=0.0.0.0:8761", "REGISTRY_LOG_LEVEL=wrong")
	err := r.wait(t)
	assert.Equal(t, 1, exitCode(err), "an empty input is no password")
	assert.Contains(t, r.output.String(), "shorter than")
	assert.NotContains(t, r.output.String(), "REGISTRY_")

	code, out, errOut := execute(t, nil, "credentials", teamPassword)
	assert.Equal(t, 2, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "unexpected argument")
	assert.NotContains(t, errOut, teamPassword)
	code, out, _ = execute(t, nil, "credentials", "--help")
	assert.Zero(t, code)
	assert.Contains(t, out, "standard input")
	assert.NotContains(t, out, "environment:")
}
