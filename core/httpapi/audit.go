package httpapi

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// Actions that the audit lines name.
const (
	actionRegister       = "register"
	actionCancel         = "cancel"
	actionSetStatus      = "set status"
	actionRemoveOverride = "remove override"
	actionAddMetadata    = "add metadata"
)

// AuditMessage is the message of each line of the log that says who changed
// what. Heartbeats have none.
const AuditMessage = "audit"

// replicatedActions are the actions of a peer's items; heartbeats are none.
var replicatedActions = map[string]string{
	registry.ActionRegister:             actionRegister,
	registry.ActionCancel:               actionCancel,
	registry.ActionStatusUpdate:         actionSetStatus,
	registry.ActionDeleteStatusOverride: actionRemoveOverride,
}

// audit logs a change that was made: what, of which instance, by whom, from
// where. Passwords and metadata are not in it, and characters that could
// deceive a terminal or a reader of the log are escaped (TestAudit).
func (h *Handler) audit(r *http.Request, action string, key eureka.Key, more ...any) {
	args := []any{
		"action", action, "app", visible(key.App), "instance", visible(key.ID),
		"user", visible(h.user(r)), "source", visible(sourceAddress(r)), "client", visible(r.Header.Get("DiscoveryIdentity-Name")),
		"replicated", replicated(r),
	}
	h.cfg.Logger.InfoContext(r.Context(), AuditMessage, append(args, more...)...)
}

// auditReplicated logs a change that a peer passed on.
func (h *Handler) auditReplicated(r *http.Request, op registry.Replicated, o registry.Outcome) {
	action, changes := replicatedActions[op.Action]
	if !changes || o.Err != nil {
		return
	}
	status := op.Status
	if op.Instance != nil {
		status = op.Instance.Status
	}
	h.audit(r, action, op.Key, "status", status)
}

// user returns the name that the gate checked; none where nobody is asked.
func (h *Handler) user(r *http.Request) string {
	if h.cfg.Gate == nil {
		return ""
	}
	name, _, _ := r.BasicAuth()
	return name
}

// sourceAddress returns where a request came from: the peer's address, or what
// the gateway says that it was.
func sourceAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// maxAudited is how many bytes of a name an audit line holds.
const maxAudited = 1024

// visible returns a name as a line may hold it: cut, and with everything
// escaped that is not to be seen, control characters and those that turn the
// direction of writing among it.
func visible(name string) string {
	cut := strings.ToValidUTF8(name[:min(len(name), maxAudited)], "\ufffd")
	hidden := func(c rune) bool { return !unicode.IsPrint(c) }
	if !strings.ContainsFunc(cut, hidden) {
		return cut
	}
	quoted := strconv.Quote(cut)
	return quoted[1 : len(quoted)-1]
}
