package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/gateway"
)

// forms are the fixtures, one for each form of event. Each is the request of
// case H27 as that gateway hands it on.
var forms = []string{"rest", "http", "url", "local_rest", "local_http", "balancer", "balancer_lists"}

// decodes tells the forms whose path the gateway has decoded.
var decodes = map[string]bool{"http": true, "local_rest": true, "local_http": true}

// fixture is an event that a test may change.
type fixture map[string]any

func load(t testing.TB, form string) fixture {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", form+".json"))
	require.NoError(t, err)
	var f fixture
	require.NoError(t, json.Unmarshal(data, &f))
	return f
}

func (f fixture) payload2() bool { return f["version"] == "2.0" }

func (f fixture) isBalancer() bool { return f.context()["elb"] != nil }

func (f fixture) context() map[string]any { return f["requestContext"].(map[string]any) }

// path sets the path as it is in the event.
func (f fixture) path(path string) fixture {
	if f.payload2() {
		f["rawPath"] = path
		f.context()["http"].(map[string]any)["path"] = path
		return f
	}
	f["path"] = path
	if f.isBalancer() {
		return f
	}
	f["pathParameters"] = nil
	if p := f.context()["path"]; p != "/{proxy+}" {
		f.context()["path"] = "/prod" + path
	}
	return f
}

func (f fixture) method(method string) fixture {
	if f.payload2() {
		f.context()["http"].(map[string]any)["method"] = method
		return f
	}
	f["httpMethod"] = method
	return f
}

func (f fixture) stage(stage string) fixture {
	if f.isBalancer() {
		return f // has no stages
	}
	f.context()["stage"] = stage
	return f
}

func (f fixture) with(name string, value any) fixture {
	f[name] = value
	return f
}

func (f fixture) json(t testing.TB) []byte {
	t.Helper()
	data, err := json.Marshal(f)
	require.NoError(t, err)
	return data
}

// answer is an envelope of either payload format, decoded.
type answer struct {
	Status       int                 `json:"statusCode"`
	Headers      map[string]string   `json:"headers"`
	MultiHeaders map[string][]string `json:"multiValueHeaders"`
	Cookies      []string            `json:"cookies"`
	Text         string              `json:"body"`
	Base64       bool                `json:"isBase64Encoded"`
}

func (a *answer) header(name string) string {
	if v := a.MultiHeaders[name]; len(v) > 0 {
		return v[0]
	}
	return a.Headers[name]
}

func (a *answer) body(t testing.TB) []byte {
	t.Helper()
	if !a.Base64 {
		return []byte(a.Text)
	}
	b, err := base64.StdEncoding.DecodeString(a.Text)
	require.NoError(t, err)
	return b
}

func decode(t testing.TB, envelope []byte) *answer {
	t.Helper()
	var a answer
	require.NoError(t, json.Unmarshal(envelope, &a), "envelope %.200s", envelope)
	return &a
}

// ask sends an event to a handler and returns the answer.
func ask(t testing.TB, f fixture, h http.HandlerFunc) *answer {
	t.Helper()
	envelope, err := gateway.New(gateway.Config{HTTP: h}).Invoke(t.Context(), f.json(t))
	require.NoError(t, err)
	return decode(t, envelope)
}

// see returns the request that an event becomes.
func see(t testing.TB, f fixture) *http.Request {
	t.Helper()
	var seen *http.Request
	a := ask(t, f, func(_ http.ResponseWriter, r *http.Request) { seen = r })
	require.NotNil(t, seen, "answered %d %s without the handler", a.Status, a.Text)
	return seen.WithContext(context.Background())
}
