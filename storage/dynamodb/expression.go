package dynamodb

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Every attribute has a name of its own in expressions, since many of them are
// reserved words; its value goes by the same name. No name is the beginning of
// another, which "up" and "updated" would be: an engine for tests replaces
// names as text.
var aliases = map[string]string{AttrUp: "serviceUp"}

func alias(attribute string) string {
	if a, ok := aliases[attribute]; ok {
		return a
	}
	return attribute
}

// update builds an UpdateItem of what is not as frequent as renewals.
type update struct {
	set, remove, condition []string
	names                  map[string]string
	values                 item
}

func newUpdate() *update {
	return &update{names: make(map[string]string, 16), values: make(item, 16)}
}

// name returns an attribute's name in expressions.
func (u *update) name(attribute string) string {
	n := "#" + alias(attribute)
	u.names[n] = attribute
	return n
}

// value returns a value's name in expressions.
func (u *update) value(name string, v types.AttributeValue) string {
	name = ":" + alias(name)
	u.values[name] = v
	return name
}

// put sets an attribute to a value.
func (u *update) put(attribute string, v types.AttributeValue) {
	u.set = append(u.set, u.name(attribute)+" = "+u.value(attribute, v))
}

// putIfAbsent sets an attribute that is not there yet.
func (u *update) putIfAbsent(attribute string, v types.AttributeValue) {
	n := u.name(attribute)
	u.set = append(u.set, n+" = if_not_exists("+n+", "+u.value(attribute, v)+")")
}

// bump adds one to an attribute, which starts at a value when it is not there.
func (u *update) bump(attribute string, start types.AttributeValue) {
	n := u.name(attribute)
	u.set = append(u.set, n+" = if_not_exists("+n+", "+u.value(attribute+"Start", start)+") + "+u.value("one", number(1)))
}

// drop removes attributes.
func (u *update) drop(attributes ...string) {
	for _, a := range attributes {
		u.remove = append(u.remove, u.name(a))
	}
}

// putOrDrop sets an attribute, or removes it when the value is nil.
func (u *update) putOrDrop(attribute string, v types.AttributeValue) {
	if v == nil {
		u.drop(attribute)
		return
	}
	u.put(attribute, v)
}

// require adds a condition.
func (u *update) require(condition string) {
	u.condition = append(u.condition, condition)
}

// exists and absent are conditions on an attribute's being there.
func (u *update) exists(attribute string) string {
	return "attribute_exists(" + u.name(attribute) + ")"
}

func (u *update) absent(attribute string) string {
	return "attribute_not_exists(" + u.name(attribute) + ")"
}

// is is the condition that an attribute has a value, given by its name.
func (u *update) is(attribute, name string, v types.AttributeValue) string {
	return u.name(attribute) + " = " + u.value(name, v)
}

// into completes an input.
func (u *update) into(in *dynamodb.UpdateItemInput) *dynamodb.UpdateItemInput {
	expression := "SET " + strings.Join(u.set, ", ")
	if len(u.remove) > 0 {
		expression += " REMOVE " + strings.Join(u.remove, ", ")
	}
	in.UpdateExpression = &expression
	if condition := strings.Join(u.condition, " AND "); condition != "" {
		in.ConditionExpression = &condition
	}
	in.ExpressionAttributeNames = u.names
	in.ExpressionAttributeValues = u.values
	return in
}
