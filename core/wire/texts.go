package wire

import "hash/maphash"

// textCache makes equal texts of a document one string: in a list, application
// names, addresses and metadata repeat with every instance. It holds few texts
// and forgets; it saves memory but promises nothing.
type textCache struct {
	seed  maphash.Seed
	slots [512]string
}

// maxCachedText is the length in bytes up to which a text is likely to come
// again.
const maxCachedText = 64

func newTextCache() *textCache { return &textCache{seed: maphash.MakeSeed()} }

// get returns text as a string. A nil cache makes a new one each time.
func (c *textCache) get(text []byte) string {
	if c == nil || len(text) > maxCachedText {
		return string(text)
	}
	// Two neighbours share their texts, so that two frequent ones that meet do
	// not drive each other out at every turn.
	at := maphash.Bytes(c.seed, text) % uint64(len(c.slots))
	first, second := &c.slots[at], &c.slots[at^1]
	if *first == string(text) {
		return *first
	}
	if *second != string(text) {
		*second, *first = *first, string(text)
		return *first
	}
	return *second
}
