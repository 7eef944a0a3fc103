package boot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log := boot.NewLogger(&out, slog.LevelInfo)
	ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "77375676"})
	log.DebugContext(ctx, "not logged")
	log.With("app", "SHOP").WithGroup("g").WarnContext(ctx, "forged?\n{\"level\":\"ERROR\"}", "error", errors.New("no\x1bway"))
	log.Info("outside of a request")

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2, "control characters are escaped")
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &line))
	assert.Equal(t, "WARN", line["level"])
	assert.Equal(t, "SHOP", line["app"])
	stamp, err := time.Parse(time.RFC3339, line["timestamp"].(string))
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), stamp, time.Minute)
	assert.Contains(t, lines[0], `"requestId":"77375676"`)
	assert.Contains(t, lines[0], `"message":"forged?\n`)
	assert.NotContains(t, lines[1], "requestId")
}
