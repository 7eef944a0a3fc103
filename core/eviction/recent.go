package eviction

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/published"
)

// publishRecent adds the registrations and cancellations among the rows to the
// published ones, and writes them only when that changes them. Rows that an
// earlier pass has seen add nothing, so windows may overlap.
func (r *Runner) publishRecent(ctx context.Context, rows []delta.Row) error {
	registered, cancelled := events(rows)
	if len(registered) == 0 && len(cancelled) == 0 {
		return nil
	}
	before, err := r.cfg.Publications.Recent(ctx)
	if err != nil {
		return fmt.Errorf("read them: %w", err)
	}
	after := published.Recent{
		Registered: merge(before.Registered, registered),
		Cancelled:  merge(before.Cancelled, cancelled),
	}
	if slices.EqualFunc(before.Registered, after.Registered, sameEvent) &&
		slices.EqualFunc(before.Cancelled, after.Cancelled, sameEvent) {
		return nil
	}
	return r.cfg.Publications.PutRecent(ctx, after)
}

// events returns what the rows tell of registrations, and of cancellations,
// evictions and removals. A change of metadata is ADDED too, as a registration
// is, but later than that.
func events(rows []delta.Row) (registered, cancelled []published.Event) {
	for i := range rows {
		row := &rows[i]
		lease := row.Instance.Lease
		switch {
		case row.Deleted():
			cancelled = append(cancelled, published.Event{Time: lease.Evicted, Key: row.Key})
		case row.Instance.Action == eureka.Added && row.Instance.LastUpdated.Equal(lease.Registered):
			registered = append(registered, published.Event{Time: lease.Registered, Key: row.Key})
		}
	}
	return registered, cancelled
}

// merge returns the last events of both lists, each once, newest first.
func merge(before, more []published.Event) []published.Event {
	all := slices.Concat(before, more)
	slices.SortFunc(all, newestFirst)
	all = slices.CompactFunc(all, sameEvent)
	return all[:min(len(all), published.RecentLimit)]
}

func newestFirst(a, b published.Event) int {
	return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Key.App, b.Key.App), cmp.Compare(a.Key.ID, b.Key.ID))
}

func sameEvent(a, b published.Event) bool { return newestFirst(a, b) == 0 }
