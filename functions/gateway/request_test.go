package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/gateway"
)

// TestH27: one request, several events, and the same request of each.
func TestH27(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			r := see(t, load(t, form))
			assert.Equal(t, http.MethodPut, r.Method)
			assert.Equal(t, "/eureka/apps/SHOP/svc#1/2/metadata", r.URL.Path)
			assert.Equal(t, url.Values{"note": {"a+b c"}}, r.URL.Query())
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			assert.Equal(t, "{}", string(body))
			assert.EqualValues(t, 2, r.ContentLength)
		})
	}
}

// TestH27Parts: each part of a path is decoded exactly once in every form.
func TestH27Parts(t *testing.T) {
	tests := []struct{ sent, want string }{
		{"/eureka/apps/SHOP/a%2Fb", "/eureka/apps/SHOP/a/b"},
		{"/eureka/apps/SHOP/a%23b", "/eureka/apps/SHOP/a#b"},
		{"/eureka/apps/SHOP/50%2525", "/eureka/apps/SHOP/50%25"},
		{"/eureka/apps/SHOP/50%25", "/eureka/apps/SHOP/50%"},
		{"/eureka/apps/SHOP/%252F", "/eureka/apps/SHOP/%2F"},
		{"/eureka/apps/SHOP/a+b", "/eureka/apps/SHOP/a+b"},
		{"/eureka/apps/SHOP/a%2Bb", "/eureka/apps/SHOP/a+b"},
		{"/eureka/apps/SHOP/a%20b", "/eureka/apps/SHOP/a b"},
		{"/eureka/apps/SHOP/host:shop:8080", "/eureka/apps/SHOP/host:shop:8080"},
		{"/eureka/apps/SHOP/host%3Ashop%3A8080", "/eureka/apps/SHOP/host:shop:8080"},
		{"/eureka/apps/Z%C3%BCrich%E6%9D%B1", "/eureka/apps/Zürich東"},
		{"/eureka/apps/SHOP/a;b=c", "/eureka/apps/SHOP/a;b=c"},
		{"/eureka/apps/SHOP/..%2F..", "/eureka/apps/SHOP/../.."},
		{"/eureka/apps/", "/eureka/apps/"},
		{"/eureka//apps//SHOP/", "/eureka//apps//SHOP/"},
		{"//eureka/apps", "/eureka/apps"},
		{"/", "/"},
	}
	for _, form := range forms {
		for _, tt := range tests {
			t.Run(form+tt.sent, func(t *testing.T) {
				r := see(t, load(t, form).path(handedOn(t, form, tt.sent)))
				assert.Equal(t, tt.want, r.URL.Path)
				got, err := url.PathUnescape(r.URL.EscapedPath())
				require.NoError(t, err)
				assert.Equal(t, tt.want, got, "the encoded path says the same")
			})
		}
	}
}

// TestH27QuestionMark: where the gateway does not cut a path at an encoded
// question mark, as an HTTP API does, neither is it cut here.
func TestH27QuestionMark(t *testing.T) {
	for _, form := range []string{"rest", "url", "local_rest", "local_http", "balancer", "balancer_lists"} {
		t.Run(form, func(t *testing.T) {
			r := see(t, load(t, form).path(handedOn(t, form, "/eureka/apps/SHOP/a%3Fb=c")))
			assert.Equal(t, "/eureka/apps/SHOP/a?b=c", r.URL.Path)
			assert.Equal(t, url.Values{"note": {"a+b c"}}, r.URL.Query())
		})
	}
}

