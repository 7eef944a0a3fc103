package core_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/eurekaless/registry/"

// allowed lists, for each part of the tree, the module's own packages and the
// foreign modules that its code (not its tests) may import. The standard
// library is free, but for what forbidden names.
var allowed = map[string][]string{
	"core":            {},
	"core/eureka":     {},
	"core/delta":      {"core/eureka"},
	"core/wire":       {"core/eureka", "golang.org/x/text/encoding"},
	"core/registry":   {"core/eureka", "core/wire"},
	"core/eviction":   {"core/eureka", "core/delta", "core/registry"},
	"core/view":       {"core/eureka", "core/delta", "core/wire", "github.com/klauspost/compress"},
	"core/dashboard":  {"core/dashboard", "core/eureka", "core/delta"},
	"core/access":     {"core/eureka", "golang.org/x/crypto", "golang.org/x/sync", "golang.org/x/time"},
	"core/httpapi":    {"core/access", "core/dashboard", "core/delta", "core/eureka", "core/regions", "core/registry", "core/view", "core/wire", "golang.org/x/sync"},
	"core/discovery":  {"core/eureka", "core/wire"},
	"core/mirror":     {"core/eureka"},
	"core/regions":    {"core/eureka", "core/mirror", "core/wire"},
	"core/systemtest": {"core", "storage"},
	"storage":         {"core", "storage", "golang.org/x/sync/errgroup", "github.com/aws", "github.com/klauspost/compress", "github.com/stretchr/testify", "github.com/anishathalye/porcupine", "github.com/sivchari/kumo"},
	"functions":       {"core", "storage", "functions/handlers", "functions/gateway", "functions/boot", "github.com/aws", "github.com/awslabs"},
	"infra":           {"core", "storage", "functions"},
	"local":           {"core", "storage", "functions", "local", "golang.org/x/sync/errgroup", "github.com/aws", "github.com/google/uuid", "github.com/sivchari/kumo"},
}

// TestImportsGoDownward holds the direction of data: handler -> core -> store,
// and core free of AWS.
func TestImportsGoDownward(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != ".." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"testdata", "node_modules", "target", "e2e"}, entry.Name())) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		folder := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(name), "../"))
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			assert.True(t, mayImport(folder, imported), "%s must not import %s", name, imported)
		}
		checked++
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, checked, 20, "files were found")
}

// mayImport applies the longest entry of allowed that covers the folder.
func mayImport(folder, imported string) bool {
	own, inside := strings.CutPrefix(imported, module)
	if !inside && !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
		return true // the standard library
	}
	if !inside {
		own = imported
	}
	for part := folder; part != "."; part = path.Dir(part) {
		if list, ok := allowed[part]; ok {
			return slices.ContainsFunc(list, func(prefix string) bool {
				return own == prefix || strings.HasPrefix(own, prefix+"/")
			})
		}
	}
	return false
}

// TestMayImport shows that the rule can say no.
func TestMayImport(t *testing.T) {
	assert.True(t, mayImport("core/httpapi", module+"core/wire"))
	assert.True(t, mayImport("core/wire", "encoding/json"))
	assert.False(t, mayImport("core/wire", module+"core/httpapi"))
	assert.False(t, mayImport("core/registry", "github.com/aws/aws-sdk-go-v2/aws"))
	assert.False(t, mayImport("functions/write", module+"functions/read"))
	assert.False(t, mayImport("elsewhere", module+"core/wire"))
}

// TestTopLevelIsFixed checks the tree's top level. The two files that README.md's
// commands for credentials write there are in .gitignore and may be present.
func TestTopLevelIsFixed(t *testing.T) {
	entries, err := filepath.Glob("../*")
	require.NoError(t, err)
	want := []string{"Makefile", "README.md", "core", "functions", "go.mod", "go.sum", "infra", "local", "storage", "template.yaml"}
	written := []string{"password", "credentials.json"}
	var got []string
	for _, e := range entries {
		if base := filepath.Base(e); !strings.HasPrefix(base, ".") && !slices.Contains(written, base) {
			got = append(got, base)
		}
	}
	assert.ElementsMatch(t, want, got)
}
