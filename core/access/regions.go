package access

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Login is the user and password that this registry sends to another region's.
// Unlike the passwords of users it is kept as it is, since it has to be sent.
type Login struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// Format keeps the password out of everything that is printed.
func (Login) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, "access.Login") }

// Region returns the login for another region, and false if the document has
// none. It is the current one, so a rotated password takes effect within
// [DefaultMaxAge]. It fails with eureka.ErrUnavailable before the document could
// be read.
func (g *Guard) Region(ctx context.Context, name string) (Login, bool, error) {
	latest, err := g.reader.latest(ctx)
	if err != nil {
		return Login{}, false, err
	}
	login, ok := latest.regions[name]
	return login, ok, nil
}

// checkRegions joins every fault of the logins and shows none of their values.
func checkRegions(regions map[string]Login) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(regions)) {
		switch login := regions[name]; {
		case name == "":
			faults = append(faults, errors.New("credentials: regions: an empty name"))
		case login.User == "" || strings.Contains(login.User, ":"):
			faults = append(faults, fmt.Errorf("credentials: region %q: user: empty or with a colon", name))
		case login.Password == "":
			faults = append(faults, fmt.Errorf("credentials: region %q: password: empty", name))
		}
	}
	return errors.Join(faults...)
}
