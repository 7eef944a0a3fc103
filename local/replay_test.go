package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/eurekaless/registry/local/replay"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// TestReplay asks the process what was asked a real Eureka server, under both
// prefixes and by both ways through it.
func TestReplay(t *testing.T) {
	for _, prefix := range []string{"/eureka", "/eureka/v2"} {
		for _, way := range []string{"false", "true"} {
			t.Run("events="+way+" prefix="+prefix, func(t *testing.T) {
				t.Parallel()
				replayOn(t, prefix, "REGISTRY_LOCAL_EVENTS="+way)
			})
		}
	}
}

// TestReplayOnDynoxide does so on an engine that is more like DynamoDB.
func TestReplayOnDynoxide(t *testing.T) {
	replayOn(t, "/eureka", "AWS_ENDPOINT_URL_DYNAMODB="+enginetest.Dynoxide(t).Endpoint)
}

func replayOn(t *testing.T, prefix string, setting string) {
	t.Helper()
	r := startRegistry(t, "REGISTRY_CACHE_REFRESH=0s", setting)
	replay.Run(t, r.url(prefix), http.DefaultClient.Do, 10*time.Second)
}
