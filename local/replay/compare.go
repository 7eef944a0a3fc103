package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// comparison knows what earlier exchanges changed.
type comparison struct {
	// extra says that the extra instance was registered.
	extra bool
}

// note takes in an exchange's last answer.
func (c *comparison) note(ex Exchange, answer Answer) {
	if ex.Name == extraName && answer.Status == http.StatusNoContent {
		c.extra = true
	}
}

// differences says, a line each, in what an answer is not the right one.
func (c *comparison) differences(ex Exchange, answer Answer) []string {
	want, deviates := ex.Response, deviations[ex.Name]
	if deviates.anything {
		return nil
	}
	if deviates.status != 0 {
		want.Status = deviates.status
	}
	if deviates.contentType != "" {
		want.ContentType = deviates.contentType
	}
	if answer.Status != want.Status {
		return []string{fmt.Sprintf("status %d, not %d: %.200s", answer.Status, want.Status, answer.Body)}
	}
	refused := want.Status >= 400 && want.Status != http.StatusConflict
	if ex.Method == http.MethodHead || refused {
		return nil
	}
	out := headerDifferences(answer, want)
	if deviates.status != 0 {
		return out
	}
	return append(out, c.bodyDifferences(ex, answer, want, deviates)...)
}

func headerDifferences(answer, want Answer) []string {
	var out []string
	if want.Body != "" && answer.ContentType != want.ContentType {
		out = append(out, fmt.Sprintf("content type %q, not %q", answer.ContentType, want.ContentType))
	}
	if answer.ContentEncoding != want.ContentEncoding {
		out = append(out, fmt.Sprintf("content encoding %q, not %q", answer.ContentEncoding, want.ContentEncoding))
	}
	return out
}

func (c *comparison) bodyDifferences(ex Exchange, answer, want Answer, deviates deviation) []string {
	if want.Body == "" {
		if strings.TrimSpace(answer.Body) != "" {
			return []string{fmt.Sprintf("a body where none is: %.120s", answer.Body)}
		}
		return nil
	}
	ours, err := decode(answer.Body)
	if err != nil {
		return []string{fmt.Sprintf("body is not readable: %v: %.120s", err, answer.Body)}
	}
	theirs, err := decode(want.Body)
	if err != nil {
		return []string{fmt.Sprintf("recorded body is not readable: %v", err)}
	}
	for field, value := range deviates.instance {
		theirs.(map[string]any)["instance"].(map[string]any)[field] = value
	}
	if strings.HasPrefix(ex.Path, "/apps/delta") {
		ours, theirs := latestChanges(ours), latestChanges(theirs)
		delete(ours, extraApp+"/"+extraID)
		return firstDifferences(ours, theirs, "")
	}
	dropExtra(ours)
	c.countHash(ex, ours, true)
	c.countHash(ex, theirs, false)
	return firstDifferences(normal(ours, ""), normal(theirs, ""), "")
}

// dropExtra takes the extra instance out of an answer.
func dropExtra(tree any) {
	switch v := tree.(type) {
	case map[string]any:
		if list, ok := v["instance"].([]any); ok {
			v["instance"] = slices.DeleteFunc(list, func(i any) bool {
				instance, _ := i.(map[string]any)
				return instance["app"] == extraApp && instance["instanceId"] == extraID
			})
		}
		for _, value := range v {
			dropExtra(value)
		}
	case []any:
		for _, value := range v {
			dropExtra(value)
		}
	}
}

var hashPart = regexp.MustCompile(`([A-Z_]+?)_(\d+)_`)

// countHash replaces the apps hash code by its counts, without the extra
// instance where that is counted.
func (c *comparison) countHash(ex Exchange, tree any, ours bool) {
	root, _ := tree.(map[string]any)
	apps, _ := root["applications"].(map[string]any)
	hash, ok := apps["apps__hashcode"].(string)
	if !ok {
		return
	}
	counts := map[string]any{}
	for _, part := range hashPart.FindAllStringSubmatch(hash, -1) {
		counts[part[1]] = part[2]
	}
	path, _, _ := strings.Cut(ex.Path, "?")
	if up, ok := counts["UP"].(string); ok && ours && c.extra && strings.TrimRight(path, "/") == "/apps" {
		n, _ := strconv.Atoi(up)
		counts["UP"] = strconv.Itoa(n - 1)
	}
	apps["apps__hashcode"] = counts
}

// serverTimes are compared only by their type and whether they are set.
var serverTimes = []string{"registrationTimestamp", "lastRenewalTimestamp", "lastUpdatedTimestamp"}

// typeOnly are compared by their type alone.
var typeOnly = []string{"evictionTimestamp", "serviceUpTimestamp", "versions__delta"}

// normal makes values that need not be equal equal, and sorts lists.
func normal(value any, key string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, field := range v {
			out[k] = normal(field, k)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, entry := range v {
			out[i] = normal(entry, key)
		}
		slices.SortFunc(out, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		return out
	}
	switch {
	case slices.Contains(serverTimes, key):
		if fmt.Sprint(value) == "0" {
			return fmt.Sprintf("zero %T", value)
		}
		return fmt.Sprintf("set %T", value)
	case slices.Contains(typeOnly, key):
		return fmt.Sprintf("%T", value)
	}
	return value
}

func text(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(out)
}

// latestChanges makes of a delta the last change of each instance.
func latestChanges(tree any) map[string]any {
	out, seen := map[string]any{}, map[string]int64{}
	root, _ := tree.(map[string]any)
	applications, _ := root["applications"].(map[string]any)
	list, _ := applications["application"].([]any)
	for _, a := range list {
		app, _ := a.(map[string]any)
		instances, _ := app["instance"].([]any)
		for _, i := range instances {
			instance, _ := i.(map[string]any)
			id := instance["instanceId"]
			if id == nil {
				id = instance["hostName"]
			}
			key := fmt.Sprintf("%v/%v", app["name"], id)
			stamp, _ := strconv.ParseInt(fmt.Sprint(instance["lastUpdatedTimestamp"]), 10, 64)
			if last, there := seen[key]; there && stamp < last {
				continue
			}
			action := "PRESENT"
			if instance["actionType"] == "DELETED" {
				action = "DELETED"
			}
			seen[key], out[key] = stamp, fmt.Sprintf("%s %v", action, instance["status"])
		}
	}
	return out
}

// limit is how many differences of one answer are told.
const limit = 6

// firstDifferences compares two trees.
func firstDifferences(a, b any, path string) []string {
	var out []string
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v, not %v", path, a, b)}
		}
		out = fieldDifferences(x, y, path)
	case []any:
		y, ok := b.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v, not %v", path, a, b)}
		}
		if len(x) != len(y) {
			out = append(out, fmt.Sprintf("%s: %d entries, not %d", path, len(x), len(y)))
		}
		for i := range min(len(x), len(y)) {
			out = append(out, firstDifferences(x[i], y[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
	default:
		if a != b {
			out = append(out, fmt.Sprintf("%s: %#v, not %#v", path, a, b))
		}
	}
	return out[:min(limit, len(out))]
}

func fieldDifferences(a, b map[string]any, path string) []string {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		x, ours := a[k]
		y, theirs := b[k]
		switch {
		case !ours:
			out = append(out, path+"/"+k+": missing")
		case !theirs:
			out = append(out, path+"/"+k+": not there in the recorded answer")
		default:
			out = append(out, firstDifferences(x, y, path+"/"+k)...)
		}
	}
	return out
}
