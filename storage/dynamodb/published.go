package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/instancecodec"
)

// Names of what is published.
const (
	docSnapshot   = "snapshot"
	docStatistics = "statistics"
	docRecent     = "recent"
)

// listKept is how long the parts of the statistics and of the recent events
// stay, which are replaced only when they change. Only lists of very long ids
// have parts. Those of a snapshot stay for as long as rows do: healing compares
// with it, also after passes have failed for an hour.
const listKept = 7 * 24 * time.Hour

// Snapshot implements [eviction.Publications] and [view.Source]: a read
// unit for each 4 KB when it is small, half of it when it is in parts.
func (s *Store) Snapshot(ctx context.Context) (*delta.Snapshot, error) {
	d, err := s.readDocument(ctx, docSnapshot)
	if errors.Is(err, errNoDocument) {
		return nil, fmt.Errorf("%w: %w", eureka.ErrNoSnapshot, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	entries, err := s.decodeParts(ctx, d.parts)
	if err != nil {
		s.log.ErrorContext(ctx, "snapshot cannot be used", "error", err)
		return nil, fmt.Errorf("%w: %w", eureka.ErrNoSnapshot, err)
	}
	return &delta.Snapshot{Began: d.began, Entries: entries}, nil
}

// decodeParts decodes the chunks of a snapshot on all processors, one chunk at
// a time on each. Instances that are too large are reported and left out.
func (s *Store) decodeParts(ctx context.Context, parts [][]byte) ([]delta.Entry, error) {
	chunks := make([][]delta.Entry, len(parts))
	skip := &skipped{store: s, what: "snapshot entry"}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, part := range parts {
		group.Go(func() error {
			entries, err := instancecodec.DecodeChunk(part)
			chunks[i] = s.fitting(ctx, entries, skip)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	skip.end(ctx)
	count := 0
	for _, c := range chunks {
		count += len(c)
	}
	entries := make([]delta.Entry, 0, count)
	for _, c := range chunks {
		entries = append(entries, c...)
	}
	return entries, nil
}

// PutSnapshot implements [eviction.Publications]: a write unit for each KB,
// about 0.06 an instance.
func (s *Store) PutSnapshot(ctx context.Context, snapshot *delta.Snapshot) error {
	chunks, err := instancecodec.EncodeChunks(snapshot.Entries, maxPart)
	if err != nil {
		return fmt.Errorf("publish snapshot: %w", err)
	}
	d := document{began: snapshot.Began, kept: delta.RowLifetime(s.cfg.Retention)}
	for _, c := range chunks {
		d.parts = append(d.parts, c.Stored)
	}
	if err := s.putDocument(ctx, docSnapshot, d); err != nil {
		return fmt.Errorf("publish snapshot: %w", err)
	}
	return nil
}

// Statistics implements [eviction.Publications]: a read unit, and one more for
// each 4 KB that the keys of the leases held back take.
func (s *Store) Statistics(ctx context.Context) (delta.Statistics, error) {
	return readJSON[delta.Statistics](ctx, s, docStatistics)
}

// Claim implements [eviction.Publications]: a write unit for each KB of the
// statistics, also when the condition fails.
func (s *Store) Claim(ctx context.Context, c delta.Claim) error {
	u := newUpdate()
	u.put(AttrClaimed, millis(c.Pass))
	u.put(AttrClaimant, text(c.Token))
	u.require("(" + strings.Join([]string{
		u.absent(AttrClaimed),
		u.name(AttrClaimed) + " <= " + u.value("before", millis(c.Pass.Add(-c.Apart))),
		u.name(AttrClaimed) + " >= " + u.value("after", millis(c.Pass.Add(c.Apart))),
		u.is(AttrClaimant, AttrClaimant, text(c.Token)),
	}, " OR ") + ")")
	_, err := s.api.UpdateItem(ctx, u.into(&dynamodb.UpdateItemInput{TableName: &s.cfg.DeltaTable, Key: pointerKey(docStatistics)}))
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return eureka.ErrPassClaimed
	}
	if err != nil {
		return fmt.Errorf("claim pass: %w", classify(ctx, err))
	}
	return nil
}

// PutStatistics implements [eviction.Publications]: a write unit, and one more
// for each KB that the keys of the leases held back take.
func (s *Store) PutStatistics(ctx context.Context, statistics delta.Statistics) error {
	statistics.Pass, statistics.Settled = toMillis(statistics.Pass), toMillis(statistics.Settled)
	return putJSON(ctx, s, docStatistics, statistics)
}

// Recent implements [eviction.Publications]: a read unit for each 4 KB, about
// ten when both lists are full.
func (s *Store) Recent(ctx context.Context) (delta.Recent, error) {
	return readJSON[delta.Recent](ctx, s, docRecent)
}

// PutRecent implements [eviction.Publications]: a write unit for each KB, about
// forty when both lists are full.
func (s *Store) PutRecent(ctx context.Context, recent delta.Recent) error {
	return putJSON(ctx, s, docRecent, delta.Recent{
		Registered: eventsToMillis(recent.Registered), Cancelled: eventsToMillis(recent.Cancelled), Changed: eventsToMillis(recent.Changed),
	})
}

// toMillis returns a time as it is stored everywhere else.
func toMillis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func eventsToMillis(events []delta.Event) []delta.Event {
	out := make([]delta.Event, len(events))
	for i, e := range events {
		out[i] = delta.Event{Time: toMillis(e.Time), Key: e.Key, What: e.What}
	}
	return out
}

// readJSON returns a published value, or its zero value when there is none. One
// that cannot be understood is reported and counts as none, so that the next
// pass replaces it.
func readJSON[T any](ctx context.Context, s *Store, name string) (T, error) {
	var none, value T
	d, err := s.readDocument(ctx, name)
	if errors.Is(err, errNoDocument) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("read %s: %w", name, err)
	}
	plain, err := inflate(d.parts)
	if err == nil {
		err = json.Unmarshal(plain, &value)
	}
	if err != nil {
		s.log.ErrorContext(ctx, name+" cannot be understood", "error", err)
		return none, nil
	}
	return value, nil
}

func putJSON(ctx context.Context, s *Store, name string, value any) error {
	plain, err := json.Marshal(value)
	if err == nil {
		err = s.putDocument(ctx, name, document{parts: deflate(plain), kept: listKept})
	}
	if err != nil {
		return fmt.Errorf("publish %s: %w", name, err)
	}
	return nil
}
