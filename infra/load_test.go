// Package infra_test holds template.yaml to the code that it deploys, and the
// README beside it to the template.
package infra_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/stretchr/testify/require"
)

// node is a part of the template: object, list, or a scalar as text. The short
// forms of CloudFormation's functions are written out: !Ref X is {"Ref": X},
// !Sub X is {"Fn::Sub": X}.
type (
	node   = any
	object = map[string]any
)

// parse and parseContainers read a template once; nobody changes it.
var (
	parse           = sync.OnceValues(func() (node, error) { return parseFile("../template.yaml") })
	parseContainers = sync.OnceValues(func() (node, error) { return parseFile("containers.yaml") })
)

func parseFile(path string) (node, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, err
	}
	return convert(file.Docs[0].Body)
}

// template returns the whole template.
func template(t *testing.T) object {
	t.Helper()
	whole, err := parse()
	require.NoError(t, err)
	return whole.(object)
}

// containers returns the whole template of the containers' stack.
func containers(t *testing.T) object {
	t.Helper()
	whole, err := parseContainers()
	require.NoError(t, err)
	return whole.(object)
}

// convert returns what a part of the syntax tree says.
func convert(n ast.Node) (node, error) {
	switch n := n.(type) {
	case *ast.MappingNode:
		out := object{}
		for _, entry := range n.Values {
			if err := add(out, entry); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *ast.MappingValueNode:
		out := object{}
		return out, add(out, n)
	case *ast.SequenceNode:
		out := make([]any, 0, len(n.Values))
		for _, entry := range n.Values {
			value, err := convert(entry)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case *ast.TagNode:
		value, err := convert(n.Value)
		return object{longForm(n.Start.Value): value}, err
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.StringNode:
		return n.Value, nil
	case ast.ScalarNode:
		return fmt.Sprint(n.GetValue()), nil
	}
	return nil, fmt.Errorf("line %d: %T is not expected", n.GetToken().Position.Line, n)
}

func add(out object, entry *ast.MappingValueNode) error {
	key := entry.Key.String()
	if s, ok := entry.Key.(*ast.StringNode); ok {
		key = s.Value
	}
	if _, twice := out[key]; twice {
		return fmt.Errorf("%s is there twice", key)
	}
	value, err := convert(entry.Value)
	out[key] = value
	return err
}

func longForm(tag string) string {
	name := strings.TrimPrefix(tag, "!")
	if name == "Ref" || name == "Condition" {
		return name
	}
	return "Fn::" + name
}

// at returns the part that a path of keys leads to.
func at(t *testing.T, n node, path ...string) node {
	t.Helper()
	for i, key := range path {
		o, ok := n.(object)
		require.True(t, ok, "%v is no object", path[:i])
		n, ok = o[key]
		require.True(t, ok, "no %v", path[:i+1])
	}
	return n
}

func text(t *testing.T, n node, path ...string) string {
	t.Helper()
	value, ok := at(t, n, path...).(string)
	require.True(t, ok, "%v is no scalar", path)
	return value
}

func list(t *testing.T, n node, path ...string) []any {
	t.Helper()
	value, ok := at(t, n, path...).([]any)
	require.True(t, ok, "%v is no list", path)
	return value
}

func dict(t *testing.T, n node, path ...string) object {
	t.Helper()
	value, ok := at(t, n, path...).(object)
	require.True(t, ok, "%v is no object", path)
	return value
}

// properties returns those of a resource.
func properties(t *testing.T, resource string) object {
	t.Helper()
	return dict(t, template(t), "Resources", resource, "Properties")
}

// ofType returns the names of the resources of a type, with their properties.
func ofType(t *testing.T, kind string) map[string]object {
	t.Helper()
	out := map[string]object{}
	for name, r := range dict(t, template(t), "Resources") {
		if text(t, r, "Type") == kind {
			out[name] = dict(t, r, "Properties")
		}
	}
	require.NotEmpty(t, out, kind)
	return out
}
