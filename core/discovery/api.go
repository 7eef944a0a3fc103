package discovery

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// userAgent names this client to servers.
const userAgent = "eurekaless-discovery"

// API is the operations of Eureka's REST API, one method each, as the Java
// EurekaHttpClient has them. An operation is tried on up to three servers:
// next after a server that cannot be reached, does not answer in time, answers
// 429 or 5xx, or with what is no answer.
//
// Errors name the operation and hold no credentials. An answer of another
// status than the protocol's is a [StatusError].
//
// It is safe for concurrent use and starts nothing of its own, but the
// transport keeps connections for some time; see [API.CloseIdleConnections].
type API struct {
	servers *servers
	client  *http.Client
	name    string
	compact bool
	gzip    bool
	timeout time.Duration
	// maxBytes bounds answers.
	maxBytes int
	now      func() time.Time
	onCall   func(Call)
}

// Call is one request to one server that came to its end.
type Call struct {
	// Operation names the operation and what it was about, such as
	// "renew SHOP/shop-1".
	Operation string
	// Server is the base URL, without credentials.
	Server string
	// Status is the HTTP status; 0 when there was no answer.
	Status int
	// Took is the time until the body was read.
	Took time.Duration
	Err  error
}

// NewAPI returns the operations on the servers of cfg, of which it needs no
// more than what is about servers and requests.
func NewAPI(cfg Config) (*API, error) {
	cfg, list, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	return newAPI(&cfg, list), nil
}

func newAPI(cfg *Config, list []*server) *API {
	return &API{
		servers:  newServers(list, cfg),
		client:   newHTTPClient(cfg.Transport),
		name:     cfg.ClientName,
		compact:  cfg.Compact,
		gzip:     !cfg.DisableGzip,
		timeout:  cfg.RequestTimeout,
		maxBytes: cfg.MaxResponseBytes,
		now:      cfg.Now,
		onCall:   cfg.OnCall,
	}
}

// CloseIdleConnections closes the connections to servers that nobody uses.
func (a *API) CloseIdleConnections() { a.client.CloseIdleConnections() }

// Register registers an instance, or what changed of it. Success is 204 and
// nothing else.
func (a *API) Register(ctx context.Context, i *eureka.InstanceInfo) error {
	return a.do(ctx, &request{
		name:   "register " + i.Key().String(),
		method: http.MethodPost,
		path:   "/apps/" + segment(i.Key().App),
		body:   wire.AppendRegistration(nil, wire.JSON, i),
		want:   http.StatusNoContent,
	}, nil)
}

// Heartbeat renews the lease of an instance, naming its status and the dirty
// timestamp of its registration. It returns eureka.ErrLeaseNotFound when the
// registry does not have that registration: register then.
func (a *API) Heartbeat(ctx context.Context, i *eureka.InstanceInfo) error {
	query := url.Values{}
	query.Set("status", string(i.Status))
	setMillis(query, "lastDirtyTimestamp", i.LastDirty)
	if i.OverriddenStatus != "" && i.OverriddenStatus != eureka.Unknown {
		query.Set("overriddenstatus", string(i.OverriddenStatus))
	}
	return a.do(ctx, &request{
		name:    "renew " + i.Key().String(),
		method:  http.MethodPut,
		path:    instancePath(i.Key()),
		query:   query.Encode(),
		want:    http.StatusOK,
		missing: eureka.ErrLeaseNotFound,
	}, nil)
}

// Cancel ends the lease of an instance. It returns eureka.ErrLeaseNotFound
// when there is none.
func (a *API) Cancel(ctx context.Context, key eureka.Key) error {
	return a.do(ctx, &request{
		name:    "cancel " + key.String(),
		method:  http.MethodDelete,
		path:    instancePath(key),
		want:    http.StatusOK,
		missing: eureka.ErrLeaseNotFound,
	}, nil)
}

// SetStatus overrides the status of an instance, whatever it says itself. A
// zero lastDirty is left out. It returns eureka.ErrLeaseNotFound when there is
// no such lease.
func (a *API) SetStatus(ctx context.Context, key eureka.Key, status eureka.Status, lastDirty time.Time) error {
	return a.status(ctx, "override the status of ", http.MethodPut, key, status, lastDirty)
}

// RemoveOverride ends an override. Status is what the instance has then; with
// an empty one it is UNKNOWN until the instance registers anew. It returns
// eureka.ErrLeaseNotFound when there is no such lease.
func (a *API) RemoveOverride(ctx context.Context, key eureka.Key, status eureka.Status, lastDirty time.Time) error {
	return a.status(ctx, "end the override of ", http.MethodDelete, key, status, lastDirty)
}

