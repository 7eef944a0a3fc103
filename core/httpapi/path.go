package httpapi

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/eurekaless/registry/core/eureka"
)

// resource is what a path names.
type resource int

const (
	resourceNone resource = iota
	resourceApplications
	resourceDelta
	resourceApplication
	resourceInstance
	resourceInstanceStatus
	resourceInstanceMetadata
	resourceInstanceByID
	resourceVIP
	resourceSecureVIP
	resourceReplication
	resourceDashboard
	resourceAction
	resourceLastN
	resourceStatus
	resourceHealth
)

// target is a resource and the names in its path, each decoded exactly once.
type target struct {
	resource resource
	// app is the application in upper case.
	app string
	// name is the instance id or VIP.
	name string
}

// page reports whether people or load balancers are answered, not clients.
func (t target) page() bool { return t.resource == resourceNone || t.resource >= resourceDashboard }

func (t target) key() eureka.Key { return eureka.Key{App: t.app, ID: t.name} }

// prefixes are where the protocol is served: Spring Cloud's, and Netflix's
// own, the longer one first.
var prefixes = []string{"/eureka/v2", "/eureka"}

// parsePath finds out what a request's path names. It works on the encoded
// path, so that an id may hold any character, and decodes each part once.
// Doubled slashes before a name and trailing ones are passed over, since
// clients whose base URL ends in a slash make them; answering by a redirect
// would lose their POSTs (TestH9). A session id that a servlet client appends
// is ignored. The error says which part is not decodable.
func parsePath(u *url.URL) (target, error) {
	path, protocol := cutPrefix(cutSession(u.EscapedPath()))
	head, rest := nextPart(path)
	if t, ok := pages[head]; ok && rest == "" {
		return target{resource: t}, nil
	}
	if head == "actuator" {
		return parseActuator(rest), nil
	}
	if !protocol {
		return target{}, nil
	}
	switch head {
	case "apps":
		return parseApps(rest)
	case "instances":
		return parseNamed(resourceInstanceByID, "id", rest)
	case "vips":
		return parseNamed(resourceVIP, "vip", rest)
	case "svips":
		return parseNamed(resourceSecureVIP, "svip", rest)
	case "peerreplication":
		if part, more := nextPart(rest); part == "batch" && more == "" {
			return target{resource: resourceReplication}, nil
		}
	}
	return target{}, nil
}

// pages are the resources for people and load balancers; they answer at the
// root and under both prefixes.
var pages = map[string]resource{
	"":       resourceDashboard,
	"action": resourceAction,
	"lastn":  resourceLastN,
	"status": resourceStatus,
	"health": resourceHealth,
}

// parseActuator parses what follows /actuator, where the health checks of a
// Spring Boot server ask.
func parseActuator(path string) target {
	part, rest := nextPart(path)
	group, more := nextPart(rest)
	if part != "health" || more != "" {
		return target{}
	}
	switch group {
	case "", "readiness", "liveness":
		return target{resource: resourceHealth}
	}
	return target{}
}

// sessionParameter begins the session id that servlet clients append to a path.
const sessionParameter = ";jsessionid="

// cutSession returns a path without a session id at its end. A semicolon
// before anything else belongs to the name that it is in.
func cutSession(path string) string {
	trimmed := strings.TrimRight(path, "/")
	last := strings.LastIndexByte(trimmed, '/') + 1
	at := strings.Index(trimmed[last:], sessionParameter)
	if at < 0 {
		return path
	}
	return trimmed[:last+at]
}

// cutPrefix takes the protocol's prefix from a path and reports whether one
// was there.
func cutPrefix(path string) (string, bool) {
	path = "/" + strings.TrimLeft(path, "/")
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || rest[0] == '/') {
			return rest, true
		}
	}
	return path, false
}

// nextPart splits the first part off a path, with the slashes around it.
func nextPart(path string) (part, rest string) {
	part, rest, _ = strings.Cut(strings.TrimLeft(path, "/"), "/")
	return part, strings.TrimLeft(rest, "/")
}

// parseApps parses what follows /apps: after the application's name
// everything but a final /status or /metadata is the instance id.
func parseApps(path string) (target, error) {
	head, rest := nextPart(path)
	if head == "" {
		return target{resource: resourceApplications}, nil
	}
	if head == "delta" && rest == "" {
		return target{resource: resourceDelta}, nil
	}
	app, err := decodePart("app", head)
	if err != nil {
		return target{}, err
	}
	t := target{resource: resourceApplication, app: strings.ToUpper(app)}
	rest = strings.TrimRight(rest, "/")
	if rest == "" {
		return t, nil
	}
	t.resource = resourceInstance
	if id, ok := strings.CutSuffix(rest, "/status"); ok {
		t.resource, rest = resourceInstanceStatus, id
	} else if id, ok := strings.CutSuffix(rest, "/metadata"); ok {
		t.resource, rest = resourceInstanceMetadata, id
	}
	t.name, err = decodePart("id", strings.TrimRight(rest, "/"))
	return t, err
}

func parseNamed(r resource, field, path string) (target, error) {
	path = strings.TrimRight(path, "/")
	if path == "" {
		return target{}, nil
	}
	name, err := decodePart(field, path)
	return target{resource: r, name: name}, err
}

func decodePart(field, part string) (string, error) {
	name, err := url.PathUnescape(part)
	if err != nil || !utf8.ValidString(name) {
		return "", eureka.Invalidf(field, "not decodable in the path: %q", part)
	}
	return name, nil
}
