package infra_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// evaluation evaluates rules, conditions and values as CloudFormation does, for
// a stack of a template with these parameters and the defaults of the others.
type evaluation struct {
	t          *testing.T
	template   object
	parameters map[string]string
}

// defaults evaluates for a stack without any parameters.
func defaults(t *testing.T) evaluation { return evaluation{t, template(t), nil} }

// holds evaluates a rule's or condition's function.
func (e evaluation) holds(n node) bool {
	e.t.Helper()
	for function, arguments := range n.(object) {
		if function == "Condition" {
			return e.condition(arguments.(string))
		}
		switch args := arguments.([]any); function {
		case "Fn::Equals":
			return e.value(args[0]) == e.value(args[1])
		case "Fn::Not":
			return !e.holds(args[0])
		case "Fn::And":
			return !slices.ContainsFunc(args, func(n node) bool { return !e.holds(n) })
		case "Fn::Or":
			return slices.ContainsFunc(args, e.holds)
		default:
			e.t.Fatalf("rules have no %s", function)
		}
	}
	return false
}

// condition evaluates a named condition.
func (e evaluation) condition(name string) bool {
	e.t.Helper()
	return e.holds(at(e.t, e.template, "Conditions", name))
}

// value evaluates a scalar. A resource is its name in the template, a table its
// own name.
func (e evaluation) value(n node) string {
	e.t.Helper()
	o, ok := n.(object)
	if !ok {
		return n.(string)
	}
	for function, argument := range o {
		switch function {
		case "Ref":
			return e.ref(argument.(string))
		case "Fn::If":
			branches := argument.([]any)
			if e.condition(branches[0].(string)) {
				return e.value(branches[1])
			}
			return e.value(branches[2])
		case "Fn::Sub":
			return regexp.MustCompile(`\$\{[^}]+\}`).ReplaceAllStringFunc(argument.(string), func(name string) string {
				return e.ref(strings.Trim(name, "${}"))
			})
		}
		e.t.Fatalf("values have no %s", function)
	}
	return ""
}

func (e evaluation) ref(name string) string {
	e.t.Helper()
	if value, ok := e.parameters[name]; ok {
		return value
	}
	if parameter, ok := dict(e.t, e.template, "Parameters")[name]; ok {
		return text(e.t, parameter, "Default")
	}
	if name == "AWS::StackName" {
		return stackName(e.t)
	}
	if resource, ok := dict(e.t, e.template, "Resources")[name]; ok && text(e.t, resource, "Type") == "AWS::DynamoDB::Table" {
		return e.value(properties(e.t, name)["TableName"])
	}
	return name
}
