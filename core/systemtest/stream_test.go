package systemtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/memory"
)

// maxDelay is how old a record may be when it is delivered, or delivered once
// more: the template gives records up after 120 s.
const maxDelay = 100 * time.Second

// longDelay is the same where the stream may do anything: longer than the
// delta's window.
const longDelay = 5 * time.Minute

// ghostsKept is for how long the record of a removed lease may come again.
const ghostsKept = 40 * time.Minute

func (s *stream) maxDelay() time.Duration {
	if s.w.lossy {
		return longDelay
	}
	return maxDelay
}

// stream carries records from the lease table to the delta table: late, in any
// order, several times over, and in batches that fail in parts.
type stream struct {
	w *world
	// read counts the records taken from the table so far.
	read    int
	pending []record
	// haunted is when a removed lease was last told of.
	haunted time.Time
	// newest is the latest time that a row was stamped with.
	newest time.Time
	// delivered are the records whose rows are written and that may come again.
	delivered []record
	// last are the newest of them that tell of a lease, and ghosts those whose
	// lease the TTL took, with the time of that; see [stream.haunt].
	last   map[eureka.Key]record
	ghosts []record
}

// record is a stream record and when it was made.
type record struct {
	memory.Record
	made time.Time
}

// take fetches the new records that pass the template's filters.
func (s *stream) take() {
	records := s.w.store.Records(s.read)
	s.read += len(records)
	for _, r := range records {
		switch {
		case !r.Passes():
			s.w.count("record filtered")
		case s.w.lossy && !s.w.calm && s.w.chance(20):
			s.w.count("record lost")
			s.w.logf("  %s", r.Sequence)
		default:
			if r.Removed {
				s.w.count("lease removed by TTL")
			}
			s.pending = append(s.pending, record{r, s.w.now})
		}
	}
}

// deliver hands a batch of records, picked in any order, to the stream function.
func (s *stream) deliver() {
	s.take()
	var batch []record
	for range s.w.pick(10) {
		if len(s.pending) > 0 {
			batch = append(batch, s.remove(s.w.pick(len(s.pending))))
		}
	}
	for i := 0; i < len(s.pending); {
		if s.w.now.Sub(s.pending[i].made) > s.maxDelay() {
			batch = append(batch, s.remove(i))
			continue
		}
		i++
	}
	s.delivered = slices.DeleteFunc(s.delivered, func(r record) bool { return s.w.now.Sub(r.made) > s.maxDelay() })
	for range s.w.pick(3) {
		if len(s.delivered) > 0 {
			s.w.count("record repeated")
			batch = append(batch, s.delivered[s.w.pick(len(s.delivered))])
		}
	}
	s.handle(batch)
}

// flush delivers all that is under way.
func (s *stream) flush() {
	s.take()
	var batch []record
	for len(s.pending) > 0 {
		batch = append(batch, s.remove(len(s.pending)-1))
	}
	s.handle(batch)
}

// remove takes a record out of those under way.
func (s *stream) remove(i int) record {
	r := s.pending[i]
	s.pending = slices.Delete(s.pending, i, i+1)
	return r
}

// handle is the stream function. Its clock is anybody's. What was not written
// comes again.
func (s *stream) handle(batch []record) {
	written := s.w.off(skews[s.w.pick(len(skews))], &s.w.clocks.stream)()
	if written.After(s.newest) && len(batch) > 0 {
		s.newest = written
	}
	var rows []delta.Row
	for _, r := range batch {
		row, ok := delta.Project(r.Image)
		require.True(s.w.t, ok, "a record that passes the filters makes a row: %+v", r)
		row.Written = written
		s.w.logf("  row %s of %s %s at %d, written %s", r.Sequence, row.Instance.Action, row.Key, row.Version, written.Format(time.TimeOnly))
		rows = append(rows, row)
	}
	err := s.w.tables.Put(context.Background(), rows)
	var unwritten *delta.UnwrittenError
	if err != nil {
		require.ErrorAs(s.w.t, err, &unwritten)
		require.False(s.w.t, s.w.calm)
	}
	failed := map[int]bool{}
	if errors.As(err, &unwritten) {
		for _, i := range unwritten.Indexes {
			failed[i] = true
		}
	}
	for i, r := range batch {
		if failed[i] {
			s.w.count("record failed")
			s.pending = append(s.pending, r)
			continue
		}
		s.delivered = append(s.delivered, r)
		if r.Image.New != nil && !r.Image.New.Tombstone() {
			s.last[r.Image.New.Key] = r
		}
	}
}

// removed notes that the TTL took a lease.
func (s *stream) removed(key eureka.Key) {
	if r, ok := s.last[key]; ok {
		r.made = s.w.now
		s.ghosts = append(s.ghosts, r)
	}
}

// haunt delivers once more what the stream told of a lease that the TTL took,
// version and all. A container that was warm by then remembers the version for
// an hour; one that starts after the next snapshot, which follows at once here,
// finds the lease neither in it nor in a scan. One in between knows nothing of it and would take it,
// so those start anew: in truth no record is so late, as it is given up after
// two minutes and a TTL lies a day after the end of a lease.
func (s *stream) haunt() {
	s.ghosts = slices.DeleteFunc(s.ghosts, func(r record) bool { return s.w.now.Sub(r.made) > ghostsKept })
	if len(s.ghosts) == 0 {
		return
	}
	defer func(calm bool) { s.w.calm = calm }(s.w.calm)
	s.w.calm = true
	s.w.rightClocks()
	ghost := s.ghosts[s.w.pick(len(s.ghosts))]
	s.w.count("removed lease told of")
	for _, c := range s.w.containers {
		if c.loaded.After(ghost.made) {
			c.start()
		}
	}
	s.handle([]record{ghost})
	// It comes no more after the snapshot that follows.
	s.delivered = slices.DeleteFunc(s.delivered, func(r record) bool { return r.Sequence == ghost.Sequence })
	s.haunted = s.w.now
	s.w.advance(maxSkew + 15*time.Second) // a row may be seen ten seconds late
	s.w.mustPublish()
}
