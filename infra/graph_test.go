package infra_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestResourcesDoNotReferToEachOther: CloudFormation refuses resources that wait
// for each other.
func TestResourcesDoNotReferToEachOther(t *testing.T) {
	graph := map[string][]string{}
	for name, r := range dict(t, template(t), "Resources") {
		graph[name] = references(r)
	}
	assert.Contains(t, graph["ReadTargets"], "ReadTargetsPermission", "by DependsOn")
	assert.Contains(t, graph["ReadAlias"], "ReadShifting", "by an update policy")
	assert.Empty(t, cycle(graph))

	graph["ReadTargetsPermission"] = append(graph["ReadTargetsPermission"], "ReadTargets")
	assert.NotEmpty(t, cycle(graph), "the permission refers to the group")
}

// references returns the names that a part of the template refers to.
func references(n node) []string {
	var out []string
	switch n := n.(type) {
	case []any:
		for _, item := range n {
			out = append(out, references(item)...)
		}
	case object:
		for key, value := range n {
			if name, ok := value.(string); ok {
				switch key {
				case "Ref", "DependsOn":
					out = append(out, name)
				case "Fn::GetAtt":
					out = append(out, strings.Split(name, ".")[0])
				case "Fn::Sub":
					out = append(out, variables(name)...)
				}
				continue
			}
			if parts, ok := value.([]any); ok && key == "Fn::Sub" {
				out = append(out, variables(parts[0].(string))...)
			}
			out = append(out, references(value)...)
		}
	}
	return out
}

// variables returns the names in a text of Fn::Sub.
func variables(text string) []string {
	var out []string
	for _, match := range regexp.MustCompile(`\$\{(\w+)`).FindAllStringSubmatch(text, -1) {
		out = append(out, match[1])
	}
	return out
}

// cycle returns resources that wait for each other; none is empty.
func cycle(graph map[string][]string) []string {
	done := map[string]bool{}
	var visit func(name string, path []string) []string
	visit = func(name string, path []string) []string {
		if at := slices.Index(path, name); at >= 0 {
			return path[at:]
		}
		if done[name] {
			return nil
		}
		done[name] = true
		for _, next := range graph[name] {
			if found := visit(next, append(path, name)); found != nil {
				return found
			}
		}
		return nil
	}
	for name := range graph {
		if found := visit(name, nil); found != nil {
			return found
		}
	}
	return nil
}
