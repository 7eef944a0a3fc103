package httpapi

import "net/http"

// Access is what a route demands of the credentials of a request.
type Access int

// The kinds of access, each including those before it.
const (
	// AccessNone is everybody's, without credentials.
	AccessNone Access = iota
	// AccessRead reads.
	AccessRead
	// AccessRegister changes the instances of one's own applications: their
	// registrations, metadata and status. An override is among that, since
	// clients set and end their own status by it.
	AccessRegister
	// AccessAdmin changes those of every application, also as a peer.
	AccessAdmin
)

// Route is one row of the API: a method and a path below a prefix.
type Route struct {
	Method string
	// Pattern is the path with {app}, {id}, {vip} and {svip} for names.
	Pattern string
	Access  Access
	// Page says that the route answers at the root too.
	Page bool

	resource resource
	serve    func(*Handler, http.ResponseWriter, *http.Request, target) error
}

// Routes returns the whole API. GET routes answer HEAD too, and every path
// answers OPTIONS.
func Routes() []Route {
	return []Route{
		{http.MethodPost, "/apps/{app}", AccessRegister, false, resourceApplication, (*Handler).register},
		{http.MethodPut, "/apps/{app}/{id}", AccessRegister, false, resourceInstance, (*Handler).renew},
		{http.MethodDelete, "/apps/{app}/{id}", AccessRegister, false, resourceInstance, (*Handler).cancel},
		{http.MethodPut, "/apps/{app}/{id}/status", AccessRegister, false, resourceInstanceStatus, (*Handler).setStatus},
		{http.MethodDelete, "/apps/{app}/{id}/status", AccessRegister, false, resourceInstanceStatus, (*Handler).removeOverride},
		{http.MethodPut, "/apps/{app}/{id}/metadata", AccessRegister, false, resourceInstanceMetadata, (*Handler).addMetadata},
		{http.MethodPost, "/peerreplication/batch", AccessAdmin, false, resourceReplication, (*Handler).replicate},
		{http.MethodGet, "/apps", AccessRead, false, resourceApplications, (*Handler).applications},
		{http.MethodGet, "/apps/delta", AccessRead, false, resourceDelta, (*Handler).delta},
		{http.MethodGet, "/apps/{app}", AccessRead, false, resourceApplication, (*Handler).application},
		{http.MethodGet, "/apps/{app}/{id}", AccessRead, false, resourceInstance, (*Handler).instance},
		{http.MethodGet, "/instances/{id}", AccessRead, false, resourceInstanceByID, (*Handler).instanceByID},
		{http.MethodGet, "/vips/{vip}", AccessRead, false, resourceVIP, (*Handler).vip},
		{http.MethodGet, "/svips/{svip}", AccessRead, false, resourceSecureVIP, (*Handler).secureVIP},
		{http.MethodGet, "/", AccessRead, true, resourceDashboard, (*Handler).dashboard},
		{http.MethodPost, "/action", AccessAdmin, true, resourceAction, (*Handler).act},
		{http.MethodGet, "/lastn", AccessRead, true, resourceLastN, (*Handler).lastN},
		{http.MethodGet, "/status", AccessRead, true, resourceStatus, (*Handler).status},
		{http.MethodGet, "/health", AccessNone, true, resourceHealth, (*Handler).health},
	}
}

// routeKey finds a route.
type routeKey struct {
	resource resource
	method   string
}
