package access

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/argon2"
)

// TestSecretsAreComparedInConstantTime: no clock tells what a comparison of 32
// bytes takes beside a hash, so the source is asked.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	constant := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				compares := n.Op == token.EQL || n.Op == token.NEQ
				assert.False(t, compares && (secret(n.X) || secret(n.Y)), "%s: a secret in a comparison", name)
			case *ast.CallExpr:
				called, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || !slices.ContainsFunc(n.Args, secret) {
					break
				}
				assert.NotContains(t, []string{"Equal", "EqualFold", "Compare", "DeepEqual"}, called.Sel.Name, name)
				if called.Sel.Name == "ConstantTimeCompare" {
					constant++
				}
			}
			return true
		})
	}
	assert.Equal(t, 1, constant)
}

// secret reports whether an expression is a key or password, or a part of one.
func secret(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "key" || e.Name == "password"
	case *ast.SelectorExpr:
		return secret(e.Sel)
	case *ast.SliceExpr:
		return secret(e.X)
	case *ast.ParenExpr:
		return secret(e.X)
	}
	return false
}

func TestHash(t *testing.T) {
	first, err := Hash("correct horse battery")
	require.NoError(t, err)
	second, err := Hash("correct horse battery")
	require.NoError(t, err)
	assert.NotEqual(t, first, second, "salted")

	h, err := parseHash(first)
	require.NoError(t, err)
	assert.True(t, h.matches("correct horse battery"))
	assert.False(t, h.matches("correct horse batterz"))
	assert.False(t, h.matches(""))
}

// TestHashOfAnotherTool: this is what Python's argon2-cffi makes of the password,
// which goes back to the reference implementation.
func TestHashOfAnotherTool(t *testing.T) {
	h, err := parseHash("$argon2id$v=19$m=7168,t=5,p=1$MDEyMzQ1Njc4OWFiY2RlZg$J8lM7XPRk6qo4qF4KjLF4u9eqZE6K0bNXnBihF5axU8")
	require.NoError(t, err)
	assert.True(t, h.matches("correct horse battery"))
}

func TestHashPrefixSaysTheCost(t *testing.T) {
	assert.Equal(t, hashPrefix, fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, hashMemory, hashPasses, hashLanes))
}

func TestPasswordsThatAreRefused(t *testing.T) {
	for _, password := range []string{"", "short", "elevenchars", "with a tab\there", "with a new line\n", "größer als zwölf", "nul\x00in the middle", "delete\x7fcharacter"} {
		_, err := Hash(password)
		assert.Error(t, err, password)
	}
}

func TestHashesThatAreRefused(t *testing.T) {
	good, err := Hash("correct horse battery")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"empty":             "",
		"plain":             "correct horse battery",
		"bcrypt":            "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
		"cheaper":           strings.Replace(good, "t=5", "t=1", 1),
		"dearer":            strings.Replace(good, "m=7168", "m=65536", 1),
		"another kind":      strings.Replace(good, "argon2id", "argon2i", 1),
		"no key":            good[:strings.LastIndex(good, "$")],
		"short key":         good[:len(good)-4],
		"long key":          good + "AAAA",
		"not base64":        good[:len(good)-1] + "!",
		"something follows": good + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseHash(text)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), good[len(hashPrefix):len(hashPrefix)+10])
			assert.NotContains(t, err.Error(), "horse")
		})
	}
}

func FuzzParseHash(f *testing.F) {
	good, err := Hash("correct horse battery")
	require.NoError(f, err)
	f.Add(good)
	f.Add(hashPrefix + "$")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseHash(text); err == nil && !strings.HasPrefix(text, hashPrefix) {
			t.Fatalf("taken: %q", text)
		}
	})
}

// BenchmarkHash is the cost of a credential's first request in a process.
func BenchmarkHash(b *testing.B) {
	var h hash
	b.ReportAllocs()
	for b.Loop() {
		h.derive("correct horse battery")
	}
}
