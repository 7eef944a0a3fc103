// Package fulltest separates the two lengths of the tests. `make test` needs Go
// alone and takes minutes. `make check` runs everything: it sets
// REGISTRY_TEST_REQUIRE_ALL=1, which lets tests start other software, take long,
// and fail where a tool is missing.
package fulltest

import (
	"os"
	"os/exec"
	"testing"
)

// Env is the variable that asks for everything when it is 1.
const Env = "REGISTRY_TEST_REQUIRE_ALL"

// Enabled reports whether everything is asked for.
func Enabled() bool { return os.Getenv(Env) == "1" }

// Only skips the test unless everything is asked for; why says what it costs.
func Only(t testing.TB, why string) {
	t.Helper()
	if !Enabled() {
		t.Skipf("skipped, `make check` runs it: %s", why)
	}
}

// Tool returns the path of a program by the first of its names that is found.
// It skips the test unless everything is asked for, and then fails where there
// is no such program.
func Tool(t testing.TB, names ...string) string {
	t.Helper()
	Only(t, "it needs "+names[0])
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("%s is missing, and %s=1", names[0], Env)
	return ""
}
