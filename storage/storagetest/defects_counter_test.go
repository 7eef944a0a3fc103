package storagetest_test

import (
	"context"
	"strings"
)

// counterDefects are those of counts. Each counts by a scan, what is not its
// defect rightly.
var counterDefects = map[string]defect{
	"nothing is counted as one": {
		test: "registry.Counter/Count of no application",
		harm: func(b *broken) {
			b.count = func(ctx context.Context, app string, limit int) (int, error) {
				n, err := b.Tables.Count(ctx, app, limit)
				return max(1, n), err
			}
		},
	},
	"tombstones are counted": {
		test: "registry.Counter/Count is of one application's live leases",
		harm: func(b *broken) {
			b.count = func(ctx context.Context, app string, limit int) (int, error) {
				return countScanned(ctx, b, limit, func(other string, _ bool) bool { return other == app })
			}
		},
	},
	"applications with a like name are counted": {
		test: "registry.Counter/Count is of one application's live leases",
		harm: func(b *broken) {
			b.count = func(ctx context.Context, app string, limit int) (int, error) {
				return countScanned(ctx, b, limit, func(other string, live bool) bool { return live && strings.HasPrefix(other, app) })
			}
		},
	},
	"the limit is passed": {
		test: "registry.Counter/Count ends at its limit",
		harm: func(b *broken) {
			b.count = func(ctx context.Context, app string, _ int) (int, error) {
				return b.Tables.Count(ctx, app, 1<<30)
			}
		},
	},
}

func countScanned(ctx context.Context, b *broken, limit int, counts func(app string, live bool) bool) (int, error) {
	leases, err := b.Tables.Scan(ctx)
	n := 0
	for _, l := range leases {
		if counts(l.Key.App, !l.Tombstone()) {
			n++
		}
	}
	return min(n, limit), err
}
