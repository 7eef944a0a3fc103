package eviction

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// publishRecent adds the registrations, cancellations and changes among the rows to the
// published ones, and writes them only when that changes them. Rows that an
// earlier pass has seen add nothing, so windows may overlap.
func (r *Runner) publishRecent(ctx context.Context, rows []delta.Row) error {
	found := events(rows)
	if len(found.Registered) == 0 && len(found.Cancelled) == 0 && len(found.Changed) == 0 {
		return nil
	}
	before, err := r.cfg.Publications.Recent(ctx)
	if err != nil {
		return fmt.Errorf("read them: %w", err)
	}
	after := delta.Recent{
		Registered: merge(before.Registered, found.Registered),
		Cancelled:  merge(before.Cancelled, found.Cancelled),
		Changed:    merge(before.Changed, found.Changed),
	}
	if slices.EqualFunc(before.Registered, after.Registered, sameEvent) &&
		slices.EqualFunc(before.Cancelled, after.Cancelled, sameEvent) &&
		slices.EqualFunc(before.Changed, after.Changed, sameEvent) {
		return nil
	}
	return r.cfg.Publications.PutRecent(ctx, after)
}

// events returns what the rows tell of registrations; of cancellations,
// evictions and removals; and of changes of status. A change of metadata is ADDED
// too, as a registration is, but later than that.
func events(rows []delta.Row) delta.Recent {
	var found delta.Recent
	for i := range rows {
		row := &rows[i]
		lease := row.Instance.Lease
		switch {
		case row.Deleted():
			found.Cancelled = append(found.Cancelled, delta.Event{Time: lease.Evicted, Key: row.Key, What: end(lease)})
		case row.Instance.Action == eureka.Added && row.Instance.LastUpdated.Equal(lease.Registered):
			found.Registered = append(found.Registered, delta.Event{Time: lease.Registered, Key: row.Key, What: "registered"})
		case row.Instance.Action == eureka.Modified:
			found.Changed = append(found.Changed, delta.Event{Time: row.Instance.LastUpdated, Key: row.Key, What: change(row.Instance)})
		}
	}
	return found
}

// end says how a lease ended: one that had not run out was cancelled.
func end(lease eureka.LeaseInfo) string {
	if lease.Evicted.Before(lease.LastRenewed.Add(lease.Duration)) {
		return "cancelled"
	}
	return "evicted"
}

// change says what a change of status was.
func change(i *eureka.InstanceInfo) string {
	if i.OverriddenStatus == "" || i.OverriddenStatus == eureka.Unknown {
		return "override removed, " + string(i.Status)
	}
	return "overridden, " + string(i.OverriddenStatus)
}

// merge returns the last events of both lists, each once, newest first.
func merge(before, more []delta.Event) []delta.Event {
	all := slices.Concat(before, more)
	slices.SortFunc(all, newestFirst)
	all = slices.CompactFunc(all, sameEvent)
	return all[:min(len(all), delta.RecentLimit)]
}

func newestFirst(a, b delta.Event) int {
	return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Key.App, b.Key.App), cmp.Compare(a.Key.ID, b.Key.ID))
}

func sameEvent(a, b delta.Event) bool { return newestFirst(a, b) == 0 }
