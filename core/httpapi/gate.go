package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/eureka"
)

// Gate decides whether a request may go on to its route. It must be safe for
// concurrent use.
type Gate interface {
	// Admit returns nil, or an error that is eureka.ErrUnauthenticated,
	// eureka.ErrForbidden, eureka.ErrRateLimited or eureka.ErrUnavailable.
	// need is what the route demands; app is the application in the path, in
	// upper case, "" where there is none. Routes that demand [access.LevelNone] do
	// not ask. A registration asks once more for each of its VIPs.
	Admit(r *http.Request, need access.Level, app string) error
}

// admit lets a request through or says why not. Browsers send the credentials
// that they remember with whatever a page of somebody else makes them send, so
// a change that comes from another origin is refused, also where no
// credentials are needed: there the network is what lets the browser in.
// Programs send neither Origin nor Sec-Fetch-Site (TestForgedRequests).
func (h *Handler) admit(r *http.Request, need access.Level, app string) error {
	if err := h.origins.Check(r); err != nil {
		return fmt.Errorf("%w: a page of another origin sent this", eureka.ErrForbidden)
	}
	if need == access.LevelNone {
		return nil
	}
	if need == access.LevelRegister && replicated(r) {
		need = access.LevelAdmin
	}
	for _, gate := range []Gate{h.cfg.Gate, h.cfg.Limiter} {
		if gate == nil {
			continue
		}
		if err := gate.Admit(r, need, app); err != nil {
			return err
		}
	}
	return nil
}

// admitVIPs lets a registration through if its sender may register
// applications that are called as its VIPs are: clients look instances up by
// VIP, Spring's among them, where it is the application's name by default, and
// nobody may offer himself as another's service (TestVIPsOfOthers).
func (h *Handler) admitVIPs(r *http.Request, info *eureka.InstanceInfo) error {
	if h.cfg.Gate == nil {
		return nil
	}
	for _, list := range []string{info.VIPAddress, info.SecureVIPAddress} {
		for vip := range strings.SplitSeq(list, ",") {
			if vip == "" {
				continue
			}
			if err := h.cfg.Gate.Admit(r, access.LevelRegister, strings.ToUpper(vip)); err != nil {
				return err
			}
		}
	}
	return nil
}

// replicated reports whether a peer passes on what a client asked of it.
func replicated(r *http.Request) bool {
	return r.Header.Get("X-Netflix-Discovery-Replication") == "true"
}

// restrainBrowsers sets headers that keep a browser from making more of an
// answer than it is: no other type than it says, no scripts, in no frame, no
// address handed on. A page that has scripts or styles of its own says so in a
// Content-Security-Policy of its own.
func restrainBrowsers(header http.Header) {
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}
