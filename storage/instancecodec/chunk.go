package instancecodec

import (
	"encoding/binary"
	"fmt"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// Bits of an entry's first field.
const (
	// flagInstance: the entry ends with an instance's record.
	flagInstance = 1 << iota
	// flagOwnKey: the key is the one that the instance gives, and is left out.
	flagOwnKey
)

// Chunk is the stored form of some entries of a snapshot.
type Chunk struct {
	Stored []byte
	// Entries is how many entries it holds.
	Entries int
}

// EncodeChunks returns the stored form of entries in chunks of at most limit
// bytes each, in order. An entry that alone is larger is an eureka.ErrTooLarge.
func EncodeChunks(entries []delta.Entry, limit int) ([]Chunk, error) {
	var chunks []Chunk
	for len(entries) > 0 {
		c, err := nextChunk(entries, limit)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, c)
		entries = entries[c.Entries:]
	}
	return chunks, nil
}

// targetRatio is how much a chunk's body is expected to shrink: its length
// before compression is limit times this. Where it shrinks less, the chunk is
// made of half as many entries.
const targetRatio = 4

// nextChunk returns the chunk of as many of the first entries as go well.
func nextChunk(entries []delta.Entry, limit int) (Chunk, error) {
	scratch := buffers.get()
	defer buffers.put(scratch)
	for n := len(entries); ; n = (n + 1) / 2 {
		body, taken := appendEntries((*scratch)[:0], entries[:n], min(limit*targetRatio, maxChunk/2))
		*scratch = body[:0]
		stored := seal(body, methodDeflate)
		if len(stored) <= limit && len(body) <= maxChunk {
			return Chunk{Stored: stored, Entries: taken}, nil
		}
		if taken == 1 {
			return Chunk{}, eureka.TooLargef("instance", "%s takes %d bytes compressed, %d before, too many for a snapshot", entries[0].Key, len(stored), len(body))
		}
		n = taken
	}
}

// appendEntries appends the first entries, at least one, up to about size
// bytes, and returns how many they are.
func appendEntries(b []byte, entries []delta.Entry, size int) ([]byte, int) {
	scratch := buffers.get()
	defer buffers.put(scratch)
	for n := range entries {
		entry := appendEntry((*scratch)[:0], &entries[n])
		*scratch = entry[:0]
		if n > 0 && len(b)+len(entry) > size {
			return b, n
		}
		b = binary.AppendUvarint(b, uint64(len(entry)))
		b = append(b, entry...)
	}
	return b, len(entries)
}

func appendEntry(b []byte, e *delta.Entry) []byte {
	var flags uint64
	if e.Instance != nil {
		flags |= flagInstance
		if e.Instance.Key() == e.Key {
			flags |= flagOwnKey
		}
	}
	b = binary.AppendUvarint(b, flags)
	b = binary.AppendVarint(b, e.Version)
	if flags&flagOwnKey == 0 {
		b = appendText(appendText(b, e.Key.App), e.Key.ID)
	}
	if flags&flagInstance != 0 {
		b = appendRecord(b, e.Instance)
	}
	return b
}

// DecodeChunk returns the entries of a chunk, or an eureka.ErrCorrupt. The
// texts of its instances share one array.
func DecodeChunk(stored []byte) ([]delta.Entry, error) {
	body, err := open(stored, methodDeflate, maxChunk)
	if err != nil {
		return nil, fmt.Errorf("chunk: %w", err)
	}
	entries := make([]delta.Entry, 0, len(body)/256)
	c := cursor{rest: body}
	for c.rest != "" && !c.bad {
		e := cursor{rest: c.text()}
		entries = append(entries, e.entry())
		c.bad = c.bad || e.bad
	}
	if c.bad {
		return nil, fmt.Errorf("chunk: entry %d cut short or garbled: %w", len(entries), eureka.ErrCorrupt)
	}
	return entries, nil
}

func (c *cursor) entry() delta.Entry {
	flags := c.uvarint()
	e := delta.Entry{Version: c.varint()}
	if flags&flagOwnKey == 0 {
		e.Key = eureka.Key{App: c.text(), ID: c.text()}
	}
	if flags&flagInstance != 0 {
		e.Instance = c.instance()
		if flags&flagOwnKey != 0 {
			e.Key = e.Instance.Key()
		}
	}
	return e
}

// Detached returns an instance of a chunk with texts of its own, so that it does
// not keep the whole chunk in memory.
func Detached(i *eureka.InstanceInfo) *eureka.InstanceInfo {
	c := cursor{rest: string(appendRecord(nil, i))}
	return c.instance()
}