// TestH27Base: a stage's name or base path in front of the path changes
// nothing, nor does an application called as the prefix is.
func TestH27Base(t *testing.T) {
	tests := []struct{ stage, sent, want string }{
		{"prod", "/prod/eureka/apps/SHOP", "/eureka/apps/SHOP"},
		{"prod", "/prod/eureka/v2/apps/SHOP", "/eureka/v2/apps/SHOP"},
		{"prod", "/prod//eureka/apps", "/eureka/apps"},
		{"prod", "//prod/eureka/apps/", "/eureka/apps/"},
		{"prod", "/prod/status", "/status"},
		{"prod", "/prod/", "/"},
		{"prod", "/prod", "/"},
		{"prod", "/production/status", "/production/status"},
		{"eureka", "/eureka/eureka/apps/SHOP", "/eureka/apps/SHOP"},
		{"eureka", "/eureka/apps/SHOP", "/eureka/apps/SHOP"},
		{"$default", "/registry/eureka/apps", "/eureka/apps"},
		{"$default", "/team/registry/eureka/apps/SHOP/a%2Fb", "/eureka/apps/SHOP/a/b"},
		{"$default", "/eureka/apps/eureka/eureka", "/eureka/apps/eureka/eureka"},
		{"$default", "/eureka/apps/SHOP/a%2Feureka%2Fb", "/eureka/apps/SHOP/a/eureka/b"},
		{"$default", "/eureka", "/eureka"},
		{"$default", "/health", "/health"},
	}
	for _, form := range forms {
		for _, tt := range tests {
			if load(t, form).isBalancer() && tt.stage != "$default" {
				continue // a load balancer puts nothing in front of a path
			}
			t.Run(form+tt.sent, func(t *testing.T) {
				f := load(t, form).stage(tt.stage).path(handedOn(t, form, tt.sent))
				assert.Equal(t, tt.want, see(t, f).URL.Path)
			})
		}
	}
}

// TestH27BasePathOfPage: pages have no prefix that a base path could be told
// by; what the route's parameter leaves out is the base path.
func TestH27BasePathOfPage(t *testing.T) {
	f := load(t, "rest").path("/registry/status/").with("pathParameters", map[string]any{"proxy": "status"})
	assert.Equal(t, "/status/", see(t, f).URL.Path)
}

// TestH27OldHTTPAPI: payload 1.0 of an HTTP API says its version and has the
// path decoded, unlike a REST API's.
func TestH27OldHTTPAPI(t *testing.T) {
	f := load(t, "rest").path("/eureka/apps/SHOP/50%25").with("version", "1.0")
	assert.Equal(t, "/eureka/apps/SHOP/50%25", see(t, f).URL.Path)
}

// TestH27Bare: an event of no more than the fields that case H27 names.
func TestH27Bare(t *testing.T) {
	f := fixture{
		"httpMethod": "PUT", "path": "/eureka/apps/SHOP/svc#1/2/metadata",
		"queryStringParameters": map[string]string{"note": "a+b c"},
	}
	r := see(t, f)
	assert.Equal(t, "/eureka/apps/SHOP/svc#1/2/metadata", r.URL.Path)
	assert.Equal(t, "a+b c", r.URL.Query().Get("note"))
}

// handedOn returns an encoded path as a form's gateway hands it on.
func handedOn(t *testing.T, form, sent string) string {
	t.Helper()
	if !decodes[form] {
		return sent
	}
	decoded, err := url.PathUnescape(sent)
	require.NoError(t, err)
	return decoded
}

func TestHeaders(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			r := see(t, load(t, form))
			h := r.Header
			assert.Equal(t, []string{"application/json"}, h["Accept"])
			assert.Equal(t, []string{"Basic YWdlbnQ6cEBzcw=="}, h["Authorization"])
			assert.Equal(t, []string{"theme=dark; lang=de"}, h["Cookie"], "one line")
			assert.Len(t, r.Cookies(), 2)
			assert.Subset(t, []string{`"a","b"`, `"a", "b"`}, []string{join(h["If-None-Match"])})
			assert.NotContains(t, h, "Host", "as a server has it")
			assert.NotEmpty(t, r.Host)
			assert.Equal(t, "192.0.2.44:0", r.RemoteAddr)
			for name := range h {
				assert.NotContains(t, name, "Golambdaproxy", "nothing of the event leaks into headers")
			}
		})
	}
}

func join(values []string) string {
	out := ""
	for i, v := range values {
		if i > 0 {
			out += ","
		}
		out += v
	}
	return out
}

