package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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

// TestReplayWithHeartbeatsElsewhere sends heartbeats to another process than all
// else, which need not write them. None of those that the recording answers with
// 404 follows one with the same timestamp, so that all are answered as recorded.
func TestReplayWithHeartbeatsElsewhere(t *testing.T) {
	settings := []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + enginetest.Dynoxide(t).Endpoint,
		"REGISTRY_CACHE_REFRESH=0s", "REGISTRY_RENEWAL_WRITE_INTERVAL=75s",
	}
	here, elsewhere := startRegistry(t, settings...), startRegistry(t, settings...)
	heartbeats := 0
	replay.Run(t, here.url("/eureka"), func(r *http.Request) (*http.Response, error) {
		path := strings.TrimSuffix(r.URL.Path, "/")
		if r.Method == http.MethodPut && !strings.HasSuffix(path, "/status") && !strings.HasSuffix(path, "/metadata") {
			r.URL.Host, r.Host = elsewhere.address, elsewhere.address
			heartbeats++
		}
		return http.DefaultClient.Do(r)
	}, 10*time.Second)
	assert.Greater(t, heartbeats, 10)
}

func replayOn(t *testing.T, prefix string, settings ...string) {
	t.Helper()
	r := startRegistry(t, append(settings, "REGISTRY_CACHE_REFRESH=0s")...)
	replay.Run(t, r.url(prefix), http.DefaultClient.Do, 10*time.Second)
}
