package eventsource

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-lambda-go/events"
)

// Filter is an event source mapping's filter: an event pattern as EventBridge
// has them, as far as this project's template uses them. A pattern is an object
// whose leaves are lists of rules; it matches when for every leaf one rule
// does. A rule is a text to be equal to, or {"exists": true or false}. Fields
// are eventName and the attributes of dynamodb.Keys, NewImage and OldImage, by
// attribute and type: {"dynamodb": {"NewImage": {"change": {"S": [...]}}}}.
type Filter struct {
	leaves []leaf
}

// leaf is one field of a record and the rules for it.
type leaf struct {
	path  []string
	rules []rule
}

type rule struct {
	// exists is the wanted presence; nil: the field must equal text.
	exists *bool
	text   string
}

// ParseFilter reads a pattern.
func ParseFilter(pattern string) (Filter, error) {
	var tree map[string]any
	if err := json.Unmarshal([]byte(pattern), &tree); err != nil {
		return Filter{}, fmt.Errorf("filter pattern %s: %w", pattern, err)
	}
	var f Filter
	if err := f.add(nil, tree); err != nil {
		return Filter{}, fmt.Errorf("filter pattern %s: %w", pattern, err)
	}
	return f, nil
}

// add takes in the fields of an object of the pattern.
func (f *Filter) add(path []string, tree map[string]any) error {
	for name, value := range tree {
		at := append(slices.Clone(path), name)
		switch v := value.(type) {
		case map[string]any:
			if err := f.add(at, v); err != nil {
				return err
			}
		case []any:
			if !known(at) {
				return fmt.Errorf("field %v is not supported", at)
			}
			rules, err := parseRules(v)
			if err != nil {
				return fmt.Errorf("field %v: %w", at, err)
			}
			f.leaves = append(f.leaves, leaf{path: at, rules: rules})
		default:
			return fmt.Errorf("field %v: %v is neither an object nor a list", at, value)
		}
	}
	return nil
}

// known reports whether field finds what the path names.
func known(path []string) bool {
	switch {
	case len(path) == 1:
		return path[0] == "eventName"
	case len(path) == 4 && path[0] == "dynamodb":
		return slices.Contains([]string{"Keys", "NewImage", "OldImage"}, path[1]) &&
			slices.Contains([]string{"S", "N", "B"}, path[3])
	}
	return false
}

func parseRules(list []any) ([]rule, error) {
	var rules []rule
	for _, entry := range list {
		switch v := entry.(type) {
		case string:
			rules = append(rules, rule{text: v})
		case map[string]any:
			exists, ok := v["exists"].(bool)
			if !ok || len(v) != 1 {
				return nil, fmt.Errorf("rule %v is not supported", v)
			}
			rules = append(rules, rule{exists: &exists})
		default:
			return nil, fmt.Errorf("rule %v is not supported", v)
		}
	}
	return rules, nil
}

// Match reports whether the record is one that the filter lets through.
func (f Filter) Match(r events.DynamoDBEventRecord) bool {
	for _, l := range f.leaves {
		text, present := field(r, l.path)
		if !slices.ContainsFunc(l.rules, func(r rule) bool { return r.match(text, present) }) {
			return false
		}
	}
	return true
}

func (r rule) match(text string, present bool) bool {
	if r.exists != nil {
		return *r.exists == present
	}
	return present && r.text == text
}

// field returns a record's field as text (binary as it is) and whether it is
// there.
func field(r events.DynamoDBEventRecord, path []string) (text string, present bool) {
	if path[0] == "eventName" {
		return r.EventName, r.EventName != ""
	}
	image := r.Change.Keys
	switch path[1] {
	case "NewImage":
		image = r.Change.NewImage
	case "OldImage":
		image = r.Change.OldImage
	}
	value, present := image[path[2]]
	if !present {
		return "", false
	}
	// The accessors panic when asked for another type.
	switch value.DataType() {
	case events.DataTypeString:
		return value.String(), path[3] == "S"
	case events.DataTypeNumber:
		return value.Number(), path[3] == "N"
	case events.DataTypeBinary:
		return string(value.Binary()), path[3] == "B"
	}
	return "", false
}