// TestHeaderWithCommas: Get must see the whole value.
func TestHeaderWithCommas(t *testing.T) {
	const accept = "text/html, application/xml;q=0.9, */*;q=0.8"
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			f := load(t, form)
			if form == "balancer_lists" {
				f.with("multiValueHeaders", map[string]any{"accept": []string{accept}, "date": []string{"Tue, 10 Mar 2026 05:16:23 GMT"}})
				assert.Equal(t, accept, see(t, f).Header.Get("Accept"))
				return
			}
			if !f.isBalancer() {
				f.with("multiValueHeaders", map[string]any{})
			}
			f.with("headers", map[string]any{"accept": accept, "date": "Tue, 10 Mar 2026 05:16:23 GMT"})
			r := see(t, f)
			assert.Equal(t, accept, r.Header.Get("Accept"))
			assert.Equal(t, "Tue, 10 Mar 2026 05:16:23 GMT", r.Header.Get("Date"))
		})
	}
}

// TestRepeatedQuery: several values of one parameter arrive in order.
func TestRepeatedQuery(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			f := load(t, form)
			switch {
			case f.payload2():
				f.with("rawQueryString", "regions=a&regions=b%26c")
			case form == "balancer":
				t.Skip("has one value a parameter")
			case form == "balancer_lists":
				f.with("multiValueQueryStringParameters", map[string]any{"regions": []string{"a", "b%26c"}})
			default:
				f.with("multiValueQueryStringParameters", map[string]any{"regions": []string{"a", "b&c"}})
			}
			assert.Equal(t, url.Values{"regions": {"a", "b&c"}}, see(t, f).URL.Query())
		})
	}
}

// TestSameAsServer: what a request is over a socket, it is as an event.
func TestSameAsServer(t *testing.T) {
	var served *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { served = r }))
	defer server.Close()
	const path = "/eureka/apps/SHOP/svc%231%2F2/metadata"
	req, err := http.NewRequest(http.MethodPut, server.URL+path+"?note=a%2Bb%20c", bytes.NewReader([]byte("{}")))
	require.NoError(t, err)
	resp, err := server.Client().Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())

	for _, form := range []string{"rest", "url", "balancer", "balancer_lists"} {
		r := see(t, load(t, form))
		assert.Equal(t, served.URL.Path, r.URL.Path)
		assert.Equal(t, served.URL.EscapedPath(), r.URL.EscapedPath())
		assert.Equal(t, served.URL.Query(), r.URL.Query())
		assert.Equal(t, served.URL.Host, r.URL.Host)
		assert.Equal(t, served.ContentLength, r.ContentLength)
	}
}

// TestNotUnderstood: a request that cannot be one is the client's fault, said
// in JSON; the handler never sees it.
func TestNotUnderstood(t *testing.T) {
	for _, form := range forms {
		for name, change := range map[string]func(fixture) fixture{
			"body":   func(f fixture) fixture { return f.with("body", "%%%").with("isBase64Encoded", true) },
			"method": func(f fixture) fixture { return f.method("P UT\n") },
		} {
			t.Run(form+"/"+name, func(t *testing.T) {
				a := ask(t, change(load(t, form)), func(http.ResponseWriter, *http.Request) { t.Error("called") })
				assert.Equal(t, http.StatusBadRequest, a.Status)
				assert.Equal(t, "application/json", a.header("Content-Type"))
				assert.Contains(t, a.Text, `{"error":"`+name+`: `)
			})
		}
	}
}

func TestQueryNotUnderstood(t *testing.T) {
	f := load(t, "http").with("rawQueryString", "a=b\nc")
	a := ask(t, f, func(http.ResponseWriter, *http.Request) { t.Error("called") })
	assert.Equal(t, http.StatusBadRequest, a.Status)
	assert.Contains(t, a.Text, `{"error":"query: `)
}

// TestUnknownEvent: another service's event is a fault of the deployment.
func TestUnknownEvent(t *testing.T) {
	h := gateway.New(gateway.Config{HTTP: http.NotFoundHandler()})
	for _, payload := range []string{`{}`, `{"Records": []}`, `[`, `"text"`} {
		_, err := h.Invoke(t.Context(), []byte(payload))
		assert.Error(t, err, payload)
	}
}

