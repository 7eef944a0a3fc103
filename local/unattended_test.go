package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/memory"
)

const endpointAtAWS = "https://dynamodb.eu-central-1.amazonaws.com"

// TestServesOnAfterAStop: with its tables at AWS a process serves for another
// minute after it was told to stop; elsewhere it stops at once.
func TestServesOnAfterAStop(t *testing.T) {
	for endpoint, want := range map[string]time.Duration{endpointAtAWS: lingerTime, "http://127.0.0.1:8000": 0, "": 0} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			p := &process{config: boot.Config{DynamoDBEndpoint: endpoint}, log: slog.New(slog.NewTextHandler(&log, nil))}
			ctx, stop := context.WithCancel(t.Context())
			serving := p.outlasting(ctx)
			time.Sleep(time.Hour)
			require.NoError(t, serving.Err())
			asked := time.Now()
			stop()
			<-serving.Done()
			assert.Equal(t, want, time.Since(asked), endpoint)
			assert.Equal(t, want > 0, strings.Contains(log.String(), "servesForSeconds=60"), endpoint)
		})
	}
}

// TestLogsAsFunction: lines and metrics of a process beside the functions are in
// their formats, on the standard output.
func TestLogsAsFunction(t *testing.T) {
	var out bytes.Buffer
	cfg, err := boot.Load(environment(nil), boot.Local)
	require.NoError(t, err)
	p := &process{config: cfg, out: &out, meter: handlers.Unmetered{}}
	p.logAsFunction()
	store := memory.New(memory.Config{})
	api := p.parts(storage.Tables{LeaseTable: store, DeltaTable: store}).API()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/eureka/apps", nil))
	require.Equal(t, http.StatusOK, w.Code)
	p.log.Info("serving")

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2, out.String())
	var metrics, line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &metrics))
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &line))
	assert.Contains(t, metrics, "_aws")
	assert.Contains(t, metrics, "RegistryAge")
	assert.Equal(t, serviceName, metrics["FunctionName"])
	assert.Equal(t, "serving", line["message"])
}

// TestCredentialsOfAService: a secret counts where the tables are elsewhere, and
// never beside a file.
func TestCredentialsOfAService(t *testing.T) {
	const secret = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:eureka-AbCdEf"
	for name, tt := range map[string]struct {
		settings map[string]string
		wrong    string
	}{
		"a secret, at AWS": {map[string]string{"REGISTRY_CREDENTIALS_SECRET": secret, "AWS_ENDPOINT_URL_DYNAMODB": endpointAtAWS}, ""},
		"a file too":       {map[string]string{"REGISTRY_CREDENTIALS_SECRET": secret, "REGISTRY_CREDENTIALS_FILE": "f", "AWS_ENDPOINT_URL_DYNAMODB": endpointAtAWS}, "set only one of them"},
		"open too":         {map[string]string{"REGISTRY_CREDENTIALS_SECRET": secret, "REGISTRY_ANONYMOUS": "true", "AWS_ENDPOINT_URL_DYNAMODB": endpointAtAWS}, "nobody would be asked for"},
	} {
		tt.settings["REGISTRY_LISTEN"] = "0.0.0.0:8761"
		cfg, err := boot.Load(environment(tt.settings), boot.Local)
		if tt.wrong != "" {
			assert.ErrorContains(t, err, tt.wrong, name)
			continue
		}
		require.NoError(t, err, name)
		assert.False(t, cfg.Anonymous, name)
		assert.False(t, cfg.Background, name)
	}
	code, _, errOut := execute(t, map[string]string{"REGISTRY_CREDENTIALS_SECRET": secret, "REGISTRY_LISTEN": "127.0.0.1:0"}, "serve")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "tables in memory are private to this process")
}
