package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/eurekaless/registry/local/replay"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// TestReplay asks the process what was asked a real Eureka server, under both
// prefixes, by both ways through it, and with and without heartbeats that need
// no write. The process itself makes every change that the recording answers
// with 404 to a heartbeat, so that it answers all of them as recorded with those
// too; TestUnwrittenHeartbeatsChangeNothingElse has what another process changed.
func TestReplay(t *testing.T) {
	for _, prefix := range []string{"/eureka", "/eureka/v2"} {
		for _, way := range []string{"false", "true"} {
			for _, interval := range []string{"0s", "75s"} {
				t.Run("events="+way+" prefix="+prefix+" interval="+interval, func(t *testing.T) {
					t.Parallel()
					replayOn(t, prefix, "REGISTRY_LOCAL_EVENTS="+way, "REGISTRY_RENEWAL_WRITE_INTERVAL="+interval)
				})
			}
		}
	}
}

// TestReplayOnDynoxide does so on an engine that is more like DynamoDB.
func TestReplayOnDynoxide(t *testing.T) {
	replayOn(t, "/eureka", "AWS_ENDPOINT_URL_DYNAMODB="+enginetest.Dynoxide(t).Endpoint)
}

func replayOn(t *testing.T, prefix string, settings ...string) {
	t.Helper()
	r := startRegistry(t, append(settings, "REGISTRY_CACHE_REFRESH=0s")...)
	replay.Run(t, r.url(prefix), http.DefaultClient.Do, 10*time.Second)
}
