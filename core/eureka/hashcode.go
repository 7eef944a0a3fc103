package eureka

import (
	"slices"
	"strconv"
	"strings"
)

// StatusCounts counts instances by status; it is the source of the apps hash
// code and can be kept up to date by addition.
type StatusCounts map[Status]int

// Count adds instances by status.
func (c StatusCounts) Count(instances ...*InstanceInfo) {
	for _, i := range instances {
		c[i.Status]++
	}
}

// HashCode returns the apps hash code: every status that some instance has
// with its count, in alphabetical order, such as "DOWN_1_UP_14_". It is empty
// for an empty registry. Clients compare it with the counts of what they hold
// after applying a delta, and fetch everything when it differs.
func (c StatusCounts) HashCode() string {
	statuses := make([]Status, 0, len(c))
	for s, n := range c {
		if n > 0 {
			statuses = append(statuses, s)
		}
	}
	slices.Sort(statuses)
	var b strings.Builder
	for _, s := range statuses {
		b.WriteString(string(s))
		b.WriteByte('_')
		b.WriteString(strconv.Itoa(c[s]))
		b.WriteByte('_')
	}
	return b.String()
}

// HashCode returns the apps hash code of applications.
func HashCode(applications []Application) string {
	counts := StatusCounts{}
	for _, a := range applications {
		counts.Count(a.Instances...)
	}
	return counts.HashCode()
}
