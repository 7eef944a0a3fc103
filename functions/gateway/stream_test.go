package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/functions/gateway"
)

// streamed reads an answer in the form of response streaming: a document with
// status and headers, eight zeros, the body as it is.
func streamed(t *testing.T, r io.Reader) (answer, []byte) {
	t.Helper()
	contentType, ok := r.(interface{ ContentType() string })
	require.True(t, ok)
	assert.Equal(t, "application/vnd.awslambda.http-integration-response", contentType.ContentType())
	all, err := io.ReadAll(r)
	require.NoError(t, err)
	head, body, ok := bytes.Cut(all, make([]byte, 8))
	require.True(t, ok)
	var a answer
	require.NoError(t, json.Unmarshal(head, &a))
	return a, body
}

// TestStream: the events of a function URL are answered as a stream, with a
// list's own bytes, of any size; every other event as always.
func TestStream(t *testing.T) {
	body := list(t, wire.JSON)
	h := gateway.New(gateway.Config{MaxAnswer: 300, HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1")
		w.Header()["Vary"] = []string{"Accept", "Accept-Encoding"}
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "tea")
			return
		}
		w.(httpapi.BodyWriter).WriteBody(body, true)
	})})
	head, err := h.Stream(t.Context(), load(t, "url").method("HEAD").json(t))
	require.NoError(t, err)
	_, none := streamed(t, head)
	assert.Empty(t, none)
	for _, form := range forms {
		reader, err := h.Stream(t.Context(), load(t, form).method("GET").json(t))
		require.NoError(t, err)
		if form != "url" {
			envelope, err := io.ReadAll(reader)
			require.NoError(t, err)
			assert.Equal(t, http.StatusNotAcceptable, decode(t, envelope).Status, form)
			continue
		}
		a, got := streamed(t, reader)
		assert.Equal(t, http.StatusOK, a.Status)
		assert.Equal(t, map[string]string{"Vary": "Accept,Accept-Encoding"}, a.Headers)
		assert.Equal(t, []string{"a=1", "b=2"}, a.Cookies)
		assert.Equal(t, body.Gzip(), got)
	}
	for method, want := range map[string]int{"PUT": http.StatusTeapot, "P UT": http.StatusBadRequest} {
		reader, err := h.Stream(t.Context(), load(t, "url").method(method).json(t))
		require.NoError(t, err)
		a, got := streamed(t, reader)
		assert.Equal(t, want, a.Status)
		assert.NotEmpty(t, got)
	}
	_, err = h.Stream(t.Context(), []byte(`{}`))
	assert.Error(t, err)
}
