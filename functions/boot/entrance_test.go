package boot_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// call is a request as a client sends it.
type call struct {
	method string
	// path is encoded; query is "" or "?name=value".
	path, query string
	body        string
	headers     map[string]string
}

// reply is the answer that the client gets.
type reply struct {
	status int
	header http.Header
	body   string
}

// entrance is a way in which requests reach the API. It returns false for a
// request that does not get through what is in front.
type entrance func(t testing.TB, c call) (reply, bool)

// entrances returns all: a gateway for each form of event there is a fixture
// of, the local process's handler, and the api function behind a function URL,
// with and without response streaming.
func entrances(t testing.TB, p *boot.Parts) map[string]entrance {
	t.Helper()
	files, err := filepath.Glob("../gateway/testdata/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 5)
	out := map[string]entrance{"local": direct(p.API())}
	read, write, api := p.Read(), p.Write(), p.Read()
	for _, file := range files {
		fixture, err := os.ReadFile(file)
		require.NoError(t, err)
		form := strings.TrimSuffix(filepath.Base(file), ".json")
		out[form] = func(t testing.TB, c call) (reply, bool) {
			event, ok := c.event(t, fixture, form == "http" || strings.HasPrefix(form, "local_"))
			if !ok {
				return reply{}, false
			}
			switch {
			case form == "url":
				return invoke(t, api, event), true
			case c.method == http.MethodGet || c.method == http.MethodHead:
				return invoke(t, read, event), true
			}
			return invoke(t, write, event), true
		}
	}
	fixture, err := os.ReadFile("../gateway/testdata/url.json")
	require.NoError(t, err)
	out["streaming url"] = func(t testing.TB, c call) (reply, bool) {
		event, ok := c.event(t, fixture, false)
		if !ok {
			return reply{}, false
		}
		answer, err := api.Stream(t.Context(), event)
		require.NoError(t, err)
		return streamed(t, answer), true
	}
	return out
}

// streamed reads an answer in the form of response streaming: what an envelope
// has but for the body, eight zero bytes, the body.
func streamed(t testing.TB, answer io.Reader) reply {
	t.Helper()
	data, err := io.ReadAll(answer)
	require.NoError(t, err)
	prelude, body, ok := bytes.Cut(data, make([]byte, 8))
	require.True(t, ok, "%.200s", data)
	var a struct {
		StatusCode int
		Headers    map[string]string
	}
	require.NoError(t, json.Unmarshal(prelude, &a))
	out := reply{a.StatusCode, http.Header{}, string(body)}
	for name, value := range a.Headers {
		out.header.Set(name, value)
	}
	return out
}

// direct calls a handler as net/http's server does.
func direct(h http.Handler) entrance {
	return func(_ testing.TB, c call) (reply, bool) {
		r, err := http.NewRequest(c.method, "http://registry.example.org"+c.path+c.query, strings.NewReader(c.body))
		if err != nil {
			return reply{}, false
		}
		r.RemoteAddr = "192.0.2.44:1234"
		for name, value := range c.headers {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return reply{w.Code, w.Header(), w.Body.String()}, true
	}
}

// event makes an event of a fixture.
func (c call) event(t testing.TB, fixture []byte, decodes bool) ([]byte, bool) {
	t.Helper()
	path := c.path
	if decodes {
		var err error
		if path, err = url.PathUnescape(path); err != nil {
			return nil, false
		}
	}
	query, err := url.ParseQuery(strings.TrimPrefix(c.query, "?"))
	require.NoError(t, err)
	var e map[string]any
	require.NoError(t, json.Unmarshal(fixture, &e))
	e["body"], e["isBase64Encoded"] = c.body, false
	if !utf8.ValidString(c.body) {
		e["body"], e["isBase64Encoded"] = base64.StdEncoding.EncodeToString([]byte(c.body)), true
	}
	headers, multi := map[string]string{}, map[string][]string{}
	for name, value := range c.headers {
		headers[name], multi[name] = value, []string{value}
	}
	requestContext := e["requestContext"].(map[string]any)
	switch {
	case requestContext["elb"] != nil:
		e["httpMethod"], e["path"] = c.method, path
		c.balancerLists(e, headers)
	case e["version"] == "2.0":
		e["headers"], e["rawPath"], e["rawQueryString"], e["cookies"] = headers, path, strings.TrimPrefix(c.query, "?"), nil
		maps.Copy(requestContext["http"].(map[string]any), map[string]any{"method": c.method, "path": path})
	default:
		e["headers"] = headers
		e["httpMethod"], e["path"], e["pathParameters"] = c.method, path, nil
		e["multiValueHeaders"], e["multiValueQueryStringParameters"] = multi, query
		e["queryStringParameters"] = nil
	}
	event, err := json.Marshal(e)
	require.NoError(t, err)
	return event, true
}

// balancerLists sets headers and query of a load balancer's event, which has
// them as its fixture does: single or in lists. It adds the client's address.
func (c call) balancerLists(e map[string]any, headers map[string]string) {
	headers["x-forwarded-for"] = "192.0.2.44"
	query := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimPrefix(c.query, "?"), "&") {
		if name, value, _ := strings.Cut(pair, "="); name != "" {
			query[name] = value
		}
	}
	if e["headers"] != nil {
		e["headers"], e["queryStringParameters"] = headers, query
		return
	}
	lists := func(single map[string]string) map[string][]string {
		out := map[string][]string{}
		for name, value := range single {
			out[name] = []string{value}
		}
		return out
	}
	e["multiValueHeaders"], e["multiValueQueryStringParameters"] = lists(headers), lists(query)
}

// invoke calls a function.
func invoke(t testing.TB, function invoker, event []byte) reply {
	t.Helper()
	answer, err := function.Invoke(t.Context(), event)
	require.NoError(t, err)
	var a struct {
		StatusCode        int
		Headers           map[string]string
		MultiValueHeaders map[string][]string
		Body              string
		IsBase64Encoded   bool
	}
	require.NoError(t, json.Unmarshal(answer, &a))
	out := reply{a.StatusCode, http.Header{}, a.Body}
	for name, value := range a.Headers {
		out.header.Set(name, value)
	}
	for name, values := range a.MultiValueHeaders {
		out.header[http.CanonicalHeaderKey(name)] = values
	}
	if a.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(a.Body)
		require.NoError(t, err)
		out.body = string(body)
	}
	return out
}

// basic returns a header with credentials.
func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
