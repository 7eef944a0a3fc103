package gateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/gateway"
)

// serveGzip answers as the API does: compressed for those who take it.
func serveGzip(body string) http.HandlerFunc {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	_, _ = io.WriteString(z, body)
	_ = z.Close()
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			_, _ = io.WriteString(w, body)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(compressed.Bytes())
	}
}

func withoutEncoding(f fixture) fixture {
	for _, lines := range []string{"headers", "multiValueHeaders"} {
		if headers, ok := f[lines].(map[string]any); ok {
			delete(headers, "accept-encoding")
			delete(headers, "Accept-Encoding")
		}
	}
	return f
}

// TestH23: compressed answers are base64 and say so, others are plain text;
// bodies in base64 are decoded.
func TestH23(t *testing.T) {
	const body = `{"applications": "<größer & kleiner>"}`
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			a := ask(t, load(t, form), serveGzip(body))
			assert.Equal(t, http.StatusOK, a.Status)
			assert.Equal(t, "gzip", a.header("Content-Encoding"))
			require.True(t, a.Base64)
			z, err := gzip.NewReader(bytes.NewReader(a.body(t)))
			require.NoError(t, err)
			unpacked, err := io.ReadAll(z)
			require.NoError(t, err)
			assert.Equal(t, body, string(unpacked))

			a = ask(t, withoutEncoding(load(t, form)), serveGzip(body))
			assert.Empty(t, a.header("Content-Encoding"))
			assert.False(t, a.Base64)
			assert.Equal(t, body, a.Text)

			f := load(t, form).with("body", "eyJhIjogMX0=").with("isBase64Encoded", true)
			a = ask(t, f, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
			assert.Equal(t, `{"a": 1}`, a.Text)
		})
	}
}

// TestH24: what is too large for Lambda is answered 406 with advice and
// logged; the same in gzip passes.
func TestH24(t *testing.T) {
	large := strings.Repeat(fmt.Sprintf("%01500d\n", rand.Uint64()), 5000)
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			var log bytes.Buffer
			h := gateway.New(gateway.Config{HTTP: serveGzip(large), Log: slog.New(slog.NewTextHandler(&log, nil))})
			envelope, err := h.Invoke(t.Context(), load(t, form).json(t))
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, decode(t, envelope).Status)
			assert.Empty(t, log.String())

			envelope, err = h.Invoke(t.Context(), withoutEncoding(load(t, form)).json(t))
			require.NoError(t, err)
			a := decode(t, envelope)
			assert.Equal(t, http.StatusNotAcceptable, a.Status)
			assert.Equal(t, "application/json", a.header("Content-Type"))
			assert.Contains(t, a.Text, "Accept-Encoding: gzip")
			assert.Contains(t, log.String(), "response too large")
		})
	}
}

// TestBalancerResponses: a load balancer wants a reason beside the status and
// says itself whether a body is base64; and it passes no more than 1 MB.
func TestBalancerResponses(t *testing.T) {
	for _, form := range []string{"balancer", "balancer_lists"} {
		t.Run(form, func(t *testing.T) {
			for status, want := range map[int]string{204: "204 No Content", 404: "404 Not Found"} {
				h := gateway.New(gateway.Config{HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })})
				envelope, err := h.Invoke(t.Context(), load(t, form).json(t))
				require.NoError(t, err)
				var got map[string]any
				require.NoError(t, json.Unmarshal(envelope, &got))
				assert.Equal(t, want, got["statusDescription"])
				assert.Equal(t, false, got["isBase64Encoded"])
			}
			random := make([]byte, 760_000) // 1,013,334 bytes as base64
			for i := range random {
				random[i] = byte(rand.Uint32())
			}
			for size, status := range map[int]int{700_000: 200, len(random): 406} {
				a := ask(t, load(t, form), func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Encoding", "gzip")
					_, _ = w.Write(random[:size])
				})
				assert.Equal(t, status, a.Status)
				if status == http.StatusNotAcceptable {
					assert.Contains(t, a.Text, "a load balancer passes 1000000: ask for the compact form")
					assert.Contains(t, a.Text, "Entry=url")
					assert.Empty(t, a.header("Content-Encoding"))
				}
			}
		})
	}
}

// TestMaxAnswerIsExact: base64 and the envelope count; an answer of the limit
// passes, one byte more does not.
func TestMaxAnswerIsExact(t *testing.T) {
	binary := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte{0xff}, 3000))
	})
	for _, form := range forms {
		event := load(t, form).json(t)
		envelope, err := gateway.New(gateway.Config{HTTP: binary}).Invoke(t.Context(), event)
		require.NoError(t, err)
		require.Greater(t, len(envelope), 4000)
		for limit, status := range map[int]int{
			len(envelope):     http.StatusOK,
			len(envelope) - 1: http.StatusNotAcceptable,
		} {
			cfg := gateway.Config{HTTP: binary, MaxAnswer: limit, Log: slog.New(slog.DiscardHandler)}
			envelope, err := gateway.New(cfg).Invoke(t.Context(), event)
			require.NoError(t, err)
			assert.Equal(t, status, decode(t, envelope).Status, form)
		}
	}
}

