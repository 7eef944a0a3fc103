package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/mirror"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/wire"
)

// BatchSize is how many operations go with one request.
const BatchSize = 100

// Target is the registry that is written to.
type Target interface {
	// Replicate does what a peer passes on, and returns a result for each item.
	Replicate(ctx context.Context, items []wire.ReplicationItem) ([]wire.ReplicationResult, error)
	// Instance reads one instance as it is now; eureka.ErrNotFound: none.
	Instance(ctx context.Context, key eureka.Key) (*eureka.InstanceInfo, error)
	Registry
}

// Source is a registry that is read: a server, or an exported file.
type Source = mirror.Source

// Importer mirrors a registry into another, a pass at a time. It never
// overwrites what is newer there: an instance that already registered with the
// target itself, with a newer dirty timestamp, is left alone, also when it is
// cancelled at the source. What a pass did not finish, the next one does, and
// what is equal already is only renewed.
//
// A list that lacks an instance does not say that it ended: the source may have
// restarted, and then has forgotten instances and overrides alike. Such an
// instance is no longer renewed and expires at the target by itself. See
// departures for when one is cancelled.
type Importer struct {
	source *mirror.Copy
	target Target
	dryRun bool
	now    func() time.Time
	// progress is told how much of a pass is done.
	progress func(done, all int)
	// mirrored is what the passes left at the target.
	mirrored Instances
	// overrideEnded are the instances whose override the source ended.
	overrideEnded map[eureka.Key]bool
	departures    departures
}

// NewImporter returns one. With dryRun it only says what it would do.
func NewImporter(source mirror.Source, target Target, dryRun bool, now func() time.Time, progress func(done, all int)) *Importer {
	return &Importer{
		source: mirror.New(source, 0), target: target, dryRun: dryRun, now: now, progress: progress,
		mirrored: Instances{}, overrideEnded: map[eureka.Key]bool{}, departures: departures{},
	}
}

// Report is what a pass did, or would do.
type Report struct {
	// Read counts the instances at the source.
	Read int
	// Registered, Changed, Cancelled and Renewed count what was done; Newer
	// what was left alone, since the target has a newer registration; Gone what
	// the source no longer has, which is not renewed.
	Registered, Changed, Cancelled, Renewed, Newer, Gone int
	// Differences are what was found to differ, and Failures what could not be
	// done, a line each.
	Differences []Difference
	Failures    []string
}

// String is the report's line.
func (r *Report) String() string {
	return fmt.Sprintf("%d read: %d registered, %d changed, %d cancelled, %d only renewed, %d newer there, %d gone, %d failed",
		r.Read, r.Registered, r.Changed, r.Cancelled, r.Renewed, r.Newer, r.Gone, len(r.Failures))
}

func (r *Report) fail(key eureka.Key, format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf("%q: ", key.String())+fmt.Sprintf(format, args...))
}

// Pass brings the target up to date once. An error says that the source could
// not be read, or that a request failed; the report tells of what was done
// before.
func (m *Importer) Pass(ctx context.Context) (*Report, error) {
	report := &Report{}
	if err := m.source.Refresh(ctx, m.now()); err != nil {
		return report, fmt.Errorf("read the source: %w", err)
	}
	all := m.source.Instances()
	report.Read = len(all)
	if m.dryRun {
		return report, m.preview(ctx, all, report)
	}
	m.noteEndedOverrides()
	keys := slices.SortedFunc(maps.Keys(all), mirror.Compare)
	for batch := range slices.Chunk(keys, BatchSize) {
		if err := m.bring(ctx, all, batch, report); err != nil {
			return report, err
		}
		m.progress(report.Registered+report.Changed+report.Renewed+report.Newer+len(report.Failures), len(keys))
	}
	return report, m.depart(ctx, all, report)
}

// preview says what would be done, by the target's list.
func (m *Importer) preview(ctx context.Context, all Instances, report *Report) error {
	there, err := List(ctx, m.target)
	if err != nil {
		return fmt.Errorf("read the target: %w", err)
	}
	for key, i := range all {
		switch stored := there[key]; {
		case stored == nil:
			report.Registered++
		case stored.LastDirty.After(i.LastDirty):
			report.Newer++
		case len(CompareInstance(listed(i), stored)) > 0:
			report.Changed++
		default:
			report.Renewed++
		}
	}
	here := Instances{}
	for key, i := range all {
		here[key] = listed(i)
	}
	for _, d := range Compare(here, there) {
		if d.A != "missing" { // what only the target has is its own
			report.Differences = append(report.Differences, d)
		}
	}
	return nil
}

// Registry is what is listed.
type Registry interface {
	Applications(ctx context.Context, regions ...string) (*eureka.Applications, error)
}