// TestBalancerQueries: a load balancer hands on names and values of a query as
// the client encoded them, and what is no query is the client's fault.
func TestBalancerQueries(t *testing.T) {
	tests := []struct {
		name, value string
		want        url.Values
	}{
		{"note", "a+b", url.Values{"note": {"a b"}}},
		{"note", "a%2Bb", url.Values{"note": {"a+b"}}},
		{"note", "100%25", url.Values{"note": {"100%"}}},
		{"note", "%2525", url.Values{"note": {"%25"}}},
		{"note", "a%26b%3Dc", url.Values{"note": {"a&b=c"}}},
		{"note", "Z%C3%BCrich", url.Values{"note": {"Zürich"}}},
		{"note", "Zürich", url.Values{"note": {"Zürich"}}},
		{"a%20b", "", url.Values{"a b": {""}}},
		{"note", "#", url.Values{"note": {"#"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			single := load(t, "balancer").with("queryStringParameters", map[string]any{tt.name: tt.value})
			assert.Equal(t, tt.want, see(t, single).URL.Query())
			single.with("body", "")
			assert.Equal(t, tt.want, see(t, single).URL.Query(), "without a body")
			lists := load(t, "balancer_lists").with("multiValueQueryStringParameters", map[string]any{tt.name: []string{tt.value}})
			assert.Equal(t, tt.want, see(t, lists).URL.Query())
		})
	}
	for _, form := range []string{"balancer", "balancer_lists"} {
		f := load(t, form).with("queryStringParameters", map[string]any{"a": "b\nc"})
		a := ask(t, f, func(http.ResponseWriter, *http.Request) { t.Error("called") })
		assert.Equal(t, http.StatusBadRequest, a.Status)
	}
}

// TestBalancerClientAddress: the balancer appends the client's address, so
// what the client wrote itself does not count.
func TestBalancerClientAddress(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{"192.0.2.44"}, "192.0.2.44:0"},
		{[]string{"203.0.113.9,192.0.2.44"}, "192.0.2.44:0"},
		{[]string{"203.0.113.9", "192.0.2.44"}, "192.0.2.44:0"},
		{[]string{"203.0.113.9", "203.0.113.9 , 2001:db8::1 "}, "[2001:db8::1]:0"},
		{[]string{"\"192.0.2.1\", x, ,192.0.2.44"}, "192.0.2.44:0"},
	} {
		f := load(t, "balancer_lists")
		f["multiValueHeaders"].(map[string]any)["x-forwarded-for"] = tt.lines
		assert.Equal(t, tt.want, see(t, f).RemoteAddr)
	}
	f := load(t, "balancer")
	delete(f["headers"].(map[string]any), "x-forwarded-for")
	assert.Equal(t, ":0", see(t, f).RemoteAddr)
}

// TestBalancerClientPort: a balancer may be set to append the client's port
// (routing.http.xff_client_port.enabled). With the port in it, the address
// would be nobody's: all clients would share one count of failed logins.
func TestBalancerClientPort(t *testing.T) {
	for header, want := range map[string]string{
		"192.0.2.44:50931":                  "192.0.2.44:0",
		"203.0.113.9:1, 192.0.2.44:50931":   "192.0.2.44:0",
		"[2001:db8::1]:50931":               "[2001:db8::1]:0",
		"203.0.113.9, [2001:db8::1]:50931 ": "[2001:db8::1]:0",
		"[2001:db8::1]":                     "[2001:db8::1]:0",
		"2001:db8::1":                       "[2001:db8::1]:0",
		"192.0.2.44":                        "192.0.2.44:0",
		"192.0.2.44:x":                      "[192.0.2.44:x]:0",
		"192.0.2.44,":                       ":0",
	} {
		single := load(t, "balancer")
		single["headers"].(map[string]any)["x-forwarded-for"] = header
		assert.Equal(t, want, see(t, single).RemoteAddr, header)
		lists := load(t, "balancer_lists")
		lists["multiValueHeaders"].(map[string]any)["x-forwarded-for"] = []string{header}
		assert.Equal(t, want, see(t, lists).RemoteAddr, header)
	}
}

func FuzzInvoke(f *testing.F) {
	for _, form := range forms {
		f.Add(load(f, form).json(f))
	}
	h := gateway.New(gateway.Config{HTTP: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := url.PathUnescape(r.URL.EscapedPath()); err != nil {
			panic(err)
		}
	})})
	f.Fuzz(func(t *testing.T, payload []byte) {
		envelope, err := h.Invoke(t.Context(), payload)
		if err != nil {
			return
		}
		if a := decode(t, envelope); a.Status != http.StatusOK && a.Status != http.StatusBadRequest {
			t.Fatalf("answered %d", a.Status)
		}
	})
}
