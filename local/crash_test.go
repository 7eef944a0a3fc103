package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// TestWhatWasAnsweredSurvivesAKill kills the process (kill -9) in the middle of
// registrations, three times over, with an engine that keeps its tables in a
// file. Every registration that was answered 204 must be there afterwards.
func TestWhatWasAnsweredSurvivesAKill(t *testing.T) {
	engine := enginetest.DynoxideOn(t, filepath.Join(t.TempDir(), "tables.db"))
	var answered []string
	for round := range 3 {
		r := startUntilKilled(t, "AWS_ENDPOINT_URL_DYNAMODB="+engine.Endpoint)
		answered = append(answered, registerUntilKilled(t, r, round)...)
	}
	t.Logf("%d registrations were answered", len(answered))

	r := startRegistry(t, "AWS_ENDPOINT_URL_DYNAMODB="+engine.Endpoint)

	for _, id := range answered {
		status, _, err := ask(t.Context(), http.MethodGet, r.url("/eureka/apps/SHOP/"+id), "")
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status, id)
	}
	status, body, err := ask(t.Context(), http.MethodGet, r.url("/eureka/apps"), "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	var all answer
	require.NoError(t, json.Unmarshal(body, &all))
	assert.Equal(t, all.hash(), all.Applications.Hash)
	for _, id := range answered {
		_, there := all.find(id)
		assert.True(t, there, id)
	}
}

// registerUntilKilled registers with several clients at once, kills the
// process while they are at it, and returns what was answered 204.
func registerUntilKilled(t *testing.T, r *registry, round int) []string {
	t.Helper()
	var (
		mu       sync.Mutex
		answered []string
		clients  sync.WaitGroup
	)
	for client := range 4 {
		clients.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("shop-%d-%d-%d", round, client, n)
				status, _, err := ask(context.Background(), http.MethodPost, r.url("/eureka/apps/SHOP"), instance("SHOP", id, 90))
				if err != nil {
					return // killed
				}
				if assert.Equal(t, http.StatusNoContent, status) {
					mu.Lock()
					answered = append(answered, id)
					mu.Unlock()
				}
			}
		})
	}
	<-time.After(time.Second)
	r.kill()
	clients.Wait()
	require.NotEmpty(t, answered)
	return answered
}
