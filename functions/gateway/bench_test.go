package gateway_test

import (
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/eurekaless/registry/functions/gateway"
)

// BenchmarkInvoke measures the way from event to answer without the work in
// between.
func BenchmarkInvoke(b *testing.B) {
	gzip := make([]byte, 55<<10)
	for i := range gzip {
		gzip[i] = byte(rand.Uint32())
	}
	bodies := map[string]http.HandlerFunc{
		"empty":    func(http.ResponseWriter, *http.Request) {},
		"text1KB":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make1KB) },
		"gzip55KB": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(gzip) },
	}
	for _, form := range forms {
		event := load(b, form).json(b)
		for name, handler := range bodies {
			b.Run(form+"/"+name, func(b *testing.B) {
				h := gateway.New(gateway.Config{HTTP: handler})
				b.ReportAllocs()
				for b.Loop() {
					if _, err := h.Invoke(b.Context(), event); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

var make1KB = func() []byte {
	text := make([]byte, 1024)
	for i := range text {
		text[i] = `{"name": "value"}, `[i%19]
	}
	return text
}()
