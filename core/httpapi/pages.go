package httpapi

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/core/wire"
)

// statusDocument is the answer of /status: Netflix's status page as far as a
// registry without servers has such things. Times are RFC 3339 in UTC.
type statusDocument struct {
	XMLName          xml.Name         `json:"-" xml:"statusInfo"`
	GeneralStats     generalStats     `json:"generalStats" xml:"generalStats"`
	ApplicationStats applicationStats `json:"applicationStats" xml:"applicationStats"`
	IsHealthy        bool             `json:"isHealthy" xml:"isHealthy"`
}

type generalStats struct {
	Environment string `json:"environment" xml:"environment"`
	Region      string `json:"region" xml:"region"`
	CurrentTime string `json:"current-time" xml:"current-time"`
	// Uptime is that of this process or container, in seconds.
	Uptime int64 `json:"server-uptime-seconds" xml:"server-uptime-seconds"`
}

type applicationStats struct {
	Leases    int `json:"leases" xml:"leases"`
	Expected  int `json:"expected-renewals" xml:"expected-renewals"`
	Seen      int `json:"seen-renewals" xml:"seen-renewals"`
	Threshold int `json:"renewal-threshold" xml:"renewal-threshold"`
	// SelfPreservation says that evictions are held back now;
	// SelfPreservationEnabled, that they may be. Before the first pass neither
	// is known.
	SelfPreservation        *bool  `json:"self-preservation,omitempty" xml:"self-preservation,omitempty"`
	SelfPreservationEnabled *bool  `json:"self-preservation-enabled,omitempty" xml:"self-preservation-enabled,omitempty"`
	Evicted                 int    `json:"evicted-last-pass" xml:"evicted-last-pass"`
	HeldBack                int    `json:"held-back" xml:"held-back"`
	LastPass                string `json:"last-eviction-pass,omitempty" xml:"last-eviction-pass,omitempty"`
	HashCode                string `json:"apps__hashcode" xml:"apps__hashcode"`
}

// status answers GET /status with what the last eviction pass found.
func (h *Handler) status(w http.ResponseWriter, r *http.Request, _ target) error {
	if h.cfg.Publications == nil {
		return eureka.ErrNotFound
	}
	stats, err := h.cfg.Publications.Statistics(r.Context())
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if h.wantsPage(r) {
		return h.statusPage(w, r, stats)
	}
	return writeDocument(w, r, http.StatusOK, h.statusDocument(r.Context(), stats))
}

func (h *Handler) statusDocument(ctx context.Context, s delta.Statistics) statusDocument {
	now := h.cfg.Now()
	d := statusDocument{
		GeneralStats: generalStats{
			Environment: h.cfg.Environment, Region: h.cfg.Region,
			CurrentTime: formatTime(now), Uptime: int64(now.Sub(h.started).Seconds()),
		},
		ApplicationStats: applicationStats{
			Leases: s.Leases, Expected: s.Expected, Seen: s.Seen, Threshold: s.Threshold,
			Evicted: s.Evicted, HeldBack: s.HeldBack, HashCode: s.HashCode,
		},
		IsHealthy: len(h.faults(ctx)) == 0,
	}
	if !s.Pass.IsZero() {
		d.ApplicationStats.LastPass = formatTime(s.Pass)
		d.ApplicationStats.SelfPreservation, d.ApplicationStats.SelfPreservationEnabled = &s.SelfPreservation, &s.Enabled
	}
	return d
}

// recentDocument is the answer of /lastn, newest first.
type recentDocument struct {
	XMLName    xml.Name      `json:"-" xml:"lastN"`
	Registered []recentEvent `json:"registered" xml:"registered>lease"`
	Cancelled  []recentEvent `json:"cancelled" xml:"cancelled>lease"`
	Changed    []recentEvent `json:"changed" xml:"changed>lease"`
}

type recentEvent struct {
	Time string `json:"time" xml:"time"`
	App  string `json:"app" xml:"app"`
	ID   string `json:"instanceId" xml:"instanceId"`
	What string `json:"what,omitempty" xml:"what,omitempty"`
}

