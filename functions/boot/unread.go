package boot

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// settingPrefix begins the names of this project's settings.
const settingPrefix = "REGISTRY_"

// ErrUnread is a variable of the environment that looks like a setting but is
// not read.
var ErrUnread = errors.New("is not read")

// Unread returns an error for each variable of the environment ("NAME=value")
// that is named like a setting but that the user does not read: one that is
// misspelled, or that only other users have. Empty variables count as unset.
// Others are names that have another reader.
func Unread(environment []string, user User, others ...string) []error {
	var faults []error
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		if value == "" || slices.Contains(others, name) || foreign(name, value) {
			continue
		}
		if err := unread(name, user); err != nil {
			faults = append(faults, err)
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return faults
}

// foreign reports whether a variable with the prefix is not meant for a
// registry: it is for the tests, or Kubernetes and Docker set it for a service
// called "registry".
func foreign(name, value string) bool {
	return strings.HasPrefix(name, "REGISTRY_TEST_") || serviceLink.MatchString(name) ||
		name == "REGISTRY_PORT" && strings.Contains(value, "://")
}

var serviceLink = regexp.MustCompile(`^REGISTRY_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP)(_(ADDR|PORT|PROTO))?|(NAME|ENV_.+))$`)

// unread returns why a user does not read a variable; nil when it does, or when
// the name is no setting's.
func unread(name string, user User) error {
	var readers User
	nearest, distance := "", len(name)
	for _, s := range Settings() {
		if s.Name == name {
			readers = s.Users
		}
		if d := Edits(strings.ToUpper(name), s.Name); s.Users.Has(user) && d < distance {
			nearest, distance = s.Name, d
		}
	}
	switch {
	case readers.Has(user):
		return nil
	case readers != 0 && distance*4 <= len(name):
		return fmt.Errorf("%s %w by %s, only by %s; the nearest setting is %s", name, ErrUnread, user.reader(), readers.reader(), nearest)
	case readers != 0:
		return fmt.Errorf("%s %w by %s, only by %s", name, ErrUnread, user.reader(), readers.reader())
	case strings.HasPrefix(strings.ToUpper(name), settingPrefix), distance <= maxSlips && strings.HasPrefix(nearest, settingPrefix):
		return fmt.Errorf("%s %w: there is no such setting; the nearest is %s", name, ErrUnread, nearest)
	}
	return nil
}

// maxSlips is how many letters of a setting's name may be wrong for it still to
// be recognized without its prefix.
const maxSlips = 2

// reader names the readers of a setting in a sentence.
func (u User) reader() string {
	functions := u &^ Local
	var parts []string
	if u.Has(Local) {
		parts = append(parts, "the local process")
	}
	switch names := functions.String(); {
	case functions == 0:
	case strings.Contains(names, ","):
		parts = append(parts, "the functions "+names)
	default:
		parts = append(parts, "the function "+names)
	}
	return strings.Join(parts, " and ")
}

// Edits is how many letters must be put in, taken out or changed to make one
// text of another.
func Edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