// TestBalancerRequestLimit: a load balancer passes 1 MB to a function, base64
// included; what is larger is refused with advice, and other ways in take it.
func TestBalancerRequestLimit(t *testing.T) {
	fits := strings.Repeat("x", gateway.MaxBalancerBody)
	for _, form := range forms {
		for _, body := range []string{fits, fits + "x"} {
			f := load(t, form).with("body", body).with("isBase64Encoded", false)
			called := false
			a := ask(t, f, func(http.ResponseWriter, *http.Request) { called = true })
			if !f.isBalancer() || body == fits {
				assert.Equal(t, http.StatusOK, a.Status, "%s %d", form, len(body))
				continue
			}
			assert.False(t, called)
			assert.Equal(t, http.StatusRequestEntityTooLarge, a.Status, form)
			for _, part := range []string{"1048577 bytes", "at most 1048576", "Content-Encoding: gzip", "fewer"} {
				assert.Contains(t, a.Text, part)
			}
		}
	}
}

// TestManners: a handler finds the manners of a net/http server.
func TestManners(t *testing.T) {
	tests := map[string]struct {
		method  string
		handler http.HandlerFunc
		status  int
		body    string
		headers map[string]string
	}{
		"nothing written": {"GET", func(http.ResponseWriter, *http.Request) {}, 200, "", map[string]string{"Content-Type": ""}},
		"first status counts": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(w, "tea")
		}, 418, "tea", nil},
		"informational status": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNotFound)
		}, 404, "", nil},
		"HEAD": {"HEAD", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			n, err := io.WriteString(w, "not sent")
			if n != 8 || err != nil {
				panic("a handler need not know of HEAD")
			}
		}, 200, "", map[string]string{"Content-Type": "application/json"}},
		"204": {"POST", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			_, _ = io.WriteString(w, "not sent")
		}, 204, "", map[string]string{"Content-Type": ""}},
		"304": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Etag", `"a"`)
			w.WriteHeader(http.StatusNotModified)
		}, 304, "", map[string]string{"Etag": `"a"`}},
		"empty write": {"PUT", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) }, 200, "", map[string]string{"Content-Type": ""}},
		"length is the gateway's": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			_, _ = io.WriteString(w, "\xff\xfe")
		}, 200, "\xff\xfe", map[string]string{"Content-Length": ""}},
	}
	for _, form := range forms {
		for name, tt := range tests {
			t.Run(form+"/"+name, func(t *testing.T) {
				a := ask(t, load(t, form).method(tt.method), tt.handler)
				assert.Equal(t, tt.status, a.Status)
				assert.Equal(t, tt.body, string(a.body(t)))
				for h, want := range tt.headers {
					assert.Equal(t, want, a.header(h), h)
				}
			})
		}
	}
}

// TestSeveralValues: several values of one header or cookie reach the client
// as the payload format can say it.
func TestSeveralValues(t *testing.T) {
	handler := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Vary", "Accept")
		w.Header().Add("Vary", "Accept-Encoding")
		w.Header().Add("Set-Cookie", "a=1; Expires=Tue, 10 Mar 2026 05:16:23 GMT")
		w.Header().Add("Set-Cookie", "b=2")
	}
	cookies := []string{"a=1; Expires=Tue, 10 Mar 2026 05:16:23 GMT", "b=2"}
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			f := load(t, form)
			a := ask(t, f, handler)
			if f.payload2() {
				assert.Equal(t, "Accept,Accept-Encoding", a.Headers["Vary"])
				assert.Equal(t, cookies, a.Cookies)
				assert.NotContains(t, a.Headers, "Set-Cookie")
				return
			}
			if form == "balancer" {
				assert.Equal(t, map[string]string{"Vary": "Accept,Accept-Encoding", "Set-Cookie": cookies[0]}, a.Headers)
				assert.Empty(t, a.MultiHeaders, "ignored by a target group without lists")
				return
			}
			assert.Empty(t, a.Headers)
			assert.Equal(t, []string{"Accept", "Accept-Encoding"}, a.MultiHeaders["Vary"])
			assert.Equal(t, cookies, a.MultiHeaders["Set-Cookie"])
		})
	}
}

// TestPanic: the answer is a 500 without internals, the log has the cause,
// and nothing of what was written before is sent.
func TestPanic(t *testing.T) {
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			var log bytes.Buffer
			h := gateway.New(gateway.Config{
				Log: slog.New(slog.NewJSONHandler(&log, nil)),
				HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "half an ans")
					panic("secret reason")
				}),
			})
			envelope, err := h.Invoke(context.Background(), load(t, form).json(t))
			require.NoError(t, err)
			a := decode(t, envelope)
			assert.Equal(t, http.StatusInternalServerError, a.Status)
			assert.JSONEq(t, `{"error": "internal error"}`, a.Text)
			assert.Contains(t, log.String(), "secret reason")
			assert.Contains(t, log.String(), "response_test.go")
		})
	}
}
