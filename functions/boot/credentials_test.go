package boot_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// secrets is a Secrets Manager of one secret.
type secrets struct {
	t *testing.T
	// answer is the response's body; empty: access denied.
	answer string
	// asked are the requests.
	asked []string
	auth  string
}

func (s *secrets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	assert.NoError(s.t, err)
	assert.Equal(s.t, "secretsmanager.GetSecretValue", r.Header.Get("X-Amz-Target"))
	s.asked = append(s.asked, string(body))
	s.auth = r.Header.Get("Authorization")
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if s.answer == "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type": "AccessDeniedException", "Message": "not authorized to perform secretsmanager:GetSecretValue"}`)
		return
	}
	_, _ = io.WriteString(w, s.answer)
}

// from returns the SDK's configuration that reaches them.
func (s *secrets) from(t *testing.T) aws.Config {
	t.Helper()
	s.t = t
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	cfg := boot.LambdaConfig(lookup(map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s3cr3t",
	}))
	cfg.BaseEndpoint = &server.URL
	return cfg
}

func TestSecretSource(t *testing.T) {
	text, err := json.Marshal(map[string]string{"SecretString": `{"users": {}}`})
	require.NoError(t, err)
	binary, err := json.Marshal(map[string]string{"SecretBinary": base64.StdEncoding.EncodeToString([]byte(`{"users": {}}`))})
	require.NoError(t, err)
	for _, answer := range [][]byte{text, binary} {
		s := &secrets{answer: string(answer)}
		data, err := boot.SecretSource(s.from(t), aSecret)(t.Context())
		require.NoError(t, err)
		assert.Equal(t, `{"users": {}}`, string(data))
		require.Len(t, s.asked, 1)
		assert.JSONEq(t, `{"SecretId": "`+aSecret+`"}`, s.asked[0], "the current version")
		assert.Contains(t, s.auth, "/eu-west-3/secretsmanager/", "the region of the ARN")
	}
}

func TestSecretThatCannotBeRead(t *testing.T) {
	s := &secrets{}
	_, err := boot.SecretSource(s.from(t), aSecret)(t.Context())
	assert.ErrorContains(t, err, aSecret)
	assert.ErrorContains(t, err, "not authorized")
	assert.Len(t, s.asked, 1, "asking again does not help")
}

// TestFileSourceTakesRegularFilesOnly: a pipe that nobody writes to would hold
// up the start for good, and a pipe or device has nothing at the second reading.
func TestFileSourceTakesRegularFilesOnly(t *testing.T) {
	_, err := boot.FileSource(os.DevNull)(t.Context())
	assert.ErrorContains(t, err, "not a regular file")
	link := filepath.Join(t.TempDir(), "credentials.json")
	require.NoError(t, os.Symlink(os.DevNull, link))
	_, err = boot.FileSource(link)(t.Context())
	assert.ErrorContains(t, err, "not a regular file")
}

func TestFileSource(t *testing.T) {
	name := filepath.Join(t.TempDir(), "credentials.json")
	_, err := boot.FileSource(name)(t.Context())
	assert.ErrorIs(t, err, os.ErrNotExist)
	for _, text := range []string{"one", "two"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		data, err := boot.FileSource(name)(t.Context())
		require.NoError(t, err)
		assert.Equal(t, text, string(data), "as it is now")
	}
	require.NoError(t, os.WriteFile(name, bytes.Repeat([]byte(" "), 1<<20+1), 0o600))
	_, err = boot.FileSource(name)(t.Context())
	assert.ErrorContains(t, err, "more than")
	_, err = boot.FileSource(t.TempDir())(t.Context())
	assert.Error(t, err)
}

// TestFunctionWithoutItsSecret: it starts, says why it refuses, and serves
// nobody.
func TestFunctionWithoutItsSecret(t *testing.T) {
	env := map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s3cr3t",
		// This region makes no host name, so nothing is dialled.
		"REGISTRY_CREDENTIALS_SECRET": strings.Replace(aSecret, "eu-west-3", "no region", 1),
	}
	var out bytes.Buffer
	p, err := boot.Function(lookup(env), &out, boot.Read)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "credentials could not be read")
	code, _ := status(t, p.Read(), event(t, "GET", "/eureka/apps", ""))
	assert.Equal(t, http.StatusUnauthorized, code)
	assert.NotContains(t, out.String(), "s3cr3t")
}
