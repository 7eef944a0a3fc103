package access

import "strings"

// pattern is a name of applications: "*" in it stands for any characters, also
// for none, everything else for itself. It is upper case, as keys are.
type pattern string

func newPattern(text string) pattern { return pattern(strings.ToUpper(text)) }

// matches reports whether the pattern stands for the name, upper case too. Its
// work is bounded by the product of the lengths.
func (p pattern) matches(name string) bool {
	parts := strings.Split(string(p), "*")
	last := len(parts) - 1
	if last == 0 {
		return name == string(p)
	}
	name, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		_, rest, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = rest
	}
	return strings.HasSuffix(name, parts[last])
}
