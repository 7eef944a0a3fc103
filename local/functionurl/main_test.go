package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/local/apigateway"
)

// TestInvoke: an event reaches the function named in Lambda's path, and its
// response the client; a failed invocation is the client's 500.
func TestInvoke(t *testing.T) {
	for name, tt := range map[string]struct {
		status    int
		failed    string
		response  string
		want      int
		wantInner string
	}{
		"response": {200, "", `{"statusCode": 418, "body": "dGVh", "isBase64Encoded": true}`, 418, "tea"},
		"panic":    {200, "Unhandled", `{"errorMessage": "x"}`, 500, `{"message":"Internal Server Error"}`},
		"no such":  {404, "", `{"Message": "not found"}`, 500, `{"message":"Internal Server Error"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var event, path string
			lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				event, path = string(body), r.URL.Path
				if tt.failed != "" {
					w.Header().Set("X-Amz-Function-Error", tt.failed)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.response)
			}))
			defer lambda.Close()
			h := apigateway.NewFunctionURL(function{lambda.URL, "ApiFunction"}, slog.New(slog.DiscardHandler), time.Now)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/eureka/apps/SHOP/a%2Fb?note=c%2Bd", nil))
			assert.Equal(t, tt.want, w.Code)
			assert.Equal(t, tt.wantInner, w.Body.String())
			assert.Equal(t, "/2015-03-31/functions/ApiFunction/invocations", path)
			for _, part := range []string{`"rawPath":"/eureka/apps/SHOP/a%2Fb"`, `"rawQueryString":"note=c%2Bd"`, `.lambda-url.`} {
				require.Contains(t, event, part)
			}
		})
	}
}
