package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sync"
)

// maxRefused is how many wrong credentials are remembered, at some 100 bytes
// each. It spares the hash of a client that goes on with a wrong password.
const maxRefused = 1024

// fingerprint stands for a name and password: a hash keyed with a random key
// of this process, so that neither a dump of the memory nor the time that a
// look-up takes tells anything about passwords.
type fingerprint [sha256.Size]byte

// verification is a credential that was right.
type verification struct {
	user *user
	hash hash
}

// memory holds what was found out about credentials. It is safe for concurrent
// use. verified needs no bound of its own: for each hash in the document there
// is one password.
type memory struct {
	mu       sync.RWMutex // guards all below
	verified map[fingerprint]verification
	refused  map[fingerprint]struct{}
	// order are the refused ones as they came, a ring whose next place to be
	// written is next.
	order []fingerprint
	next  int
}

func newMemory() *memory {
	return &memory{
		verified: map[fingerprint]verification{},
		refused:  map[fingerprint]struct{}{},
	}
}

// recall returns the user of a verified credential, or nil and whether the
// credential was refused.
func (m *memory) recall(f fingerprint) (u *user, refused bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if v, ok := m.verified[f]; ok {
		return v.user, false
	}
	_, refused = m.refused[f]
	return nil, refused
}

// verify remembers a right credential.
func (m *memory) verify(f fingerprint, v verification) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.verified[f] = v
}

// refuse remembers a wrong credential, and forgets the oldest beyond
// maxRefused.
func (m *memory) refuse(f fingerprint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.refused[f]; known {
		return
	}
	m.refused[f] = struct{}{}
	if len(m.order) < maxRefused {
		m.order = append(m.order, f)
		return
	}
	delete(m.refused, m.order[m.next])
	m.order[m.next] = f
	m.next = (m.next + 1) % maxRefused
}

// under returns a memory for other users: of the verified credentials those
// whose hash a user of the same name still has, as that user now is. Nothing
// is refused yet.
func (m *memory) under(others users) *memory {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := newMemory()
	for f, v := range m.verified {
		if u := others[v.user.name]; u != nil && slices.Contains(u.passwords, v.hash) {
			out.verified[f] = verification{u, v.hash}
		}
	}
	return out
}

// fingerprinter makes fingerprints.
type fingerprinter struct{ key [sha256.Size]byte }

func newFingerprinter() *fingerprinter {
	f := &fingerprinter{}
	rand.Read(f.key[:]) // never fails
	return f
}

// of returns the fingerprint of a credential. A name holds no colon.
func (f *fingerprinter) of(name, password string) (out fingerprint) {
	mac := hmac.New(sha256.New, f.key[:])
	mac.Write([]byte(name + ":" + password))
	mac.Sum(out[:0])
	return out
}
