package handlers_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/functions/handlers"
)

// TestMetrics: each metric is described, once.
func TestMetrics(t *testing.T) {
	names := map[string]bool{}
	for i, d := range handlers.Metrics() {
		assert.Regexp(t, regexp.MustCompile(`^[A-Z][A-Za-z]+$`), d.Name, "metric %d", i)
		assert.Contains(t, []string{"Count", "Seconds"}, d.Unit, d.Name)
		assert.NotEmpty(t, d.Meaning, d.Name)
		assert.False(t, names[d.Name], d.Name)
		names[d.Name] = true
	}
}
