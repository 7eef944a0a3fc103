package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/eurekaless/registry/local/replay"
)

// TestReplay asks the process what was asked a real Eureka server, under both
// prefixes and by both ways through it.
func TestReplay(t *testing.T) {
	for _, prefix := range []string{"/eureka", "/eureka/v2"} {
		for _, way := range []string{"false", "true"} {
			t.Run("events="+way+" prefix="+prefix, func(t *testing.T) {
				t.Parallel()
				r := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s", "REGISTRY_LOCAL_EVENTS="+way)
				replay.Run(t, r.url(prefix), http.DefaultClient.Do, 10*time.Second)
			})
		}
	}
}
