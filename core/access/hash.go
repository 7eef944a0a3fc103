package access

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost of a hash: the smallest memory among the equivalent choices that
// OWASP's cheat sheet for password storage has for Argon2id. The choice is
// made for a function's container, which has 128 to 256 MB and with them a
// fourteenth to a seventh of a processor, and hashes each credential once in
// its life. Processor time of one hash on the same machine: Argon2id as here
// 28 ms, scrypt (N=2^14, r=8) 59 ms, bcrypt (cost 10) 72 ms, PBKDF2 (SHA-256,
// 600,000 rounds) 150 ms; and against somebody who has the document and
// graphics processors, bcrypt and PBKDF2 are the weaker ones, since they need
// no memory.
const (
	hashMemory = 7 << 10 // KiB
	hashPasses = 5
	hashLanes  = 1
	saltSize   = 16
	keySize    = 32
)

// hashPrefix begins every hash in the document: algorithm and cost, in the form
// that other tools write too. Hashes of another cost are refused: the time that
// a wrong password takes would tell whether there is such a user.
const hashPrefix = "$argon2id$v=19$m=7168,t=5,p=1$"

// minPassword is the length of the shortest password, in characters.
const minPassword = 12

// hash is a salted hash of a password.
type hash struct {
	salt [saltSize]byte
	key  [keySize]byte
}

// Hash returns the salted hash of a password as the document has it. Only
// printable ASCII is taken, since clients differ in how they send anything
// else.
func Hash(password string) (string, error) {
	if len(password) < minPassword {
		return "", fmt.Errorf("the password is shorter than %d characters", minPassword)
	}
	if strings.ContainsFunc(password, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", errors.New("the password has other than printable ASCII characters, which clients send in different encodings")
	}
	var h hash
	rand.Read(h.salt[:]) // never fails
	h.key = h.derive(password)
	return hashPrefix + encode(h.salt[:]) + "$" + encode(h.key[:]), nil
}

// parseHash reads what [Hash] wrote. The error does not say what was read.
func parseHash(text string) (hash, error) {
	var h hash
	rest, ok := strings.CutPrefix(text, hashPrefix)
	if !ok {
		return h, fmt.Errorf("not a hash that begins with %s", hashPrefix)
	}
	salt, key, _ := strings.Cut(rest, "$")
	if !decodeInto(h.salt[:], salt) || !decodeInto(h.key[:], key) {
		return h, errors.New("a hash that is damaged")
	}
	return h, nil
}

func encode(data []byte) string { return base64.RawStdEncoding.EncodeToString(data) }

// decodeInto fills dst from exactly what encode makes of it, or reports false.
func decodeInto(dst []byte, text string) bool {
	data, err := base64.RawStdEncoding.DecodeString(text)
	return err == nil && copy(dst, data) == len(dst) && encode(dst) == text
}

// derive computes the key of a password. It allocates hashMemory.
func (h hash) derive(password string) [keySize]byte {
	return [keySize]byte(argon2.IDKey([]byte(password), h.salt[:], hashPasses, hashMemory, hashLanes, keySize))
}

// matches reports whether the hash is of the password, in constant time.
func (h hash) matches(password string) bool {
	key := h.derive(password)
	return subtle.ConstantTimeCompare(key[:], h.key[:]) == 1
}

// Format keeps a hash out of everything that is printed.
func (hash) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "hash") }
