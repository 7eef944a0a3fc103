package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/dashboard"
	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/view"
)

// Pages render what the dashboard shows. They must be safe for concurrent use.
type Pages interface {
	// Render writes a page as an HTML document.
	Render(w io.Writer, page dashboard.Page) error
	// Policy is the documents' Content-Security-Policy.
	Policy() string
}

// wantsPage reports whether a browser asks, and there are pages.
func (h *Handler) wantsPage(r *http.Request) bool {
	return h.cfg.Pages != nil && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// dashboard answers GET /: the list of instances, one of them, or the question
// before an action. Which, the query says, so that the pages' relative links
// are right at every prefix.
func (h *Handler) dashboard(w http.ResponseWriter, r *http.Request, _ target) error {
	if h.cfg.Cache == nil || h.cfg.Pages == nil {
		return eureka.ErrNotFound
	}
	query := r.URL.Query()
	if query.Has("id") {
		return h.instancePage(w, r, query)
	}
	return h.overviewPage(w, r, query)
}

func (h *Handler) overviewPage(w http.ResponseWriter, r *http.Request, query url.Values) error {
	view, err := h.cfg.Cache.View(r.Context())
	if err != nil {
		return err
	}
	stats, err := h.statistics(r.Context())
	page := dashboard.Overview{
		Frame:     h.frame(r),
		System:    h.system(r.Context(), view, stats, err),
		Selection: dashboard.Select(view.Applications(), dashboard.ParseQuery(query), dashboard.NewHeld(&stats)),
		Statuses:  dashboard.ListCounts(view.Counts()),
	}
	return h.writePage(w, r, http.StatusOK, &page)
}

// instancePage shows an instance as the table has it, not the view.
func (h *Handler) instancePage(w http.ResponseWriter, r *http.Request, query url.Values) error {
	done, _ := dashboard.FindAction(query.Get("done"))
	lease, err := h.cfg.Registry.Lease(r.Context(), eureka.NewKey(query.Get("app"), query.Get("id")))
	if errors.Is(err, eureka.ErrLeaseNotFound) {
		return h.missingPage(w, r, done)
	}
	if err != nil {
		return err
	}
	frame, info := h.frame(r), lease.Effective()
	if action, ok := dashboard.FindAction(query.Get("do")); ok && frame.Admin {
		page := dashboard.Confirmation{Frame: frame, App: info.App, ID: info.ID(), Status: info.Status, Action: action}
		return h.writePage(w, r, http.StatusOK, &page)
	}
	// Without statistics nothing is known to be held back; the page says the rest.
	stats, _ := h.statistics(r.Context())
	page := dashboard.NewDetails(frame, info, dashboard.NewHeld(&stats))
	page.Done, page.Ends = done.Done, lease.End()
	return h.writePage(w, r, http.StatusOK, page)
}

// missingPage says that there is no such instance, which is as it should be
// after a cancellation.
func (h *Handler) missingPage(w http.ResponseWriter, r *http.Request, done dashboard.Action) error {
	page := dashboard.Message{Frame: h.frame(r), Title: "No such instance",
		Text: "It was cancelled, or evicted, or has not registered yet."}
	if done.Name == dashboard.Cancel {
		page.Title, page.Text = "Cancelled", done.Done
		return h.writePage(w, r, http.StatusOK, &page)
	}
	return h.writePage(w, r, http.StatusNotFound, &page)
}

// act answers POST /action, an administrator's word on an instance, and sends
// the browser back to the instance's page, which says what was done, or that
// there is no such instance: what serves actions may have no pages. Forms of
// other origins are refused before by admit, if the browser says where they are
// from; one that says nothing is refused here, since every browser of today does
// (TestForgedActions).
func (h *Handler) act(w http.ResponseWriter, r *http.Request, _ target) error {
	if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
		return eureka.Invalidf("Origin", "missing; this form is for browsers, which say where it comes from")
	}
	form, err := h.readForm(r)
	if err != nil {
		return err
	}
	action, ok := dashboard.FindAction(form.Get("do"))
	if !ok {
		return eureka.Invalidf("do", "%q is no action", form.Get("do"))
	}
	key := eureka.NewKey(form.Get("app"), form.Get("id"))
	to := url.Values{"app": {key.App}, "id": {key.ID}}
	done, err := h.perform(r.Context(), action.Name, key)
	switch {
	case err == nil:
		to.Set("done", action.Name)
		h.audit(r, done.action, key, "status", done.status)
	case !errors.Is(err, eureka.ErrLeaseNotFound):
		return err
	}
	w.Header().Set("Location", "./?"+to.Encode())
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// readForm reads the fields of a form.
func (h *Handler) readForm(r *http.Request) (url.Values, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return nil, eureka.Invalidf("body", "not a form")
	}
	body, done, err := h.bodies.read(r, bodyWeight)
	if err != nil {
		return nil, err
	}
	defer done()
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, eureka.Invalidf("body", "not a form")
	}
	return form, nil
}

