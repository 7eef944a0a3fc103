package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/functions/gateway"
)

// oneInstance is a source of a registry with one instance.
type oneInstance struct{}

func (oneInstance) Snapshot(context.Context) (*delta.Snapshot, error) {
	return nil, eureka.ErrNoSnapshot
}

func (oneInstance) Scan(context.Context) ([]eureka.Lease, error) {
	i := &eureka.InstanceInfo{App: "SHOP", InstanceID: "shop-1", HostName: "größer <&\u2028> \"kleiner\"", Status: eureka.Up}
	return []eureka.Lease{{Key: i.Key(), Version: 1, Instance: i, Status: eureka.Up}}, nil
}

func (oneInstance) Deltas(context.Context, time.Time, time.Time) ([]delta.Row, error) {
	return nil, nil
}

// list is a body as lists have it.
func list(t testing.TB, format wire.Format) *view.Body {
	t.Helper()
	view, err := view.New(view.Config{Source: oneInstance{}, Interval: time.Hour}).View(t.Context())
	require.NoError(t, err)
	return view.All(wire.Encoding{Format: format})
}

// TestLists: the envelope of a list, which is kept and handed out again, says
// what the same answer's says that is written as bytes, whatever the headers
// are and were before.
func TestLists(t *testing.T) {
	for _, form := range forms {
		for _, format := range []wire.Format{wire.JSON, wire.XML} {
			for _, gzip := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/gzip=%v", form, format, gzip), func(t *testing.T) {
					body := list(t, format)
					for _, age := range []string{"20", "20", "19", "7", "20"} {
						head := func(w http.ResponseWriter) {
							w.Header().Set("Cache-Control", "max-age="+age)
							w.Header().Set("Content-Length", "1")
							w.Header().Set("Content-Type", format.ContentType())
							w.Header()["Vary"] = []string{"Accept", "größer \"x\""}
							w.Header()["None"] = nil
						}
						want := ask(t, load(t, form), func(w http.ResponseWriter, _ *http.Request) {
							head(w)
							_, _ = w.Write(body.Bytes(gzip))
						})
						got := ask(t, load(t, form), func(w http.ResponseWriter, _ *http.Request) {
							head(w)
							w.(httpapi.BodyWriter).WriteBody(body, gzip)
						})
						assert.Equal(t, string(body.Bytes(gzip)), string(got.body(t)))
						assert.Equal(t, gzip, got.Base64)
						delete(want.Headers, "None")
						delete(want.MultiHeaders, "None")
						assert.Equal(t, want, withCookies(got, want))
					}
				})
			}
		}
	}
}

// withCookies gives an answer without cookies the other's form of none.
func withCookies(a, other *answer) *answer {
	if len(a.Cookies) == 0 && len(other.Cookies) == 0 {
		a.Cookies = other.Cookies
	}
	return a
}

// TestListManners: a list's body is subject to the same manners as any other.
func TestListManners(t *testing.T) {
	body := list(t, wire.JSON)
	text := string(body.Plain())
	write := func(w http.ResponseWriter) { w.(httpapi.BodyWriter).WriteBody(body, false) }
	tests := map[string]struct {
		method  string
		handler func(http.ResponseWriter)
		status  int
		body    string
	}{
		"HEAD":                 {"HEAD", write, 200, ""},
		"304":                  {"GET", func(w http.ResponseWriter) { w.WriteHeader(304); write(w) }, 304, ""},
		"another status":       {"GET", func(w http.ResponseWriter) { w.WriteHeader(201); write(w) }, 201, text},
		"something before":     {"GET", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "a"); write(w) }, 200, "a" + text},
		"something after":      {"GET", func(w http.ResponseWriter) { write(w); _, _ = io.WriteString(w, "a") }, 200, text + "a"},
		"twice":                {"GET", func(w http.ResponseWriter) { write(w); write(w) }, 200, text + text},
		"with a cookie":        {"GET", func(w http.ResponseWriter) { w.Header().Set("Set-Cookie", "a=1"); write(w) }, 200, text},
		"a panic forgets that": {"GET", func(w http.ResponseWriter) { write(w); panic("x") }, 500, "{\"error\":\"internal error\"}\n"},
	}
	for _, form := range forms {
		for name, tt := range tests {
			t.Run(form+"/"+name, func(t *testing.T) {
				a := ask(t, load(t, form).method(tt.method), func(w http.ResponseWriter, _ *http.Request) { tt.handler(w) })
				assert.Equal(t, tt.status, a.Status)
				assert.Equal(t, tt.body, string(a.body(t)))
			})
		}
	}
	assert.Equal(t, text, string(body.Plain()), "the body itself is never changed")
}

// TestListsAreMadeOnce: the same answer is the same bytes, not equal ones.
func TestListsAreMadeOnce(t *testing.T) {
	body := list(t, wire.JSON)
	h := gateway.New(gateway.Config{HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(httpapi.BodyWriter).WriteBody(body, true)
	})})
	for _, form := range []string{"rest", "http"} {
		first, err := h.Invoke(t.Context(), load(t, form).json(t))
		require.NoError(t, err)
		second, err := h.Invoke(t.Context(), load(t, form).json(t))
		require.NoError(t, err)
		assert.Same(t, &first[0], &second[0])
	}
}

// TestLargeLists: a list that is too large is refused with advice that fits the
// request, to HEAD as to GET, and nothing of its headers stays.
func TestLargeLists(t *testing.T) {
	body := list(t, wire.JSON)
	for _, form := range forms {
		for zipped, advice := range map[bool]string{false: "Accept-Encoding: gzip", true: "X-Eureka-Accept: compact"} {
			h := gateway.New(gateway.Config{MaxAnswer: 200, HTTP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("ETag", "a")
				if zipped {
					w.Header().Set("Content-Encoding", "gzip")
				}
				w.(httpapi.BodyWriter).WriteBody(body, zipped)
			})})
			for _, method := range []string{"GET", "HEAD"} {
				answer, err := h.Invoke(t.Context(), load(t, form).method(method).json(t))
				require.NoError(t, err)
				a := decode(t, answer)
				assert.Equal(t, http.StatusNotAcceptable, a.Status)
				assert.Empty(t, a.header("ETag"))
				if method == "GET" {
					assert.True(t, strings.HasPrefix(a.Text, `{"error":"the response takes`), a.Text)
					assert.Contains(t, a.Text, advice)
				}
			}
		}
	}
}
