package boot_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// TestReadmeListsTheSettings: the README's table has each setting with its
// default and where it applies, and no other.
func TestReadmeListsTheSettings(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| (.*?) \\| (local|Lambda|both) \\| (.*) \\|$")
	listed := map[string][]string{}
	for _, match := range row.FindAllStringSubmatch(string(readme), -1) {
		listed[match[1]] = match[2:]
	}
	for _, s := range boot.Settings() {
		got, ok := listed[s.Name]
		if !assert.True(t, ok, "the README lists %s", s.Name) {
			continue
		}
		delete(listed, s.Name)
		assert.Equal(t, readmeDefault(s), got[0], "default of %s", s.Name)
		assert.Equal(t, s.Where(), got[1], "where %s applies", s.Name)
		assert.Equal(t, s.Meaning, got[2], "meaning of %s", s.Name)
	}
	assert.Empty(t, listed, "the README lists what there is not")
}

// readmeDefault words a default as the README does.
func readmeDefault(s boot.Setting) string {
	switch {
	case s.Default == "" && s.LocalDefault == "":
		return "none"
	case s.Default == "":
		return "none; locally `" + s.LocalDefault + "`"
	case s.LocalDefault == "" || s.LocalDefault == s.Default:
		return "`" + s.Default + "`"
	}
	return "`" + s.Default + "`; locally `" + s.LocalDefault + "`"
}
