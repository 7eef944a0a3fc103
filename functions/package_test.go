package functions_test

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/fulltest"
)

// maxPackage is the largest package of a function, in megabytes.
const maxPackage = 6.0

// TestPackageSize: a package is small, and infra/README.md says how large it
// is. One grows at once by whatever keeps the linker from leaving out what nobody
// calls: see dynamodb.Operations.
func TestPackageSize(t *testing.T) {
	fulltest.Only(t, "it builds every function twice")
	rules, err := os.ReadFile("../infra/build/functions.mk")
	require.NoError(t, err)
	require.Contains(t, string(rules), " -tags "+tags+" ")
	documented := documentedSizes(t)
	for name, goarch := range map[string]string{"arm64": "arm64", "x86_64": "amd64"} {
		for i, function := range []string{"write", "read", "stream", "evict", "api"} {
			t.Run(name+"/"+function, func(t *testing.T) {
				t.Parallel()
				size := zipped(t, buildFor(t, goarch, function))
				t.Logf("%.2f MB", size)
				assert.Less(t, size, maxPackage)
				assert.InDelta(t, documented[name][i], size, 0.1, "the table in infra/README.md")
			})
		}
	}
}

// documentedSizes returns the rows of the table in infra/README.md.
func documentedSizes(t *testing.T) map[string][]float64 {
	t.Helper()
	readme, err := os.ReadFile("../infra/README.md")
	require.NoError(t, err)
	sizes := map[string][]float64{}
	rows := regexp.MustCompile(`(?m)^\| (arm64|x86_64) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$`)
	for _, row := range rows.FindAllStringSubmatch(string(readme), -1) {
		for _, text := range row[2:] {
			size, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			sizes[row[1]] = append(sizes[row[1]], size)
		}
	}
	require.Len(t, sizes, 2)
	return sizes
}

// TestOnlyReadersHavePages: templates call methods by name, so a function
// that has them keeps every method of what it holds.
func TestOnlyReadersHavePages(t *testing.T) {
	for function, pages := range map[string]bool{"write": false, "read": true, "stream": false, "evict": false, "api": true} {
		list, err := exec.Command("go", "list", "-deps", "-tags", tags, "./"+function).Output()
		require.NoError(t, err)
		assert.Equal(t, pages, bytes.Contains(list, []byte("\ntext/template\n")), function)
	}
}

// build builds a function for this machine.
func build(t testing.TB, function string) string {
	t.Helper()
	return buildFor(t, runtime.GOARCH, function)
}

// tags are those that functions are built with.
const tags = "lambda.norpc,nethttpomithttp2"

// buildFor builds a function as `sam build` does.
func buildFor(t testing.TB, goarch, function string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "bootstrap")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w", "-o", binary, "./"+function)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+goarch)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// zipped returns the size of a function's package in megabytes.
func zipped(t testing.TB, binary string) float64 {
	t.Helper()
	data, err := os.ReadFile(binary)
	require.NoError(t, err)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("bootstrap")
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return float64(out.Len()) / 1e6
}
