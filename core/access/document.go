package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// maxPasswords is how many passwords a user may have at a time. A wrong
// password costs as many hashes as any user has passwords.
const maxPasswords = 4

// document is the credentials as they are kept; the package's comment has an
// example.
type document struct {
	Users map[string]userEntry `json:"users"`
	// Regions are logins for other regions' registries.
	Regions map[string]Login `json:"regions"`
}

type userEntry struct {
	Role Role `json:"role"`
	// Applications are patterns of names; absent: all.
	Applications []string `json:"applications"`
	Passwords    []string `json:"passwords"`
}

// users are all users by name.
type users map[string]*user

// Check returns what is wrong with a document of credentials, on one line; it
// holds nothing secret.
func Check(document []byte) error {
	if _, err := parseDocument(document); err != nil {
		return errors.New(strings.ReplaceAll(strings.ReplaceAll(err.Error(), "credentials: ", ""), "\n", "; "))
	}
	return nil
}

// credentials are what a document says.
type credentials struct {
	users   users
	regions map[string]Login
}

// parseDocument reads a document. The error joins every fault, and holds nothing
// secret. An unknown member is a fault: a misspelled limit must not mean that
// there is none.
func parseDocument(data []byte) (*credentials, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var d document
	if err := decoder.Decode(&d); err != nil {
		return nil, fmt.Errorf("credentials: %w", withoutText(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("credentials: something follows the document")
	}
	if len(d.Users) == 0 {
		return nil, errors.New("credentials: no users")
	}
	out := users{}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(d.Users)) {
		u, err := newUser(name, d.Users[name])
		if err != nil {
			faults = append(faults, fmt.Errorf("credentials: user %q: %w", name, err))
		}
		out[name] = u
	}
	if err := errors.Join(append(faults, checkRegions(d.Regions))...); err != nil {
		return nil, err
	}
	return &credentials{out, d.Regions}, nil
}

// withoutText takes from a decoding error what it quotes of the document.
func withoutText(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("no JSON at byte %d", syntax.Offset)
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("wrong kind of value at byte %d", kind.Offset)
	}
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the document is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON is cut off")
	}
	return err
}

// newUser makes a user of an entry.
func newUser(name string, e userEntry) (*user, error) {
	u := &user{name: name, role: e.Role}
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' }),
		"a name has printable ASCII characters other than space and colon")
	fault(u.role.level() == 0, "role: neither read, register nor admin")
	fault(e.Applications != nil && e.Role != Register, "applications: only the role register can be limited to some")
	fault(e.Applications != nil && len(e.Applications) == 0, "applications: none; leave it out for all")
	for _, text := range e.Applications {
		fault(text == "", "applications: an empty name")
		u.applications = append(u.applications, newPattern(text))
	}
	fault(len(e.Passwords) == 0 || len(e.Passwords) > maxPasswords, "passwords: %d of them, not 1 to %d", len(e.Passwords), maxPasswords)
	for i, text := range e.Passwords {
		h, err := parseHash(text)
		fault(err != nil, "passwords: number %d: %w", i+1, err)
		u.passwords = append(u.passwords, h)
	}
	return u, errors.Join(faults...)
}

// mostPasswords returns how many passwords the user with the most has.
func (u users) mostPasswords() int {
	most := 0
	for _, one := range u {
		most = max(most, len(one.passwords))
	}
	return most
}

// check returns the user that a name and password are of, and which of the
// user's hashes is the password's; nil for nobody. Whenever it returns nil it
// has compared with the same number of hashes, whether there is such a user or
// not.
func (u users) check(name, password string, matches func(hash, string) bool) (*user, hash) {
	one := u[name]
	var passwords []hash
	if one != nil {
		passwords = one.passwords
	}
	for _, h := range passwords {
		if matches(h, password) {
			return one, h
		}
	}
	var nobody hash
	for range u.mostPasswords() - len(passwords) {
		matches(nobody, password)
	}
	return nil, nobody
}
