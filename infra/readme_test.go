package infra_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rows returns the rows of the README's tables whose first cell names things
// in code spans, by the name: the row's cells.
func rows(t *testing.T) map[string][]string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	span := regexp.MustCompile("`([A-Za-z]+)`")
	out := map[string][]string{}
	for line := range strings.Lines(string(readme)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, name := range span.FindAllStringSubmatch(cells[0], -1) {
			out[name[1]] = cells
		}
	}
	return out
}

// TestReadmeListsAlarms: each alarm is explained, and no other.
func TestReadmeListsAlarms(t *testing.T) {
	listed := rows(t)
	for alarm := range ofType(t, "AWS::CloudWatch::Alarm") {
		require.Contains(t, listed, alarm)
		assert.Len(t, listed[alarm], 3, "%s: what it means, what to do", alarm)
		delete(listed, alarm)
	}
	parameters := dict(t, template(t), "Parameters")
	for name := range listed {
		assert.Contains(t, parameters, name, "neither alarm nor parameter")
	}
}

// TestReadmeListsParameters: each parameter is listed with its default.
func TestReadmeListsParameters(t *testing.T) {
	listed := rows(t)
	for name, p := range dict(t, template(t), "Parameters") {
		cells, ok := listed[name]
		if !assert.True(t, ok, "%s is not listed", name) {
			continue
		}
		if value := text(t, p, "Default"); value != "" {
			assert.Contains(t, cells[1], "`"+value+"`", "default of %s", name)
		}
	}
}
