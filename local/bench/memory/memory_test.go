package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
)

// TestRequestsFitInMemory: no kind of request costs the process more than the
// limit, one or a hundred at once. It takes some minutes.
func TestRequestsFitInMemory(t *testing.T) {
	fulltest.Only(t, "takes minutes, as `make bench-requests` does")
	binary := filepath.Join(t.TempDir(), "registry")
	out, err := exec.Command("go", "build", "-o", binary, "../..").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.NoError(t, table(t.Context(), binary, regexp.MustCompile(""), t.Output()))
}

// TestKindsCoverEverybody: each kind has a name of its own, and each sender has
// some.
func TestKindsCoverEverybody(t *testing.T) {
	names := map[string]bool{}
	senders := map[string]int{}
	for _, k := range kinds() {
		assert.False(t, names[k.String()], k.String())
		names[k.String()] = true
		senders[k.who]++
		assert.True(t, (k.request == nil) != (k.raw == nil), k.String())
	}
	for _, who := range []string{"outsider", "reader", "service", "peer"} {
		assert.Greater(t, senders[who], 4, who)
	}
	for name, body := range jsonBodies() {
		assert.InDelta(t, maxBody, len(body), 100, name)
	}
	assert.Less(t, len(registrations()), maxBody)
	assert.Equal(t, 250, strings.Count(string(registrations()), `"Register"`))
}