// lastN answers GET /lastn: the last registrations and cancellations.
func (h *Handler) lastN(w http.ResponseWriter, r *http.Request, _ target) error {
	if h.cfg.Publications == nil {
		return eureka.ErrNotFound
	}
	recent, err := h.cfg.Publications.Recent(r.Context())
	if err != nil {
		return fmt.Errorf("last leases: %w", err)
	}
	if h.wantsPage(r) {
		return h.recentPage(w, r, recent)
	}
	return writeDocument(w, r, http.StatusOK, recentDocument{
		Registered: recentEvents(recent.Registered), Cancelled: recentEvents(recent.Cancelled), Changed: recentEvents(recent.Changed),
	})
}

func recentEvents(events []delta.Event) []recentEvent {
	out := make([]recentEvent, len(events))
	for i, e := range events {
		out[i] = recentEvent{Time: formatTime(e.Time), App: e.Key.App, ID: e.Key.ID, What: e.What}
	}
	return out
}

// healthDocument is the answer of /health.
type healthDocument struct {
	XMLName xml.Name `json:"-" xml:"health"`
	Status  string   `json:"status" xml:"status"`
	Reasons []string `json:"reasons,omitempty" xml:"reasons>reason,omitempty"`
}

// health answers GET /health for load balancers: 200 only when reads are fresh
// and the table answers. Load balancers have no credentials, so it is open to
// everybody; where there is a gate it says no more than up or down, and however
// often it is asked, it reads the table once a second (TestHealthReadsLittle).
func (h *Handler) health(w http.ResponseWriter, r *http.Request, _ target) error {
	faults, _ := h.looks.get(r.Context(), func(ctx context.Context) ([]string, error) { return h.faults(ctx), nil })
	if len(faults) == 0 {
		return writeDocument(w, r, http.StatusOK, healthDocument{Status: string(eureka.Up)})
	}
	if h.cfg.Gate != nil {
		faults = nil
	}
	w.Header().Set("Retry-After", retryAfterSeconds)
	return writeDocument(w, r, http.StatusServiceUnavailable, healthDocument{Status: string(eureka.Down), Reasons: faults})
}

// faults says what is wrong with reading, in words that show no inside. Where
// each view is a scan of the table there is none to be stale, and the statistics
// tell whether the table answers.
func (h *Handler) faults(ctx context.Context) []string {
	var faults []string
	if h.cfg.Cache != nil && !h.cfg.Cache.Scans() {
		view, err := h.cfg.Cache.View(ctx)
		switch {
		case err != nil:
			faults = append(faults, "the registry could not be loaded")
		case view.Stale():
			faults = append(faults, h.staleness(view))
		}
	}
	if h.cfg.Publications != nil {
		if _, err := h.cfg.Publications.Statistics(ctx); err != nil {
			faults = append(faults, tableFault)
		}
	}
	return faults
}

// tableFault says that statistics could not be read.
const tableFault = "the table does not answer"

// staleness says that a view is stale.
func (h *Handler) staleness(v *view.View) string {
	return "the registry's view is " + seconds(v.Age(h.cfg.Now())) + " s old and could not be refreshed"
}

// writeDocument answers with a document of the pages, JSON or XML by the rule
// of the API, but JSON where nothing is asked for: these pages have no clients
// that expect XML.
func writeDocument(w http.ResponseWriter, r *http.Request, status int, document any) error {
	format := wire.JSON
	if accept := r.Header.Get("Accept"); accept != "" && accept != "*/*" {
		format = encoding(r).Format
	}
	body, err := marshal(format, document)
	if err != nil {
		return fmt.Errorf("encode %T: %w", document, err)
	}
	writeWhole(w, r, status, format.ContentType(), body)
	return nil
}

func marshal(format wire.Format, document any) ([]byte, error) {
	if format == wire.XML {
		return xml.MarshalIndent(document, "", "  ")
	}
	return json.MarshalIndent(document, "", "  ")
}

// formatTime returns a time as the pages show it.
func formatTime(t time.Time) string { return eureka.FormatTime(t) }
