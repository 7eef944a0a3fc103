package eviction

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// healingBatch is how many rows are given to the sink at once, and
// healingBatchTime how long that may take. Rows are stamped when their batch is
// written: one that appears later than its stamp by more than the readers'
// overlap of 10 s would be passed over by them and still count as told.
const (
	healingBatch     = 100
	healingBatchTime = 5 * time.Second
)

// heal writes a row for every change that the readers of the deltas may have
// missed, and returns how many. It compares the scan with the snapshot that an
// earlier pass published; what differs and is in none of the rows since is a
// lost change. Without a snapshot that is everything that no row carries and
// that no earlier pass has settled.
//
// Readers apply rows by version, so a row too many does no harm, and neither
// does one that turns up after all.
func (r *Runner) heal(ctx context.Context, h *history, leases []eureka.Lease) (int, error) {
	c := newComparison(h, leases)
	deletions, err := r.confirm(ctx, c.vanished())
	healed, writeErr := r.writeRows(ctx, append(c.lost(), deletions...))
	if err = errors.Join(err, writeErr); err != nil {
		return healed, fmt.Errorf("heal: %w", err)
	}
	return healed, nil
}

// confirm returns deletions for those of the vanished leases that really are
// not in the table. A lease may be there and not in the scan: it was registered
// since, or cannot be understood by this version of the code, which is no
// reason to take it away from readers that could.
func (r *Runner) confirm(ctx context.Context, vanished []delta.Row) ([]delta.Row, error) {
	var (
		mu        sync.Mutex
		confirmed []delta.Row
		failure   error
	)
	each(vanished, r.cfg.Concurrency, func(row delta.Row) {
		_, err := r.cfg.Store.Get(ctx, row.Key)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case errors.Is(err, eureka.ErrLeaseNotFound):
			confirmed = append(confirmed, row)
		case err != nil && !errors.Is(err, eureka.ErrCorrupt) && failure == nil:
			failure = fmt.Errorf("read %s: %w", row.Key, err)
		}
	})
	return confirmed, failure
}

// writeRows writes rows in batches and returns how many were written. A batch
// that fails does not keep the next from being tried.
func (r *Runner) writeRows(ctx context.Context, rows []delta.Row) (int, error) {
	written := 0
	var failure error
	for len(rows) > 0 && ctx.Err() == nil {
		batch := rows[:min(healingBatch, len(rows))]
		rows = rows[len(batch):]
		n, err := r.writeBatch(ctx, batch)
		written += n
		if err != nil && failure == nil {
			failure = fmt.Errorf("write deltas: %w", err)
		}
	}
	return written, errors.Join(failure, ctx.Err())
}

// writeBatch stamps rows and writes them, and returns how many were written.
func (r *Runner) writeBatch(ctx context.Context, batch []delta.Row) (int, error) {
	limited, cancel := context.WithTimeout(ctx, healingBatchTime)
	defer cancel()
	now := r.clock()
	for i := range batch {
		batch[i].Written = now
	}
	err := r.cfg.Deltas.Put(limited, batch)
	var partly *delta.UnwrittenError
	switch {
	case err == nil:
		return len(batch), nil
	case errors.As(err, &partly):
		return len(batch) - len(partly.Indexes), err
	}
	return 0, err
}

// comparison is a scan beside what readers were told.
type comparison struct {
	*history
	leases []eureka.Lease
	// before are the entries of the snapshot.
	before map[eureka.Key]delta.Entry
	// latest is the last row of each instance.
	latest map[eureka.Key]delta.Row
}

func newComparison(h *history, leases []eureka.Lease) *comparison {
	c := &comparison{history: h, leases: leases, latest: delta.Latest(h.rows), before: map[eureka.Key]delta.Entry{}}
	if h.snapshot != nil {
		for _, e := range h.snapshot.Entries {
			c.before[e.Key] = e
		}
	}
	return c
}

// lost returns rows for the states of the scan that no row carries.
func (c *comparison) lost() []delta.Row {
	var rows []delta.Row
	for i := range c.leases {
		l := &c.leases[i]
		if c.mayBeLost(l) {
			rows = append(rows, c.row(l))
		}
	}
	return rows
}

// mayBeLost reports whether a state is neither too young nor known to have
// reached the readers.
func (c *comparison) mayBeLost(l *eureka.Lease) bool {
	changed := l.Updated
	if l.Tombstone() {
		changed = l.Gone
	}
	return !c.young(changed, c.began) && !c.told(l, changed)
}

// young reports whether a change was so young at a pass that its record might
// have been on its way. One that lies further ahead than clocks ever differ was
// made before a clock was set back.
func (c *comparison) young(changed, pass time.Time) bool {
	return changed.After(pass.Add(-c.grace)) && !changed.After(pass.Add(MaxLateness))
}

