package boot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/storage"
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

// tricks are texts that would forge lines or command a terminal.
var tricks = []string{
	"a\r\n{\"level\":\"ERROR\"}", "\x1b[2J\x1b]0;title\x07", "\u009b31m", "\x7f\x00", "\u202egnp.exe", "\u2028line\u2029", "\U000e0041", "\xff\xfe", "%0a%1b[31m", `"}`,
}

// TestNothingHiddenIsLogged, wherever it comes from; and what prints stays.
func TestNothingHiddenIsLogged(t *testing.T) {
	var out bytes.Buffer
	log := boot.NewLogger(&out, slog.LevelInfo)
	for _, trick := range tricks {
		log.Info(trick, trick, trick, "error", errors.New(trick), "any", []string{trick}, "group", slog.GroupValue(slog.String("a", trick)))
	}
	log.Info("Zürich 東京 🙂")
	assertLines(t, out.String(), len(tricks)+1)
	assert.Contains(t, out.String(), "Zürich 東京 🙂")
	assert.Contains(t, out.String(), `\u009b31m`)
	assert.Contains(t, out.String(), `\udb40\udc41`)
}

// assertLines asserts that a log has so many lines, each a JSON object, and
// nothing that does not print.
func assertLines(t *testing.T, log string, n int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	assert.Len(t, lines, n)
	for _, line := range lines {
		var fields map[string]any
		assert.NoError(t, json.Unmarshal([]byte(line), &fields), "%q", line)
		assert.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", line)
	}
}

// TestNoSecretIsLogged: at the finest level, through every way in, with a store
// that fails, requests that are refused and a handler that panics, no password,
// hash or header with them is in the log, nor can a client write lines of its
// own into it.
func TestNoSecretIsLogged(t *testing.T) {
	p, _, _ := closedParts(t)
	var out bytes.Buffer
	p.Log = boot.NewLogger(&out, slog.LevelDebug)
	p.Guard = access.New(access.Config{
		Source: func(context.Context) ([]byte, error) { return document(), nil }, Logger: p.Log,
	})
	p.Tables.LeaseTable = broken{p.Tables.LeaseTable}
	answers := ""
	ways := entrances(t, p)
	delete(ways, "local") // there net/http's server takes the panics
	for _, enter := range ways {
		for _, trick := range tricks {
			for _, password := range []string{passwordOf("operator"), "wrong-password"} {
				path := "/eureka/apps/SHOP/" + url.PathEscape(trick)
				for _, method := range []string{"PUT", "DELETE", "GET", "POST"} {
					got, _ := enter(t, call{method: method, path: path, headers: map[string]string{
						"Authorization": basic("operator", password), "X-Trick": url.PathEscape(trick), "Content-Type": "application/json",
					}})
					answers += got.body
				}
			}
		}
	}
	require.Contains(t, out.String(), "request failed")
	require.Contains(t, out.String(), "panic while answering")
	require.Contains(t, out.String(), "credentials refused")
	assertLines(t, out.String(), strings.Count(out.String(), "\n"))
	var hashes struct {
		Users map[string]struct{ Passwords []string }
	}
	require.NoError(t, json.Unmarshal(document(), &hashes))
	secrets := []string{
		passwordOf("operator"), "wrong-password", basic("operator", passwordOf("operator"))[len("Basic "):],
		basic("operator", "wrong-password")[len("Basic "):], "argon2", "Authorization",
	}
	for _, u := range hashes.Users {
		secrets = append(secrets, u.Passwords[0][len(u.Passwords[0])-20:])
	}
	for _, secret := range secrets {
		assert.NotContains(t, out.String(), secret)
		assert.NotContains(t, answers, secret)
		assert.NotContains(t, fmt.Sprintf("%+v %#v", p, p.Guard), secret, "a dump")
	}
	assert.NotContains(t, answers, "secret inside")
}

// broken is a table whose writes fail and whose removals panic.
type broken struct{ storage.LeaseTable }

func (broken) Renew(context.Context, registry.Renewal) (time.Duration, error) {
	return 0, fmt.Errorf("secret inside: %w", eureka.ErrCorrupt)
}

func (broken) Cancel(context.Context, eureka.Key, time.Time) error { panic("secret inside") }
