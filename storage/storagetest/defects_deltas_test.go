package storagetest_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// deltaDefects are those of the delta table.
var deltaDefects = map[string]defect{
	"a window includes its start": {
		test: "delta.Sink and Deltas/A window excludes its start and includes its end",
		harm: func(b *broken) {
			b.deltas = func(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
				return b.Tables.Deltas(ctx, since.Add(-time.Millisecond), until)
			}
		},
	},
	"a window excludes its end": {
		test: "delta.Sink and Deltas/A window excludes its start and includes its end",
		harm: func(b *broken) {
			b.deltas = func(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
				return b.Tables.Deltas(ctx, since, until.Add(-time.Millisecond))
			}
		},
	},
	"the last partition is not read": {
		test: "delta.Sink and Deltas/A window over many partitions",
		harm: func(b *broken) {
			b.deltas = func(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
				rows, err := b.Tables.Deltas(ctx, since, until)
				return slices.DeleteFunc(rows, func(r delta.Row) bool {
					return r.Written.Truncate(10 * time.Second).Equal(until.Truncate(10 * time.Second))
				}), err
			}
		},
	},
	"repeated rows are other rows": {
		test: "delta.Sink and Deltas/Put is idempotent",
		harm: func(b *broken) {
			calls := 0
			b.putting(func(r *delta.Row) { calls++; r.Sequence += strconv.Itoa(calls) })
		},
	},
	"a batch refuses repetitions": {
		test: "delta.Sink and Deltas/Put of a row twice in one call",
		harm: func(b *broken) {
			b.put = func(ctx context.Context, rows []delta.Row) error {
				seen := map[eureka.Key]bool{}
				for _, r := range rows {
					if seen[r.Key] {
						return errors.New("validation: duplicates")
					}
					seen[r.Key] = true
				}
				return b.Tables.Put(ctx, rows)
			}
		},
	},
	"a row's key is its sequence": {
		test: "delta.Sink and Deltas/Rows are told apart by sequence and by key",
		harm: func(b *broken) {
			b.deltas = func(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
				rows, err := b.Tables.Deltas(ctx, since, until)
				return slices.CompactFunc(rows, func(x, y delta.Row) bool { return x.Sequence == y.Sequence }), err
			}
		},
	},
	"a deleted row is a stub": {
		test: "delta.Sink and Deltas/Rows keep every field",
		harm: func(b *broken) {
			b.putting(func(r *delta.Row) {
				if r.Deleted() {
					r.Instance = &eureka.InstanceInfo{InstanceID: r.Key.ID, App: r.Key.App, Action: eureka.Deleted}
				}
			})
		},
	},
	"large answers are cut": {
		test: "delta.Sink and Deltas/Many rows at one moment",
		harm: func(b *broken) {
			b.deltas = func(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
				rows, err := b.Tables.Deltas(ctx, since, until)
				return rows[:min(len(rows), 85)], err
			}
		},
	},
	"rows are lost in silence": {
		test: "delta.Sink and Deltas/Put says which rows it did not write",
		harm: func(b *broken) {
			b.put = func(ctx context.Context, rows []delta.Row) error {
				_ = b.Tables.Put(ctx, rows)
				return nil
			}
		},
	},
	"a snapshot has no tombstones": {
		test: "eviction.Publications/A snapshot keeps every field",
		harm: func(b *broken) {
			b.putSnapshot = func(ctx context.Context, s *delta.Snapshot) error {
				kept := &delta.Snapshot{Began: s.Began}
				for _, e := range s.Entries {
					if e.Instance != nil {
						kept.Entries = append(kept.Entries, e)
					}
				}
				return b.Tables.PutSnapshot(ctx, kept)
			}
		},
	},
	"a window is cut in silence": {
		test: "delta.Sink and Deltas/A window longer than rows live is an error",
		harm: func(b *broken) {
			b.deltas = func(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
				if oldest := until.Add(-time.Hour); since.Before(oldest) {
					since = oldest
				}
				return b.Tables.Deltas(ctx, since, until)
			}
		},
	},
	"every claim is made": {
		test: "eviction.Publications/A claim keeps others from the same time",
		harm: func(b *broken) {
			b.claim = func(context.Context, delta.Claim) error { return nil }
		},
	},
	"a claim ahead of the clock stops all": {
		test: "eviction.Publications/A claim keeps others from the same time",
		harm: func(b *broken) {
			last := time.Time{}
			b.claim = func(ctx context.Context, c delta.Claim) error {
				if c.Pass.Before(last) {
					return eureka.ErrPassClaimed
				}
				err := b.Tables.Claim(ctx, c)
				if err == nil {
					last = c.Pass
				}
				return err
			}
		},
	},
	"an empty snapshot is none": {
		test: "eviction.Publications/A snapshot of an empty registry",
		harm: func(b *broken) {
			b.snapshot = func(ctx context.Context) (*delta.Snapshot, error) {
				s, err := b.Tables.Snapshot(ctx)
				if err == nil && len(s.Entries) == 0 {
					return nil, eureka.ErrNoSnapshot
				}
				return s, err
			}
		},
	},
	"a generation is a time": {
		test: "eviction.Publications/A snapshot replaces the one before",
		harm: func(b *broken) {
			b.putSnapshot = func(ctx context.Context, s *delta.Snapshot) error {
				if held, err := b.Tables.Snapshot(ctx); err == nil && held.Began.Equal(s.Began) {
					return nil
				}
				return b.Tables.PutSnapshot(ctx, s)
			}
		},
	},
	"a snapshot is torn": {
		test: "eviction.Publications/A snapshot is replaced while it is read",
		harm: func(b *broken) {
			b.snapshot = func(ctx context.Context) (*delta.Snapshot, error) {
				first, err := b.Tables.Snapshot(ctx)
				if err == nil && len(first.Entries) > 1 {
					first.Entries[1].Version--
				}
				return first, err
			}
		},
	},
	"chunks are missing": {
		test: "eviction.Publications/A snapshot larger than an item",
		harm: func(b *broken) {
			b.snapshot = func(ctx context.Context) (*delta.Snapshot, error) {
				s, err := b.Tables.Snapshot(ctx)
				if err == nil {
					s.Entries = s.Entries[:min(len(s.Entries), 400)]
				}
				return s, err
			}
		},
	},
	"statistics lose a field": {
		test: "eviction.Publications/Statistics keep every field",
		harm: func(b *broken) {
			b.statistics = func(ctx context.Context) (delta.Statistics, error) {
				s, err := b.Tables.Statistics(ctx)
				s.Threshold = 0
				return s, err
			}
		},
	},
	"statistics lose leases held back": {
		test: "eviction.Publications/Statistics keep every field",
		harm: func(b *broken) {
			b.statistics = func(ctx context.Context) (delta.Statistics, error) {
				s, err := b.Tables.Statistics(ctx)
				s.Held = s.Held[:min(len(s.Held), 100)]
				return s, err
			}
		},
	},
	"events are in another order": {
		test: "eviction.Publications/Recent events keep their order",
		harm: func(b *broken) {
			b.recent = func(ctx context.Context) (delta.Recent, error) {
				r, err := b.Tables.Recent(ctx)
				slices.Reverse(r.Cancelled)
				return r, err
			}
		},
	},
	"lists of events are cut": {
		test: "eviction.Publications/Recent events of the longest ids",
		harm: func(b *broken) {
			b.recent = func(ctx context.Context) (delta.Recent, error) {
				r, err := b.Tables.Recent(ctx)
				r.Registered = r.Registered[:min(len(r.Registered), 900)]
				return r, err
			}
		},
	},
}
