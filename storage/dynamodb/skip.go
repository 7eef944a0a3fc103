package dynamodb

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/storage/instancecodec"
)

// maxSkippedLogged bounds the lines about items that one read skips.
const maxSkippedLogged = 10

// skipped reports the items that one read leaves out. It is safe for concurrent
// use.
type skipped struct {
	store *Store
	// what names an item in messages: lease, delta row or snapshot entry.
	what  string
	count atomic.Int64
}

// add reports an item, unless many were reported already.
func (k *skipped) add(ctx context.Context, err error, attributes ...any) {
	if k.count.Add(1) <= maxSkippedLogged {
		k.store.log.ErrorContext(ctx, k.what+" skipped", append(attributes, "error", err)...)
	}
}

// end reports how many items there were when not each was reported.
func (k *skipped) end(ctx context.Context) {
	if n := k.count.Load(); n > maxSkippedLogged {
		k.store.log.ErrorContext(ctx, k.what+"s skipped", "count", n)
	}
}

// checkSize returns an eureka.ErrCorrupt for an instance that is larger than
// one may be: it was stored before there was this limit. A few of those, of
// some KB each as they are stored, would take all of a reader's memory.
func (s *Store) checkSize(i *eureka.InstanceInfo) error {
	if i != nil && wire.Exceeds(i, s.cfg.MaxInstance) {
		return fmt.Errorf("instance takes more than %d bytes in JSON or XML: %w", s.cfg.MaxInstance, eureka.ErrCorrupt)
	}
	return nil
}

// fitting returns the entries of a chunk without instances that are too large.
func (s *Store) fitting(ctx context.Context, entries []delta.Entry, skip *skipped) []delta.Entry {
	kept := entries[:0]
	for _, e := range entries {
		if err := s.checkSize(e.Instance); err != nil {
			skip.add(ctx, err, "app", e.Key.App, "id", e.Key.ID)
			continue
		}
		kept = append(kept, e)
	}
	if len(kept) < len(entries) {
		for n, e := range kept {
			if e.Instance != nil {
				kept[n].Instance = instancecodec.Detached(e.Instance)
				kept[n].Key = eureka.Key{App: strings.Clone(e.Key.App), ID: strings.Clone(e.Key.ID)}
			}
		}
	}
	clear(entries[len(kept):])
	return kept
}
