package storagetest_test

import (
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/storage"
	"github.com/eurekaless/registry/storage/memory"
	"github.com/eurekaless/registry/storage/storagetest"
)

// defectVariable names the defect that TestDefective is to have.
const defectVariable = "STORAGETEST_DEFECT"

// TestDefectsAreFound proves that the suite can fail: each driver with a
// defect, in a process of its own, fails the test that is there for it.
func TestDefectsAreFound(t *testing.T) {
	executable, err := os.Executable()
	require.NoError(t, err)
	for name, d := range defects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), executable, "-test.v", "-test.run", "^TestDefective$/^"+strings.ReplaceAll(d.test, "/", "$/^")+"$")
			command.Env = append(os.Environ(), defectVariable+"="+name)
			output, err := command.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the defect is not found")
			assert.Contains(t, string(output), "--- FAIL: TestDefective/"+strings.ReplaceAll(d.test, " ", "_")+" ")
		})
	}
}

// TestDefective is what TestDefectsAreFound runs; by itself it tests nothing.
func TestDefective(t *testing.T) {
	d, ok := defects()[os.Getenv(defectVariable)]
	if !ok {
		return
	}
	storagetest.Run(t, func(*testing.T) storagetest.Driver {
		s := memory.New(memory.Config{})
		b := &broken{Tables: storage.Tables{LeaseTable: s, DeltaTable: s}}
		d.harm(b)
		return storagetest.Of(storage.Tables{LeaseTable: b, DeltaTable: b})
	})
}

// defect is a wrong driver and the test that finds it.
type defect struct {
	test string
	harm func(b *broken)
}

// defects returns all of them by their names.
func defects() map[string]defect {
	all := maps.Clone(leaseDefects)
	maps.Copy(all, counterDefects)
	maps.Copy(all, deltaDefects)
	return all
}