// told reports whether a state is known to have reached the readers: an earlier
// pass found it when it was no longer young, or a row carries it.
func (c *comparison) told(l *eureka.Lease, changed time.Time) bool {
	entry, listed := c.before[l.Key]
	listed = listed && entry.Version == l.Version
	switch {
	case c.snapshot == nil && !c.settled.IsZero() && !c.young(changed, c.settled):
		return changed.Before(c.settled)
	case listed && !c.young(changed, c.snapshot.Began):
		return true
	}
	row, ok := c.latest[l.Key]
	return ok && row.Version >= l.Version && !row.Written.Before(c.earliest(changed, listed).Add(-clockSkew))
}

// earliest returns when the row of a change can have been written at the
// earliest. One that claims to be older was written under a clock that was set
// back, into a window that readers had read before.
func (c *comparison) earliest(changed time.Time, listed bool) time.Time {
	if c.snapshot == nil || listed || c.snapshot.Began.Before(changed) || c.snapshot.Began.After(c.began) {
		return changed
	}
	return c.snapshot.Began
}

// row returns the row of a lease or tombstone.
func (c *comparison) row(l *eureka.Lease) delta.Row {
	instance := l.Effective()
	if instance == nil {
		instance = delta.DeletedInstance(c.lastKnown(l.Key), l.Gone)
	}
	return delta.Row{Key: l.Key, Version: l.Version, Instance: instance, Sequence: sequence(l.Version)}
}

// lastKnown returns an instance as it was last seen. When it came and went
// unseen, it is one with no more than the key, which is all that a reader who
// found it by a scan needs to take it out.
func (c *comparison) lastKnown(key eureka.Key) *eureka.InstanceInfo {
	entry, row := c.before[key], c.latest[key]
	switch {
	case row.Instance != nil && row.Version >= entry.Version:
		return row.Instance
	case entry.Instance != nil:
		return entry.Instance
	case row.Instance != nil:
		return row.Instance
	}
	return &eureka.InstanceInfo{
		InstanceID: key.ID, HostName: key.ID, App: key.App,
		Status: eureka.Unknown, OverriddenStatus: eureka.Unknown,
		Port:       eureka.Port{Number: eureka.DefaultPort, Enabled: true},
		SecurePort: eureka.Port{Number: eureka.DefaultSecurePort},
		CountryID:  eureka.DefaultCountryID,
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
	}
}

// vanished returns deletions for what readers were last told is alive and the
// scan did not find, not even as a tombstone: it was removed from the table,
// by its TTL or by hand. Rows written since the scan began are of leases newer
// than it. That a tombstone was removed tells nothing, since it outlives many
// passes.
func (c *comparison) vanished() []delta.Row {
	found := make(map[eureka.Key]struct{}, len(c.leases))
	for i := range c.leases {
		found[c.leases[i].Key] = struct{}{}
	}
	told := map[eureka.Key]delta.Row{}
	for key, row := range c.latest {
		if _, ok := found[key]; !ok {
			told[key] = row
		}
	}
	for key, entry := range c.before {
		if _, ok := found[key]; ok || entry.Instance == nil {
			continue
		}
		if row, ok := told[key]; !ok || row.Version < entry.Version {
			told[key] = delta.Row{Key: key, Version: entry.Version, Instance: entry.Instance}
		}
	}
	var rows []delta.Row
	for _, row := range told {
		if !row.Deleted() && !row.Written.After(c.began) {
			rows = append(rows, c.deletion(row))
		}
	}
	return rows
}

// deletion returns the row for the removal of a lease that was last told alive,
// dated at the lease's end. Its version is the one after that, as the removal's
// own stream record has, or a greater one: the lease may have changed untold
// before it was removed. Versions begin at the time of registration in
// milliseconds, so the time of the scan is above every version of what it did
// not find, and below that of a registration since then.
func (c *comparison) deletion(alive delta.Row) delta.Row {
	version := max(alive.Version+1, c.began.Add(-clockSkew).UnixMilli())
	gone := alive.Instance.Lease.LastRenewed.Add(alive.Instance.Lease.Duration)
	return delta.Row{
		Key: alive.Key, Version: version,
		Instance: delta.DeletedInstance(alive.Instance, gone),
		Sequence: sequence(version),
	}
}

// sequence returns the sequence number of a row that no stream record made:
// 40 digits, so that it is none of a stream's, and the same for the same state,
// so that a row that is written again in the same moment overwrites itself.
func sequence(version int64) string { return fmt.Sprintf("9%039d", version) }