func (a *API) status(ctx context.Context, name, method string, key eureka.Key, status eureka.Status, lastDirty time.Time) error {
	query := url.Values{}
	if status != "" {
		query.Set("value", string(status))
	}
	setMillis(query, "lastDirtyTimestamp", lastDirty)
	return a.do(ctx, &request{
		name:    name + key.String(),
		method:  method,
		path:    instancePath(key) + "/status",
		query:   query.Encode(),
		want:    http.StatusOK,
		missing: eureka.ErrLeaseNotFound,
	}, nil)
}

// SetMetadata adds entries to the metadata of an instance, or replaces them.
// It returns eureka.ErrLeaseNotFound when there is no such lease.
func (a *API) SetMetadata(ctx context.Context, key eureka.Key, metadata map[string]string) error {
	query := url.Values{}
	for name, value := range metadata {
		query.Set(name, value)
	}
	return a.do(ctx, &request{
		name:    "set metadata of " + key.String(),
		method:  http.MethodPut,
		path:    instancePath(key) + "/metadata",
		query:   query.Encode(),
		want:    http.StatusOK,
		missing: eureka.ErrLeaseNotFound,
	}, nil)
}

// Applications returns the whole registry, with that of the regions named.
func (a *API) Applications(ctx context.Context, regions ...string) (*eureka.Applications, error) {
	apps, _, err := a.list(ctx, &request{name: "fetch applications", path: pathAll, query: regionsQuery(regions)})
	return apps, err
}

// Delta returns the recent changes: each instance with its last state and what
// happened to it, and the hash code of the whole registry.
func (a *API) Delta(ctx context.Context, regions ...string) (*eureka.Applications, error) {
	apps, _, err := a.list(ctx, &request{name: "fetch delta", path: pathDelta, query: regionsQuery(regions)})
	return apps, err
}

// VIP returns the instances behind a VIP address; none is no error.
func (a *API) VIP(ctx context.Context, address string, regions ...string) (*eureka.Applications, error) {
	apps, _, err := a.list(ctx, &request{name: "fetch VIP " + address, path: vipPath(address), query: regionsQuery(regions)})
	return apps, err
}

// SecureVIP is as [API.VIP], of a secure VIP address.
func (a *API) SecureVIP(ctx context.Context, address string, regions ...string) (*eureka.Applications, error) {
	apps, _, err := a.list(ctx, &request{name: "fetch secure VIP " + address, path: "/svips/" + segment(address), query: regionsQuery(regions)})
	return apps, err
}

// Application returns one application, or eureka.ErrNotFound.
func (a *API) Application(ctx context.Context, app string) (*eureka.Application, error) {
	return get(ctx, a, "fetch application "+app, "/apps/"+segment(strings.ToUpper(app)), a.decoder().Application)
}

// Instance returns one instance of an application, or eureka.ErrNotFound.
func (a *API) Instance(ctx context.Context, key eureka.Key) (*eureka.InstanceInfo, error) {
	return get(ctx, a, "fetch instance "+key.String(), instancePath(key), a.decoder().Instance)
}

// InstanceByID returns an instance of any application, or eureka.ErrNotFound.
func (a *API) InstanceByID(ctx context.Context, id string) (*eureka.InstanceInfo, error) {
	return get(ctx, a, "fetch instance "+id, "/instances/"+segment(id), a.decoder().Instance)
}

// decoder reads lists within the bounds of answers.
func (a *API) decoder() wire.ListDecoder {
	return wire.ListDecoder{MaxBytes: decodedShare * a.maxBytes}
}

// decodedShare is how much memory may be made of an answer, as a multiple of
// the largest answer.
const decodedShare = 2

// get reads one document.
func get[T any](ctx context.Context, a *API, name, path string, decode func(context.Context, []byte) (*T, error)) (*T, error) {
	var out *T
	err := a.do(ctx, &request{
		name:    name,
		method:  http.MethodGet,
		path:    path,
		want:    http.StatusOK,
		missing: eureka.ErrNotFound,
	}, func(ctx context.Context, got *answer) (err error) {
		out, err = decode(ctx, got.body)
		return sized(err)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Paths of the lists.
const (
	pathAll   = "/apps"
	pathDelta = "/apps/delta"
)

func vipPath(address string) string { return "/vips/" + segment(address) }

func instancePath(key eureka.Key) string {
	return "/apps/" + segment(strings.ToUpper(key.App)) + "/" + segment(key.ID)
}

func regionsQuery(regions []string) string {
	if len(regions) == 0 {
		return ""
	}
	return url.Values{"regions": {strings.Join(regions, ",")}}.Encode()
}

// setMillis sets a time as the wire has it, unless it is zero.
func setMillis(query url.Values, name string, t time.Time) {
	if !t.IsZero() {
		query.Set(name, strconv.FormatInt(t.UnixMilli(), 10))
	}
}
