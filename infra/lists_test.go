package infra_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/functions/handlers"
)

// section returns the items "- `name` (what): meaning" below a heading of the
// README.
func section(t *testing.T, heading string) map[string][]string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(readme), "\n"+heading+"\n")
	require.True(t, ok, "there is no %s", heading)
	text, _, _ := strings.Cut(after, "\n#")
	out := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^- `([^`]+)` \\(([^)]+)\\): (.+)$").FindAllStringSubmatch(text, -1) {
		assert.NotContains(t, out, m[1], "listed twice")
		out[m[1]] = m[2:]
	}
	return out
}

// TestReadmeListsMetrics with unit and meaning, and no other.
func TestReadmeListsMetrics(t *testing.T) {
	want := map[string][]string{}
	for _, d := range handlers.Metrics() {
		want[d.Name] = []string{d.Unit, d.Meaning}
	}
	assert.Equal(t, want, section(t, "### Metrics"))
}

// TestReadmeListsLogLines: every line that the functions may write is listed
// with its level, and no other.
func TestReadmeListsLogLines(t *testing.T) {
	written := map[string]string{}
	for _, root := range []string{"../core", "../functions", "../storage"} {
		require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if name == filepath.Join("..", "core", "discovery") {
				return filepath.SkipDir // a client's own lines, which no function writes
			}
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "test/") {
				maps.Copy(written, logLines(t, name))
			}
			return nil
		}))
	}
	require.Contains(t, written, httpapi.AuditMessage)
	listed := map[string]string{}
	for message, cells := range section(t, "### Log lines") {
		listed[message] = cells[0]
	}
	assert.Equal(t, written, listed)
}

// levels are the calls that write lines, and where their message is.
var levels = map[string]struct {
	level string
	at    int
}{
	"DebugContext": {"debug", 1}, "InfoContext": {"info", 1}, "WarnContext": {"warn", 1}, "ErrorContext": {"error", 1},
	"Debug": {"debug", 0}, "Info": {"info", 0}, "Warn": {"warn", 0}, "Error": {"error", 0},
}

// logLines returns the messages that a file logs, with their levels.
func logLines(t *testing.T, name string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	require.NoError(t, err)
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if chosen, ok := n.(*ast.AssignStmt); ok {
			maps.Copy(out, chosenLine(chosen))
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if l, ok := levels[selector.Sel.Name]; ok && len(call.Args) > l.at {
			message := strings.TrimSpace(wording(call.Args[l.at]))
			assert.NotEmpty(t, message, "%s logs what cannot be told from its source", name)
			out[message] = l.level
		}
		return true
	})
	return out
}

// chosenLine returns the line that an assignment such as
//
//	level, message = slog.LevelWarn, "changes healed"
//
// chooses, for a call that follows.
func chosenLine(a *ast.AssignStmt) map[string]string {
	if len(a.Lhs) != 2 || len(a.Rhs) != 2 {
		return nil
	}
	name, named := a.Lhs[1].(*ast.Ident)
	level, leveled := a.Rhs[0].(*ast.SelectorExpr)
	if !named || !leveled || name.Name != "message" {
		return nil
	}
	return map[string]string{wording(a.Rhs[1]): strings.ToLower(strings.TrimPrefix(level.Sel.Name, "Level"))}
}

// wording returns a message as the README lists it: an ellipsis stands for what
// is put in when it is logged.
func wording(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return text
	case *ast.BinaryExpr:
		return wording(e.X) + wording(e.Y)
	case *ast.Ident:
		if e.Name == "AuditMessage" {
			return httpapi.AuditMessage
		}
	}
	return "…"
}
