// Package access knows who may do what: users with salted hashes of their
// passwords and a role, kept in a document that is read when the process
// starts and again from time to time, and the gate before the API that asks
// for Basic credentials, as Eureka's clients send them with a service URL such
// as https://user:password@host/eureka.
//
// The document is JSON:
//
//	{"users": {
//	  "dashboard": {"role": "read", "passwords": ["$argon2id$..."]},
//	  "shop-team": {"role": "register", "applications": ["SHOP", "SHOP-*"], "passwords": ["$argon2id$..."]},
//	  "ops": {"role": "admin", "passwords": ["$argon2id$..."]}
//	}, "regions": {
//	  "us-west-2": {"user": "reader", "password": "..."}
//	}}
//
// "regions" is optional: what this registry sends when it reads the registries
// of other regions. These passwords are kept as they are.
//
// A user may have several passwords at a time, so that a new one is valid
// before the old one is taken away, and nothing has to be deployed for either.
//
// Costs: the first request with a credential costs a hash (see [Hash]), every
// later one a few microseconds, since what was verified is remembered by a
// keyed hash that is good for this process only. Wrong credentials cost a hash
// too, at most five a second in all; of these some are kept for credentials from
// networks that sent few wrong ones, and for those that come again when they
// were turned away, so that guessing does not keep a new client out.
package access

import (
	"fmt"
	"io"

	"github.com/eurekaless/registry/core/eureka"
)

// Role is what a user may do; each role includes those before it.
type Role string

// The roles.
const (
	// Read may read everything.
	Read Role = "read"
	// Register may also register, renew and cancel instances, and set their
	// metadata and status, of the applications that the user is limited to,
	// under VIPs that are called like these.
	Register Role = "register"
	// Admin may also do so for all applications and pass on what clients
	// asked of another registry, as a peer.
	Admin Role = "admin"
)

// level is the greatest access that a role has; LevelNone for no role.
func (r Role) level() Level {
	switch r {
	case Read:
		return LevelRead
	case Register:
		return LevelRegister
	case Admin:
		return LevelAdmin
	}
	return LevelNone
}

// user is who a credential is of.
type user struct {
	name string
	role Role
	// applications limits registering; nil: all applications.
	applications []pattern
	passwords    []hash
}

// Format keeps what a user has out of everything that is printed: fmt does not
// ask the hashes themselves, as they are not exported.
func (u user) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "user "+u.name) }

// may returns nil when the user has the access that a route demands for an
// application, or an eureka.ErrForbidden that says what is missing.
func (u *user) may(need Level, app string) error {
	if u.role.level() < need {
		return fmt.Errorf("%w: the role %s is not enough", eureka.ErrForbidden, u.role)
	}
	if need < LevelRegister || u.applications == nil {
		return nil
	}
	for _, p := range u.applications {
		if p.matches(app) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s is none of the applications of %s", eureka.ErrForbidden, app, u.name)
}
