// Package httpapi is the registry's HTTP surface: Eureka's REST API as a
// net/http handler, the same behind API Gateway and on a laptop. Paths, status
// codes, formats and headers are decided here; bodies are core/wire's and
// core/view's.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/regions"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/core/wire"
)

// DefaultMaxBody is the largest request body, in bytes.
const DefaultMaxBody = 1 << 20

// Publications are what the eviction published, for the pages.
type Publications interface {
	Statistics(ctx context.Context) (delta.Statistics, error)
	Recent(ctx context.Context) (delta.Recent, error)
}

// Config is what a [Handler] works with. A function that only writes needs no
// Cache, Publications and Pages; their routes answer 404 then.
type Config struct {
	// Registry serves changes and reads of one instance; required.
	Registry *registry.Registry
	// Cache serves reads of lists.
	Cache *view.Cache
	// Regions are other regions, added to lists that ask for them; nil: none.
	Regions *regions.Set
	// Publications serve /status and /lastn.
	Publications Publications
	// Pages render the dashboard, which shows what the Cache holds; nil: there
	// is none, and /status and /lastn are for programs alone.
	Pages Pages
	// Limits are those of the decoders.
	Limits wire.Limits
	// MaxBody is the largest request body in bytes, before and after
	// decompression; default [DefaultMaxBody].
	MaxBody int64
	// BodyMemory is how many bytes of bodies are worked on at once; further
	// requests wait. Default [DefaultBodyMemory].
	BodyMemory int64
	// Gate asks for credentials and decides who may do what; nil: everybody
	// may do everything.
	Gate Gate
	// Limiter is asked after the gate, whether it is too often; nil: never.
	Limiter Gate
	// SharedCaching says that lists may be kept by caches which serve several
	// clients. Where credentials are asked for, the caches' key must hold
	// Authorization, as the answers' Vary says.
	SharedCaching bool
	// Region and Environment are shown on the status page.
	Region      string
	Environment string
	// Now is the servers' clock; default time.Now.
	Now func() time.Time
	// Logger gets what failed; default slog.Default().
	Logger *slog.Logger
}

// Handler serves the API. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	started time.Time
	routes  map[routeKey]Route
	methods map[resource]string
	origins *http.CrossOriginProtection
	// vary is that of lists.
	vary   string
	bodies *bodies
	// looks are what health found.
	looks *sparing[[]string]
}

// New returns a handler for cfg.
func New(cfg Config) *Handler {
	if cfg.MaxBody == 0 {
		cfg.MaxBody = DefaultMaxBody
	}
	if cfg.BodyMemory == 0 {
		cfg.BodyMemory = DefaultBodyMemory
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Publications != nil {
		cfg.Publications = newSparingPublications(cfg.Publications, cfg.Now)
	}
	h := &Handler{
		cfg: cfg, started: cfg.Now(), looks: newSparing[[]string](cfg.Now), bodies: newBodies(cfg.MaxBody, cfg.BodyMemory),
		routes: map[routeKey]Route{}, methods: map[resource]string{},
		origins: http.NewCrossOriginProtection(), vary: vary,
	}
	if cfg.Gate != nil {
		h.vary = varyByCredentials
	}
	for _, r := range Routes() {
		h.add(r, r.Method)
		if r.Method == http.MethodGet {
			h.add(r, http.MethodHead)
		}
	}
	return h
}

func (h *Handler) add(r Route, method string) {
	h.routes[routeKey{r.resource, method}] = r
	if allowed := h.methods[r.resource]; allowed != "" {
		method = allowed + ", " + method
	}
	h.methods[r.resource] = method
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		restrainBrowsers(w.Header())
	}
	t, err := h.serve(w, r)
	if err != nil {
		h.writeError(w, r, t, err)
	}
}

// serve answers a request that goes well. Whoever may not read does not learn
// what there is not, either.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) (target, error) {
	t, wrongPath := parsePath(r.URL)
	route, found := h.routes[routeKey{t.resource, r.Method}]
	if wrongPath != nil || !found {
		route = Route{Access: access.LevelRead}
	}
	if err := h.admit(r, route.Access, t.app); err != nil {
		return t, err
	}
	if wrongPath != nil {
		return t, wrongPath
	}
	if !found {
		h.writeNoRoute(w, r.Method, t)
		return t, nil
	}
	return t, route.serve(h, w, r, t)
}

// writeNoRoute answers OPTIONS, and a path or method that is not there.
func (h *Handler) writeNoRoute(w http.ResponseWriter, method string, t target) {
	allowed := h.methods[t.resource]
	if allowed == "" {
		writeMessage(w, http.StatusNotFound, "no such path")
		return
	}
	if method == http.MethodOptions {
		w.Header().Set("Allow", allowed+", "+http.MethodOptions)
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Allow", allowed)
	writeMessage(w, http.StatusMethodNotAllowed, "this path takes "+allowed)
}
