package migration

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/wire"
)

const (
	// forgetAfter is when an instance that the source does not have is
	// forgotten: servers keep the rows that would say why for three minutes.
	forgetAfter = 5 * time.Minute
	// keptPercent is the share of the mirrored instances that one pass leaves
	// alone, as self-preservation does.
	keptPercent = 85
)

// departures are the mirrored instances that the source no longer has.
type departures map[eureka.Key]*departure

// departure is an instance that is on its way out. It is cancelled when a row
// of the source's delta said DELETED and the target has not seen a heartbeat of
// the instance for a while: an instance whose heartbeats moved over to the
// target was evicted at the source, and lives.
type departure struct {
	// absent is when a pass first missed it.
	absent time.Time
	// deleted is when a row said DELETED; zero: none did.
	deleted time.Time
	// renewed is the target's time of the last renewal, as it was then.
	renewed time.Time
}

// silence is how long the target must see no heartbeat of an instance before it
// is cancelled. Clients are late by some of their interval.
func silence(i *eureka.InstanceInfo) time.Duration { return i.Lease.RenewalInterval * 3 / 2 }

// depart takes care of what was mirrored and is gone from the source.
func (m *Importer) depart(ctx context.Context, all Instances, report *Report) error {
	now := m.now()
	deleted := m.deleted()
	left := max(1, len(m.mirrored)-len(m.mirrored)*keptPercent/100)
	for key, was := range m.mirrored {
		if all[key] != nil {
			delete(m.departures, key)
			continue
		}
		d := m.departures[key]
		if d == nil {
			d = &departure{absent: now}
			m.departures[key] = d
		}
		switch {
		case d.deleted.IsZero() && !deleted[key]:
			if now.Sub(d.absent) > forgetAfter {
				m.forget(key)
				continue
			}
		case d.deleted.IsZero(), now.Sub(d.deleted) >= silence(was) && left > 0:
			cancelled, err := m.end(ctx, was, d, report)
			if err != nil {
				return err
			}
			if cancelled {
				left--
			}
			if m.mirrored[key] == nil {
				continue
			}
		}
		report.Gone++
	}
	return nil
}

// deleted returns the instances that the source's delta says were deleted.
func (m *Importer) deleted() map[eureka.Key]bool {
	out := map[eureka.Key]bool{}
	for _, row := range m.source.Changes() {
		if row.Action == eureka.Deleted {
			out[row.Key()] = true
		}
	}
	return out
}

// end looks at an instance that the source deleted: at first only when it was
// renewed last, later whether that is still so, and then cancels it.
func (m *Importer) end(ctx context.Context, was *eureka.InstanceInfo, d *departure, report *Report) (cancelled bool, err error) {
	key := was.Key()
	stored, err := m.target.Instance(ctx, key)
	switch {
	case errors.Is(err, eureka.ErrNotFound):
		m.forget(key)
		return false, nil
	case err != nil:
		return false, err
	case stored.LastDirty.After(was.LastDirty), !d.deleted.IsZero() && !stored.Lease.LastRenewed.Equal(d.renewed):
		report.Newer++
		m.forget(key)
		return false, nil
	case d.deleted.IsZero():
		d.deleted, d.renewed = m.now(), stored.Lease.LastRenewed
		return false, nil
	}
	results, err := m.target.Replicate(ctx, []wire.ReplicationItem{item(was, registry.ActionCancel)})
	if err != nil {
		return false, err
	}
	if status := results[0].StatusCode; status != http.StatusOK && status != http.StatusNotFound {
		report.fail(key, "cancel answered %d", status)
		return true, nil
	}
	report.Cancelled++
	m.forget(key)
	return true, nil
}

func (m *Importer) forget(key eureka.Key) {
	delete(m.mirrored, key)
	delete(m.departures, key)
	delete(m.overrideEnded, key)
}

// noteEndedOverrides remembers of which instances the source's delta says that
// their mirrored override ended: by a change of status, or with the lease.
func (m *Importer) noteEndedOverrides() {
	for _, row := range m.source.Changes() {
		was := m.mirrored[row.Key()]
		if was == nil || !overridden(was) {
			continue
		}
		switch row.Action {
		case eureka.Modified:
			m.overrideEnded[row.Key()] = !overridden(row)
		case eureka.Deleted:
			m.overrideEnded[row.Key()] = true
		}
	}
}