// List returns all instances of a registry.
func List(ctx context.Context, r Registry) (Instances, error) {
	apps, err := r.Applications(ctx)
	if err != nil {
		return nil, err
	}
	out := Instances{}
	for _, app := range apps.Applications {
		for _, i := range app.Instances {
			out[i.Key()] = listed(i)
		}
	}
	return out, nil
}

// bring brings some instances up to date. A heartbeat asks for each whether
// the target has that very registration: lists there may be old, heartbeats
// are not.
func (m *Importer) bring(ctx context.Context, all Instances, keys []eureka.Key, report *Report) error {
	items := make([]wire.ReplicationItem, len(keys))
	for n, key := range keys {
		items[n] = item(all[key], registry.ActionHeartbeat)
	}
	results, err := m.target.Replicate(ctx, items)
	if err != nil {
		return err
	}
	var missing []*eureka.InstanceInfo
	for n, key := range keys {
		i := all[key]
		switch status := results[n].StatusCode; {
		case status == http.StatusNotFound:
			missing = append(missing, i)
		case status == http.StatusConflict:
			report.Newer++
			if newer := results[n].Instance; newer != nil {
				report.Differences = append(report.Differences, CompareInstance(listed(i), newer)...)
			}
		case status != http.StatusOK:
			report.fail(key, "heartbeat answered %d", status)
		case same(m.mirrored[key], i):
			report.Renewed++
		default:
			if err := m.adjust(ctx, i, report); err != nil {
				return err
			}
		}
	}
	return m.register(ctx, missing, report)
}

// listed returns an instance as a registry lists it: an exported one still has
// the status that it registered with.
func listed(i *eureka.InstanceInfo) *eureka.InstanceInfo {
	out := *i
	out.Status = eureka.EffectiveStatus(i.Status, i.OverriddenStatus)
	return &out
}

func same(a, b *eureka.InstanceInfo) bool { return a != nil && len(CompareInstance(a, b)) == 0 }

func item(i *eureka.InstanceInfo, action string) wire.ReplicationItem {
	return wire.ReplicationItem{App: i.App, ID: i.ID(), Action: action, Status: i.Status, LastDirty: i.LastDirty}
}

// register registers what the target does not have.
func (m *Importer) register(ctx context.Context, missing []*eureka.InstanceInfo, report *Report) error {
	if len(missing) == 0 {
		return nil
	}
	items := make([]wire.ReplicationItem, len(missing))
	for n, i := range missing {
		items[n] = item(i, registry.ActionRegister)
		items[n].Instance = i
	}
	results, err := m.target.Replicate(ctx, items)
	if err != nil {
		return err
	}
	for n, i := range missing {
		if results[n].StatusCode != http.StatusOK {
			report.fail(i.Key(), "registration answered %d", results[n].StatusCode)
			continue
		}
		report.Registered++
		m.mirrored[i.Key()] = i
	}
	return nil
}

// adjust brings what the target has of an instance to the source's state:
// metadata and the like by the registration, an override by its own operation.
func (m *Importer) adjust(ctx context.Context, i *eureka.InstanceInfo, report *Report) error {
	stored, err := m.target.Instance(ctx, i.Key())
	if errors.Is(err, eureka.ErrNotFound) {
		return m.register(ctx, []*eureka.InstanceInfo{i}, report)
	}
	if err != nil {
		return err
	}
	differences := CompareInstance(listed(i), stored)
	if len(differences) == 0 {
		m.mirrored[i.Key()] = i
		report.Renewed++
		return nil
	}
	report.Differences = append(report.Differences, differences...)
	results, err := m.target.Replicate(ctx, changes(i, stored, m.overrideEnded[i.Key()]))
	if err != nil {
		return err
	}
	for _, result := range results {
		if result.StatusCode != http.StatusOK {
			report.fail(i.Key(), "change answered %d", result.StatusCode)
			return nil
		}
	}
	report.Changed++
	m.mirrored[i.Key()] = i
	delete(m.overrideEnded, i.Key())
	return nil
}

// changes returns the operations that turn the stored state into the source's:
// an override ends first, since a registration would not end it. One that the
// source does not have stays, unless the source said that it ended.
func changes(i, stored *eureka.InstanceInfo, ended bool) []wire.ReplicationItem {
	var out []wire.ReplicationItem
	if overridden(stored) && stored.OverriddenStatus != i.OverriddenStatus && (ended || overridden(i)) {
		out = append(out, item(i, registry.ActionDeleteStatusOverride))
	}
	r := item(i, registry.ActionRegister)
	r.Instance = i
	out = append(out, r)
	if overridden(i) && i.OverriddenStatus != stored.OverriddenStatus {
		u := item(i, registry.ActionStatusUpdate)
		u.Status = i.OverriddenStatus
		out = append(out, u)
	}
	return out
}

func overridden(i *eureka.InstanceInfo) bool {
	return i.OverriddenStatus != "" && i.OverriddenStatus != eureka.Unknown
}
