package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/wire"
)

// Longest names that the lease table takes as keys, in bytes of UTF-8.
const (
	maxAppBytes = 2048
	maxIDBytes  = 1024
)

// classMarker is not metadata but Java's mark of a map's class; a registration
// does not take it either.
const classMarker = "@class"

// register answers POST /apps/{app}: exactly 204, which clients demand. It
// names a type though there is no body: the recording asks for it where the
// stock server refuses unknown members with a document (TestReplay).
func (h *Handler) register(w http.ResponseWriter, r *http.Request, t target) error {
	format, err := bodyFormat(r)
	if err != nil {
		return err
	}
	body, done, err := h.bodies.read(r, bodyWeight)
	if err != nil {
		return err
	}
	defer done()
	body, err = wire.ToUTF8(r.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	info, err := wire.DecodeRegistration(format, body, h.cfg.Limits)
	if err != nil {
		return err
	}
	// Not merely the same but for case: some letters are equal without having
	// the same capital, and the path's name is the one that was admitted
	// (TestAnotherApplicationInTheBody).
	if info.Key().App != t.app {
		return eureka.Invalidf("app", "the path says %s, the body says %s", t.app, info.App)
	}
	if err := checkKey(info.Key()); err != nil {
		return err
	}
	if err := h.admitVIPs(r, info); err != nil {
		return err
	}
	if err := h.cfg.Registry.Register(r.Context(), info); err != nil {
		return err
	}
	h.audit(r, actionRegister, info.Key(), "status", info.Status)
	w.Header().Set("Content-Type", wire.JSON.ContentType())
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// renew answers PUT /apps/{app}/{id}. The status parameter changes nothing, as
// on the stock server (TestH5). Neither answer has a body.
func (h *Handler) renew(w http.ResponseWriter, r *http.Request, t target) error {
	dirty, err := dirtyParameter(r.URL.Query())
	if err != nil {
		return err
	}
	if !replicated(r) {
		if err := h.cfg.Registry.Renew(r.Context(), t.key(), dirty); err != nil {
			return err
		}
		w.WriteHeader(http.StatusOK)
		return nil
	}
	newer, err := h.cfg.Registry.RenewReplicated(r.Context(), t.key(), dirty)
	if err != nil {
		return err
	}
	if newer == nil {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	return h.writeInstance(w, r, http.StatusConflict, newer)
}

// cancel answers DELETE /apps/{app}/{id}.
func (h *Handler) cancel(w http.ResponseWriter, r *http.Request, t target) error {
	if err := h.cfg.Registry.Cancel(r.Context(), t.key()); err != nil {
		return err
	}
	h.audit(r, actionCancel, t.key())
	w.WriteHeader(http.StatusOK)
	return nil
}

// setStatus answers PUT /apps/{app}/{id}/status?value=.
func (h *Handler) setStatus(w http.ResponseWriter, r *http.Request, t target) error {
	query := r.URL.Query()
	status, err := statusParameter(query)
	if err != nil {
		return err
	}
	if status == "" {
		return eureka.Invalidf("value", "missing; name a status")
	}
	dirty, err := dirtyParameter(query)
	if err != nil {
		return err
	}
	if err := h.cfg.Registry.SetStatus(r.Context(), t.key(), status, dirty); err != nil {
		return err
	}
	h.audit(r, actionSetStatus, t.key(), "status", status)
	w.WriteHeader(http.StatusOK)
	return nil
}

// removeOverride answers DELETE /apps/{app}/{id}/status?value=; without a
// value the status is UNKNOWN afterwards.
func (h *Handler) removeOverride(w http.ResponseWriter, r *http.Request, t target) error {
	query := r.URL.Query()
	status, err := statusParameter(query)
	if err != nil {
		return err
	}
	if status == "" {
		status = eureka.Unknown
	}
	dirty, err := dirtyParameter(query)
	if err != nil {
		return err
	}
	if err := h.cfg.Registry.RemoveOverride(r.Context(), t.key(), status, dirty); err != nil {
		return err
	}
	h.audit(r, actionRemoveOverride, t.key(), "status", status)
	w.WriteHeader(http.StatusOK)
	return nil
}

// addMetadata answers PUT /apps/{app}/{id}/metadata?key=value; of several
// values of a key the first counts.
func (h *Handler) addMetadata(w http.ResponseWriter, r *http.Request, t target) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return eureka.Invalidf("metadata", "query not decodable")
	}
	entries := make(map[string]string, len(query))
	for key, values := range query {
		if !utf8.ValidString(key) || !utf8.ValidString(values[0]) {
			return eureka.Invalidf("metadata."+strings.ToValidUTF8(key, "\uFFFD"), "must be UTF-8")
		}
		entries[key] = values[0]
	}
	delete(entries, classMarker)
	if err := h.cfg.Registry.AddMetadata(r.Context(), t.key(), entries); err != nil {
		return err
	}
	h.audit(r, actionAddMetadata, t.key())
	w.WriteHeader(http.StatusOK)
	return nil
}

// replicate answers POST /peerreplication/batch with a result for each item.
func (h *Handler) replicate(w http.ResponseWriter, r *http.Request, _ target) error {
	if format, err := bodyFormat(r); err != nil || format != wire.JSON {
		return errMediaType
	}
	body, done, err := h.bodies.read(r, batchWeight)
	if err != nil {
		return err
	}
	defer done()
	body, err = wire.ToUTF8(r.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	items, err := wire.DecodeReplication(body, h.cfg.Limits)
	if err != nil {
		return err
	}
	results := h.replicateItems(r, items)
	w.Header().Set("Content-Type", wire.JSON.ContentType())
	w.Write(wire.AppendReplicationResults(nil, results)) // a peer that is gone asks again
	return nil
}

// replicateItems does the items that could be read; the others are refused one
// by one, the rest of the batch stands.
func (h *Handler) replicateItems(r *http.Request, items []wire.ReplicationItem) []wire.ReplicationResult {
	results := make([]wire.ReplicationResult, len(items))
	var batch []registry.Replicated
	var indexes []int
	for i, item := range items {
		if err := checkItem(item); err != nil {
			results[i] = replicationResult(registry.Outcome{Err: err})
			continue
		}
		indexes = append(indexes, i)
		batch = append(batch, registry.Replicated{
			Key: eureka.NewKey(item.App, item.ID), Action: item.Action,
			Status: item.Status, Dirty: item.LastDirty, Instance: item.Instance,
		})
	}
	for n, outcome := range h.cfg.Registry.Replicate(r.Context(), batch) {
		results[indexes[n]] = replicationResult(outcome)
		h.auditReplicated(r, batch[n], outcome)
	}
	return results
}

// checkItem refuses an item that could not be read, or whose instance is
// another than it names.
func checkItem(item wire.ReplicationItem) error {
	if item.Err != nil || item.Instance == nil {
		return item.Err
	}
	if key := item.Instance.Key(); key != eureka.NewKey(item.App, item.ID) {
		return eureka.Invalidf("instanceInfo", "is %s, the item names %s/%s", key, item.App, item.ID)
	}
	return checkKey(item.Instance.Key())
}

// replicationResult gives an outcome its status: 200 for every success, also
// of a registration, as the stock server does inside a batch.
func replicationResult(o registry.Outcome) wire.ReplicationResult {
	switch {
	case o.Err != nil:
		status, _ := statusOf(o.Err)
		return wire.ReplicationResult{StatusCode: status}
	case o.Newer != nil:
		return wire.ReplicationResult{StatusCode: http.StatusConflict, Instance: o.Newer}
	}
	return wire.ReplicationResult{StatusCode: http.StatusOK}
}

// checkKey refuses names that the table cannot hold, and those that no path
// leads to behind a gateway that decodes it: such an instance could register,
// but never renew (TestNamesThatNoPathLeadsTo).
func checkKey(key eureka.Key) error {
	if strings.Contains(key.App, "/") {
		return eureka.Invalidf("app", "must not hold a slash")
	}
	for _, end := range []string{"/", "/status", "/metadata"} {
		if strings.HasSuffix(key.ID, end) {
			return eureka.Invalidf("instanceId", "must not end in %s", end)
		}
	}
	if strings.HasPrefix(key.ID, "/") {
		return eureka.Invalidf("instanceId", "must not begin with a slash")
	}
	if cutSession(key.ID) != key.ID {
		return eureka.Invalidf("instanceId", "must not end in %s", sessionParameter)
	}
	if len(key.App) > maxAppBytes {
		return eureka.TooLargef("app", "more than %d bytes", maxAppBytes)
	}
	if len(key.ID) > maxIDBytes {
		return eureka.TooLargef("instanceId", "more than %d bytes", maxIDBytes)
	}
	return nil
}

// statusParameter returns the parameter "value", or "" when it is not given.
func statusParameter(query url.Values) (eureka.Status, error) {
	text := query.Get("value")
	if text == "" {
		return "", nil
	}
	status, ok := eureka.ParseStatus(text)
	if !ok {
		return "", eureka.Invalidf("value", "%q is no status", text)
	}
	return status, nil
}

// dirtyParameter returns the parameter lastDirtyTimestamp, in epoch
// milliseconds on the wire; the zero time when it is not given.
func dirtyParameter(query url.Values) (time.Time, error) {
	text := query.Get("lastDirtyTimestamp")
	if text == "" {
		return time.Time{}, nil
	}
	millis, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, eureka.Invalidf("lastDirtyTimestamp", "%q is no number of milliseconds", text)
	}
	if millis <= 0 {
		return time.Time{}, nil
	}
	return time.UnixMilli(millis), nil
}
