package httpapi

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/core/wire"
)

// vary names the headers that choose a representation, for caches;
// varyByCredentials is the same where not everybody may read: a cache must not
// answer one who was not asked for credentials, or has others, from its copy.
const (
	vary              = "Accept, Accept-Encoding, X-Eureka-Accept"
	varyByCredentials = vary + ", Authorization"
)

// applications answers GET /apps.
func (h *Handler) applications(w http.ResponseWriter, r *http.Request, _ target) error {
	return h.list(w, r, func(v *view.View, e wire.Encoding) (*view.Body, error) {
		if others := h.regions(r, v); len(others) > 0 {
			return v.AllWith(others, e), nil
		}
		return v.All(e), nil
	})
}

// application answers GET /apps/{app}.
func (h *Handler) application(w http.ResponseWriter, r *http.Request, t target) error {
	return h.list(w, r, func(v *view.View, e wire.Encoding) (*view.Body, error) {
		body, ok := v.Application(t.app, e)
		if !ok {
			return nil, eureka.ErrNotFound
		}
		return body, nil
	})
}

// vip answers GET /vips/{vip}; an unknown one is an empty list.
func (h *Handler) vip(w http.ResponseWriter, r *http.Request, t target) error {
	return h.list(w, r, func(v *view.View, e wire.Encoding) (*view.Body, error) {
		return v.VIP(t.name, e), nil
	})
}

// secureVIP answers GET /svips/{svip}.
func (h *Handler) secureVIP(w http.ResponseWriter, r *http.Request, t target) error {
	return h.list(w, r, func(v *view.View, e wire.Encoding) (*view.Body, error) {
		return v.SecureVIP(t.name, e), nil
	})
}

// delta answers GET /apps/delta.
func (h *Handler) delta(w http.ResponseWriter, r *http.Request, _ target) error {
	if h.cfg.Cache == nil {
		return eureka.ErrNotFound
	}
	view, err := h.cfg.Cache.DeltaView(r.Context())
	if err != nil {
		return err
	}
	if others := h.regions(r, view); len(others) > 0 {
		return h.writeBody(w, r, view, view.DeltaWith(others, encoding(r)))
	}
	return h.writeBody(w, r, view, view.Delta(encoding(r)))
}

// list answers with a body of the current view.
func (h *Handler) list(w http.ResponseWriter, r *http.Request, body func(*view.View, wire.Encoding) (*view.Body, error)) error {
	if h.cfg.Cache == nil {
		return eureka.ErrNotFound
	}
	view, err := h.cfg.Cache.View(r.Context())
	if err != nil {
		return err
	}
	b, err := body(view, encoding(r))
	if err != nil {
		return err
	}
	return h.writeBody(w, r, view, b)
}

// writeBody answers with a body of a view, or 304.
func (h *Handler) writeBody(w http.ResponseWriter, r *http.Request, v *view.View, b *view.Body) error {
	release, err := b.Acquire(r.Context())
	if err != nil {
		return err
	}
	defer release()
	header := w.Header()
	h.describe(header, v)
	zipped := acceptsGzip(r)
	etag := b.ETag(zipped)
	header.Set("ETag", etag)
	if etagMatches(r, etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if zipped {
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Type", encoding(r).Format.ContentType())
	if to, ok := w.(BodyWriter); ok {
		to.WriteBody(b, zipped)
		return nil
	}
	data := b.Bytes(zipped)
	header.Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method != http.MethodHead {
		w.Write(data) // a client that is gone needs no answer
	}
	return nil
}

// BodyWriter is what an [http.ResponseWriter] may be that has a use for the body
// of a list itself: what it made of the same one before serves again, and it
// can tell a body that is too large from one that it has to make. The
// response's headers are set when it is called.
type BodyWriter interface {
	// WriteBody answers as Write does with b.Bytes(gzip), also to HEAD.
	WriteBody(b *view.Body, gzip bool)
}

// describe sets the headers that say how old a view is, how long it lasts and
// who may keep it.
func (h *Handler) describe(header http.Header, v *view.View) {
	now := h.cfg.Now()
	header.Set("Vary", h.vary)
	header.Set("Cache-Control", h.cacheControl(v, now))
	if v.Stale() {
		header.Set("Registry-Age", seconds(v.Age(now)))
	}
}

// cacheControl returns for how long an answer of a view may be kept, in whole seconds and rounded up. Rounded down, a cache
// would come back for the same view a moment before its end, and in the last
// second keep nothing at all (TestEdge).
func (h *Handler) cacheControl(v *view.View, now time.Time) string {
	left := int64(math.Ceil(v.Keep(now).Seconds()))
	switch age := strconv.FormatInt(left, 10); {
	case (left <= 0 || v.Stale()) && h.cfg.SharedCaching:
		return "public, no-cache"
	case left <= 0 || v.Stale():
		return "private, no-cache"
	case h.cfg.SharedCaching:
		return "public, max-age=" + age + ", s-maxage=" + age
	default:
		return "private, max-age=" + age
	}
}

// seconds returns whole seconds, never more than d holds.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(math.Floor(d.Seconds())), 10)
}

// instance answers GET /apps/{app}/{id} from the table itself.
func (h *Handler) instance(w http.ResponseWriter, r *http.Request, t target) error {
	info, err := h.cfg.Registry.Instance(r.Context(), t.key())
	if err != nil {
		return err
	}
	return h.writeInstance(w, r, http.StatusOK, info)
}

// instanceByID answers GET /instances/{id}: the view knows the application,
// the table has the instance. A new instance is there with the next turn.
func (h *Handler) instanceByID(w http.ResponseWriter, r *http.Request, t target) error {
	if h.cfg.Cache == nil {
		return eureka.ErrNotFound
	}
	view, err := h.cfg.Cache.View(r.Context())
	if err != nil {
		return err
	}
	key, ok := view.Find(t.name)
	if !ok {
		return eureka.ErrNotFound
	}
	info, err := h.cfg.Registry.Instance(r.Context(), key)
	if err != nil {
		return err
	}
	return h.writeInstance(w, r, http.StatusOK, info)
}

// writeInstance answers with one instance. Single instances have no compact
// form, as on the stock server.
func (h *Handler) writeInstance(w http.ResponseWriter, r *http.Request, status int, info *eureka.InstanceInfo) error {
	format := encoding(r).Format
	body := wire.Encoding{Format: format}.AppendInstanceDocument(nil, info)
	writeWhole(w, r, status, format.ContentType(), body)
	return nil
}

// writeWhole answers with a body that is of this moment alone: no cache keeps
// it. HEAD gets all but the body.
func writeWhole(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body) // a client that is gone needs no answer
	}
}
