package apigateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/local/apigateway"
)

type function func(ctx context.Context, payload []byte) ([]byte, error)

func (f function) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return f(ctx, payload) }

func gateway(f function) http.Handler {
	at := time.Date(2026, 3, 10, 5, 16, 23, 0, time.UTC)
	return apigateway.New(func(string) apigateway.Function { return f }, slog.New(slog.DiscardHandler),
		func() time.Time { return at })
}

// ask sends a request through a gateway whose function answers 204, and
// returns the event that the function got.
func ask(t *testing.T, r *http.Request) events.APIGatewayV2HTTPRequest {
	t.Helper()
	var event events.APIGatewayV2HTTPRequest
	w := httptest.NewRecorder()
	gateway(func(_ context.Context, payload []byte) ([]byte, error) {
		assert.NoError(t, json.Unmarshal(payload, &event))
		return []byte(`{"statusCode":204}`), nil
	}).ServeHTTP(w, r)
	require.Equal(t, http.StatusNoContent, w.Code)
	return event
}

func TestTheEventIsAnHTTPAPIs(t *testing.T) {
	r := httptest.NewRequest(http.MethodPut, "http://127.0.0.1:8761/eureka/apps/SHOP/svc%231%2F2/metadata?note=a%2Bb%20c&k=1&k=2", strings.NewReader("{}"))
	r.RemoteAddr = "192.0.2.44:50000"
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Add("If-None-Match", `"a"`)
	r.Header.Add("If-None-Match", `"b"`)
	r.Header.Set("Cookie", "theme=dark; lang=de")
	r.Header.Set("User-Agent", "Java-EurekaClient/v2.0.4")

	event := ask(t, r)

	id := event.RequestContext.RequestID
	assert.NotEmpty(t, id)
	assert.Equal(t, events.APIGatewayV2HTTPRequest{
		Version:        "2.0",
		RouteKey:       "$default",
		RawPath:        "/eureka/apps/SHOP/svc#1/2/metadata",
		RawQueryString: "note=a%2Bb%20c&k=1&k=2",
		Cookies:        []string{"theme=dark", "lang=de"},
		Headers: map[string]string{
			"content-type":      "application/json; charset=utf-8",
			"host":              "127.0.0.1:8761",
			"if-none-match":     `"a","b"`,
			"user-agent":        "Java-EurekaClient/v2.0.4",
			"x-forwarded-for":   "192.0.2.44",
			"x-forwarded-proto": "http",
		},
		QueryStringParameters: map[string]string{"note": "a+b c", "k": "1,2"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: "$default", AccountID: "000000000000", Stage: "$default", RequestID: id,
			APIID: "local", DomainName: "localhost", DomainPrefix: "localhost",
			Time: "10/Mar/2026:05:16:23 +0000", TimeEpoch: 1773119783000,
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: "PUT", Path: "/eureka/apps/SHOP/svc#1/2/metadata", Protocol: "HTTP/1.1",
				SourceIP: "192.0.2.44", UserAgent: "Java-EurekaClient/v2.0.4",
			},
		},
		Body: "{}",
	}, event)
}

func TestBodiesThatAreNotTextAreBase64(t *testing.T) {
	cases := []struct {
		contentType string
		base64      bool
	}{
		{"application/json", false},
		{"Application/JSON;charset=UTF-8", false},
		{"application/xml", false},
		{"text/plain", false},
		{"application/x-www-form-urlencoded", true},
		{"application/octet-stream", true},
		{"", true},
	}
	for _, c := range cases {
		t.Run(c.contentType, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/eureka/apps/SHOP", strings.NewReader("Zürich"))
			r.Header.Set("Content-Type", c.contentType)

			event := ask(t, r)

			want := "Zürich"
			if c.base64 {
				want = base64.StdEncoding.EncodeToString([]byte(want))
			}
			assert.Equal(t, want, event.Body)
			assert.Equal(t, c.base64, event.IsBase64Encoded)
		})
	}
}

func TestNoBodyIsNoBase64(t *testing.T) {
	event := ask(t, httptest.NewRequest(http.MethodPut, "/eureka/apps/SHOP/shop-1", nil))
	assert.Empty(t, event.Body)
	assert.False(t, event.IsBase64Encoded)
}

func TestForwardedAddressesAreKept(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = "[::1]:50000"
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	assert.Equal(t, "198.51.100.7, ::1", ask(t, r).Headers["x-forwarded-for"])
}

func TestTheAnswerIsTheFunctions(t *testing.T) {
	compressed := []byte{0x1f, 0x8b, 0, 255}
	answer, err := json.Marshal(events.APIGatewayV2HTTPResponse{
		StatusCode:      203,
		Headers:         map[string]string{"content-encoding": "gzip", "ETag": `"x"`},
		Cookies:         []string{"a=1", "b=2"},
		Body:            base64.StdEncoding.EncodeToString(compressed),
		IsBase64Encoded: true,
	})
	require.NoError(t, err)
	w := httptest.NewRecorder()

	gateway(func(context.Context, []byte) ([]byte, error) { return answer, nil }).
		ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/eureka/apps", nil))

	assert.Equal(t, 203, w.Code)
	assert.Equal(t, compressed, w.Body.Bytes())
	assert.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
	assert.Equal(t, `"x"`, w.Header().Get("ETag"))
	assert.Equal(t, []string{"a=1", "b=2"}, w.Header().Values("Set-Cookie"))
}

func TestTheRouteIsChosenByMethod(t *testing.T) {
	var asked []string
	g := apigateway.New(func(method string) apigateway.Function {
		asked = append(asked, method)
		return function(func(context.Context, []byte) ([]byte, error) { return []byte(`{"statusCode":200}`), nil })
	}, slog.New(slog.DiscardHandler), time.Now)

	for _, method := range []string{"GET", "POST"} {
		g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/", nil))
	}

	assert.Equal(t, []string{"GET", "POST"}, asked)
}

func TestAFunctionThatFails(t *testing.T) {
	text := func(s string) function {
		return func(context.Context, []byte) ([]byte, error) { return []byte(s), nil }
	}
	cases := []struct {
		name     string
		function function
	}{
		{"error", func(context.Context, []byte) ([]byte, error) { return nil, errors.New("broken") }},
		{"not JSON", text(`<html>`)},
		{"no status", text(`{"body":"x"}`)},
		{"not base64", text(`{"statusCode":200,"body":"%","isBase64Encoded":true}`)},
		{"too large", text(`{"statusCode":200,"body":"` + strings.Repeat("x", apigateway.MaxAnswer) + `"}`)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			gateway(c.function).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			assert.Equal(t, http.StatusInternalServerError, w.Code)
			assert.JSONEq(t, `{"message":"Internal Server Error"}`, w.Body.String())
		})
	}
}

func TestAFunctionThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		start := time.Now()
		gateway(func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))

		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Equal(t, apigateway.Timeout, time.Since(start))
	})
}

func TestABodyThatIsTooLarge(t *testing.T) {
	w := httptest.NewRecorder()
	body := io.LimitReader(zeros{}, apigateway.MaxBody+1)
	gateway(func(context.Context, []byte) ([]byte, error) {
		t.Error("called")
		return nil, nil
	}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", body))
	assert.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
}

func TestABodyThatBreaksOff(t *testing.T) {
	w := httptest.NewRecorder()
	body := io.MultiReader(bytes.NewReader([]byte("{")), broken{})
	gateway(func(context.Context, []byte) ([]byte, error) {
		t.Error("called")
		return nil, nil
	}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", body))
	assert.Equal(t, http.StatusBadRequest, w.Code)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