// performed is what an action came to.
type performed struct {
	action string
	status eureka.Status
}

// perform does an action. Bringing back ends the override if there is one;
// otherwise the instance itself said that it is out of service, and only an
// override says otherwise. No dirty timestamp is given: that is the client's own
// clock, and a time of this one's could make its next registration look old.
func (h *Handler) perform(ctx context.Context, name string, key eureka.Key) (performed, error) {
	reg := h.cfg.Registry
	var none time.Time
	switch name {
	case dashboard.TakeOut:
		return performed{actionSetStatus, eureka.OutOfService}, reg.SetStatus(ctx, key, eureka.OutOfService, none)
	case dashboard.RemoveOverride:
		return performed{actionRemoveOverride, eureka.Unknown}, reg.RemoveOverride(ctx, key, eureka.Unknown, none)
	case dashboard.Cancel:
		return performed{action: actionCancel}, reg.Cancel(ctx, key)
	}
	info, err := reg.Instance(ctx, key)
	if err != nil {
		return performed{}, err
	}
	if info.OverriddenStatus == "" || info.OverriddenStatus == eureka.Unknown {
		return performed{actionSetStatus, eureka.Up}, reg.SetStatus(ctx, key, eureka.Up, none)
	}
	return performed{actionRemoveOverride, eureka.Up}, reg.RemoveOverride(ctx, key, eureka.Up, none)
}

func (h *Handler) statusPage(w http.ResponseWriter, r *http.Request, stats delta.Statistics) error {
	page := dashboard.Status{Frame: h.frame(r), System: h.system(r.Context(), nil, stats, nil)}
	if h.cfg.Cache != nil {
		view, err := h.cfg.Cache.View(r.Context())
		if err != nil {
			return err
		}
		page.System = h.system(r.Context(), view, stats, nil)
	}
	return h.writePage(w, r, http.StatusOK, &page)
}

func (h *Handler) recentPage(w http.ResponseWriter, r *http.Request, recent delta.Recent) error {
	page := dashboard.Recent{Frame: h.frame(r), Recent: recent}
	return h.writePage(w, r, http.StatusOK, &page)
}

// frame gathers what every page shows.
func (h *Handler) frame(r *http.Request) dashboard.Frame {
	return dashboard.Frame{
		Now: h.cfg.Now(), Region: h.cfg.Region, Environment: h.cfg.Environment,
		Admin: h.cfg.Gate == nil || h.cfg.Gate.Admit(r, access.LevelAdmin, "") == nil,
	}
}

// statistics reads those of the last pass.
func (h *Handler) statistics(ctx context.Context) (delta.Statistics, error) {
	if h.cfg.Publications == nil {
		return delta.Statistics{}, nil
	}
	return h.cfg.Publications.Statistics(ctx)
}

// system gathers the state of the registry; statErr says that there are no
// statistics because they could not be read.
func (h *Handler) system(ctx context.Context, view *view.View, stats delta.Statistics, statErr error) dashboard.System {
	now := h.cfg.Now()
	s := dashboard.System{
		Uptime: now.Sub(h.started), Statistics: stats, HasStatistics: statErr == nil && !stats.Pass.IsZero(),
	}
	if view != nil {
		// A view is as of a boundary that may lie before the start.
		s.ViewAge = min(view.Age(now), s.Uptime)
		if view.Stale() {
			s.Faults = append(s.Faults, h.staleness(view))
		}
	}
	if view != nil && h.cfg.Regions != nil {
		for _, r := range h.cfg.Regions.All(ctx, view.Boundary()) {
			s.Regions = append(s.Regions, dashboard.Region{Name: r.Name, Present: r.Present, Instances: len(r.Instances), Fetched: r.Fetched})
		}
	}
	if statErr != nil {
		s.Faults = append(s.Faults, tableFault)
	}
	return s
}

// writePage answers with a page. Its policy lets its own style and script
// through, and its forms; they say their origin only if a referrer may be told
// to it.
func (h *Handler) writePage(w http.ResponseWriter, r *http.Request, status int, page dashboard.Page) error {
	var body bytes.Buffer
	if err := h.cfg.Pages.Render(&body, page); err != nil {
		return fmt.Errorf("render a page: %w", err)
	}
	restrainBrowsers(w.Header())
	w.Header().Set("Content-Security-Policy", h.cfg.Pages.Policy())
	w.Header().Set("Referrer-Policy", "same-origin")
	writeWhole(w, r, status, "text/html; charset=utf-8", body.Bytes())
	return nil
}
