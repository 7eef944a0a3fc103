package httpapi

import (
	"net/http"

	"github.com/eurekaless/registry/core/access"
)

// Route is one row of the API: a method and a path below a prefix.
type Route struct {
	Method string
	// Pattern is the path with {app}, {id}, {vip} and {svip} for names.
	Pattern string
	Access  access.Level
	// Page says that the route answers at the root too.
	Page bool

	resource resource
	serve    func(*Handler, http.ResponseWriter, *http.Request, target) error
}

// Routes returns the whole API. GET routes answer HEAD too, and every path
// answers OPTIONS.
func Routes() []Route {
	return []Route{
		{http.MethodPost, "/apps/{app}", access.LevelRegister, false, resourceApplication, (*Handler).register},
		{http.MethodPut, "/apps/{app}/{id}", access.LevelRegister, false, resourceInstance, (*Handler).renew},
		{http.MethodDelete, "/apps/{app}/{id}", access.LevelRegister, false, resourceInstance, (*Handler).cancel},
		{http.MethodPut, "/apps/{app}/{id}/status", access.LevelRegister, false, resourceInstanceStatus, (*Handler).setStatus},
		{http.MethodDelete, "/apps/{app}/{id}/status", access.LevelRegister, false, resourceInstanceStatus, (*Handler).removeOverride},
		{http.MethodPut, "/apps/{app}/{id}/metadata", access.LevelRegister, false, resourceInstanceMetadata, (*Handler).addMetadata},
		{http.MethodPost, "/peerreplication/batch", access.LevelAdmin, false, resourceReplication, (*Handler).replicate},
		{http.MethodGet, "/apps", access.LevelRead, false, resourceApplications, (*Handler).applications},
		{http.MethodGet, "/apps/delta", access.LevelRead, false, resourceDelta, (*Handler).delta},
		{http.MethodGet, "/apps/{app}", access.LevelRead, false, resourceApplication, (*Handler).application},
		{http.MethodGet, "/apps/{app}/{id}", access.LevelRead, false, resourceInstance, (*Handler).instance},
		{http.MethodGet, "/instances/{id}", access.LevelRead, false, resourceInstanceByID, (*Handler).instanceByID},
		{http.MethodGet, "/vips/{vip}", access.LevelRead, false, resourceVIP, (*Handler).vip},
		{http.MethodGet, "/svips/{svip}", access.LevelRead, false, resourceSecureVIP, (*Handler).secureVIP},
		{http.MethodGet, "/", access.LevelRead, true, resourceDashboard, (*Handler).dashboard},
		{http.MethodPost, "/action", access.LevelAdmin, true, resourceAction, (*Handler).act},
		{http.MethodGet, "/lastn", access.LevelRead, true, resourceLastN, (*Handler).lastN},
		{http.MethodGet, "/status", access.LevelRead, true, resourceStatus, (*Handler).status},
		{http.MethodGet, "/health", access.LevelNone, true, resourceHealth, (*Handler).health},
	}
}

// routeKey finds a route.
type routeKey struct {
	resource resource
	method   string
}
