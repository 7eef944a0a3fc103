package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

// fixture is a guard over a document that a test may change, in fake time, with
// a hash that costs nothing: a password's hash is the password.
type fixture struct {
	t     *testing.T
	guard *Guard
	log   bytes.Buffer

	mu       sync.Mutex // guards all below
	document string
	err      error
	readings int
	hashes   int
}

// plainHash is the text of a fixture's hash of a password.
func plainHash(password string) hash {
	var h hash
	copy(h.key[:], password)
	return h
}

func hashText(password string) string {
	h := plainHash(password)
	return hashPrefix + encode(h.salt[:]) + "$" + encode(h.key[:])
}

// entry is a user of a fixture's document.
func entry(name string, role Role, passwords ...string) string {
	var texts []string
	for _, p := range passwords {
		texts = append(texts, hashText(p))
	}
	list, _ := json.Marshal(texts) // texts always encode
	return fmt.Sprintf(`%q: {"role": %q, "passwords": %s}`, name, role, list)
}

// newFixture returns a guard of some users; it must be called in a bubble.
func newFixture(t *testing.T, entries ...string) *fixture {
	f := &fixture{t: t}
	f.users(entries...)
	f.guard = New(Config{
		Source: f.read,
		Logger: slog.New(slog.NewJSONHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	f.guard.matches = func(h hash, password string) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.hashes++
		return h == plainHash(password)
	}
	return f
}

func (f *fixture) users(entries ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.document, f.err = `{"users": {`+strings.Join(entries, ",")+`}}`, nil
}

func (f *fixture) fails(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fixture) read(context.Context) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readings++
	return []byte(f.document), f.err
}

// counts returns what was done so far.
func (f *fixture) counts() (readings, hashes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readings, f.hashes
}

// request has credentials, from an address.
func request(name, password, address string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://registry.example.org/eureka/apps", nil)
	r.RemoteAddr = address
	r.SetBasicAuth(name, password)
	return r
}

// ask asks for reading, from one address.
func (f *fixture) ask(name, password string) error {
	return f.guard.Admit(request(name, password, "192.0.2.1:1000"), LevelRead, "")
}

// bubble runs a test in fake time.
func bubble(t *testing.T, test func(*testing.T)) { t.Helper(); synctest.Test(t, test) }

func TestAdmit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Register, "right"))
		assert.NoError(t, f.ask("agent", "right"))
		assert.ErrorIs(t, f.ask("agent", "wrong"), eureka.ErrUnauthenticated)
		assert.ErrorIs(t, f.ask("nobody", "right"), eureka.ErrUnauthenticated)
		assert.ErrorIs(t, f.ask("", ""), eureka.ErrUnauthenticated)
		assert.ErrorIs(t, f.ask("AGENT", "right"), eureka.ErrUnauthenticated)
		r := request("agent", "right", "192.0.2.1:1000")
		assert.NoError(t, f.guard.Admit(r, LevelRegister, "SHOP"))
		assert.ErrorIs(t, f.guard.Admit(r, LevelAdmin, ""), eureka.ErrForbidden)
	})
}

func TestHeadersThatAreNoCredentials(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Admin, "right"))
		good := request("agent", "right", "192.0.2.1:1000").Header.Get("Authorization")
		for name, values := range map[string][]string{
			"none":         nil,
			"empty":        {""},
			"no scheme":    {strings.TrimPrefix(good, "Basic ")},
			"bearer":       {"Bearer " + strings.TrimPrefix(good, "Basic ")},
			"not base64":   {"Basic ???"},
			"no colon":     {"Basic YWdlbnQ="},
			"two":          {good, "Basic eDp5"},
			"two the same": {good, good},
			"joined":       {good + "," + good},
		} {
			r := httptest.NewRequest(http.MethodGet, "/eureka/apps", nil)
			r.Header["Authorization"] = values
			assert.ErrorIs(t, f.guard.Admit(r, LevelRead, ""), eureka.ErrUnauthenticated, name)
		}
		readings, hashes := f.counts()
		assert.Zero(t, readings, "nothing to compare")
		assert.Zero(t, hashes)
	})
}

// TestVerifiedOnce: a credential is hashed once, and a wrong one too.
func TestVerifiedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		for range 100 {
			assert.NoError(t, f.ask("agent", "right"))
			assert.ErrorIs(t, f.ask("agent", "wrong"), eureka.ErrUnauthenticated)
		}
		_, hashes := f.counts()
		assert.Equal(t, 2, hashes)
	})
}

// TestCallersTogether: many that come at once with one credential cost one
// hash, and none is told to come later.
func TestCallersTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		inner := f.guard.matches
		f.guard.matches = func(h hash, password string) bool {
			<-time.After(30 * time.Millisecond)
			return inner(h, password)
		}
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() { assert.NoError(t, f.ask("agent", "right")) })
		}
		all.Wait()
		readings, hashes := f.counts()
		assert.Equal(t, 1, readings)
		assert.Equal(t, 1, hashes)
	})
}

// TestCallersTogetherAreToldApart: nobody is let in by another's credentials
// that are checked at the same moment.
func TestCallersTogetherAreToldApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"), entry("operator", Admin, "right"))
		inner := f.guard.matches
		f.guard.matches = func(h hash, password string) bool {
			<-time.After(30 * time.Millisecond)
			return inner(h, password)
		}
		var all sync.WaitGroup
		for _, c := range []struct {
			name, password string
			want           error
		}{
			{"operator", "right", nil}, {"operator", "wrong", eureka.ErrUnauthenticated},
			{"agent", "right", eureka.ErrForbidden}, {"nobody", "right", eureka.ErrUnauthenticated},
		} {
			for range 3 {
				r := request(c.name, c.password, "192.0.2.1:1000")
				all.Go(func() { assert.ErrorIs(t, f.guard.Admit(r, LevelAdmin, "SHOP"), c.want, c.name) })
			}
		}
		all.Wait()
	})
}

// TestOneHashAtATime bounds the memory, whatever comes at once.
func TestOneHashAtATime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		var under, most atomic.Int32
		f.guard.matches = func(hash, string) bool {
			most.Store(max(most.Load(), under.Add(1)))
			<-time.After(30 * time.Millisecond)
			under.Add(-1)
			return false
		}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() { assert.ErrorIs(t, f.ask("agent", fmt.Sprint(i)), eureka.ErrUnauthenticated) })
		}
		all.Wait()
		assert.EqualValues(t, 1, most.Load())
	})
}

// TestUnknownUserAndWrongPasswordCostTheSame, and answer the same, also while
// a user has two passwords.
func TestUnknownUserAndWrongPasswordCostTheSame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("one", Read, "a"), entry("three", Read, "b", "c", "d"))
		require.NoError(t, f.guard.Load(t.Context()))
		var errs []error
		for _, name := range []string{"one", "three", "nobody"} {
			_, before := f.counts()
			errs = append(errs, f.ask(name, "wrong"))
			_, after := f.counts()
			assert.Equal(t, 3, after-before, name)
		}
		assert.Equal(t, errs[0], errs[1])
		assert.Equal(t, errs[0], errs[2])
	})
}

func TestBruteForceIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"), entry("new", Read, "also right"))
		require.NoError(t, f.ask("agent", "right"))
		limited := 0
		for i := range 1000 {
			<-time.After(10 * time.Millisecond)
			err := f.ask("agent", fmt.Sprint("guess ", i))
			var late *eureka.RateLimitedError
			if errors.As(err, &late) {
				limited++
				assert.Positive(t, late.After)
			} else {
				assert.ErrorIs(t, err, eureka.ErrUnauthenticated)
			}
			assert.NoError(t, f.ask("agent", "right"), "who is known is not held up")
		}
		_, hashes := f.counts()
		assert.InDelta(t, addressBurst+10*addressRate, hashes, 2, "in 10 s from one address")
		assert.Equal(t, 1000-hashes+1, limited)
		r := request("new", "also right", "198.51.100.1:1000")
		assert.NoError(t, f.guard.Admit(r, LevelRead, ""), "nor a new one from elsewhere")
	})
}

func TestBruteForceFromManyAddressesIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		for i := range 10_000 {
			<-time.After(time.Millisecond)
			r := request("agent", fmt.Sprint("guess ", i), fmt.Sprintf("10.%d.%d.1:1000", i/256, i%256))
			assert.Error(t, f.guard.Admit(r, LevelRead, ""))
		}
		_, hashes := f.counts()
		assert.LessOrEqual(t, float64(hashes), totalBurst+10*totalRate, "in 10 s from all")
	})
}

func TestRefusedCredentialsAreBounded(t *testing.T) {
	m := newMemory()
	prints := newFingerprinter()
	for i := range 3 * maxRefused {
		m.refuse(prints.of("agent", fmt.Sprint(i)))
	}
	m.refuse(prints.of("agent", fmt.Sprint(3*maxRefused-1)))
	assert.Len(t, m.refused, maxRefused)
	assert.Len(t, m.order, maxRefused)
	_, refused := m.recall(prints.of("agent", fmt.Sprint(3*maxRefused-1)))
	assert.True(t, refused)
	_, refused = m.recall(prints.of("agent", fmt.Sprint(2*maxRefused)))
	assert.True(t, refused, "the newest ones are kept")
	_, refused = m.recall(prints.of("agent", "0"))
	assert.False(t, refused)
}

// TestFingerprintsAreOfThisProcess: they tell nothing without the key, and tell
// every credential from every other.
func TestFingerprintsAreOfThisProcess(t *testing.T) {
	a, b := newFingerprinter(), newFingerprinter()
	assert.Equal(t, a.of("x", "y"), a.of("x", "y"))
	assert.NotEqual(t, a.of("x", "y"), b.of("x", "y"))
	assert.NotEqual(t, a.of("x", "y"), a.of("xy", ""))
	assert.NotEqual(t, a.of("x", "y:z"), a.of("x", "yz"))
}

func TestSourceOfARequest(t *testing.T) {
	for address, want := range map[string]source{
		"192.0.2.1:80":                 {"192.0.2.1", "192.0.0.0/16"},
		"[::ffff:192.0.2.1]:80":        {"192.0.2.1", "192.0.0.0/16"},
		"[2001:db8:1:2:3:4:5:6]:80":    {"2001:db8:1:2::/64", "2001:db8::/32"},
		"[2001:db8:1:2:ffff::1%e0]:80": {"2001:db8:1:2::/64", "2001:db8::/32"},
		"":                             {},
		"@":                            {},
	} {
		r := &http.Request{RemoteAddr: address, Header: http.Header{"X-Forwarded-For": {"203.0.113.9"}}}
		assert.Equal(t, want, sourceOf(r), address)
	}
}

func TestNothingSecretIsPrinted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right-password"))
		require.NoError(t, f.ask("agent", "right-password"))
		require.Error(t, f.ask("agent", "wrong-password"))
		u := f.guard.reader.current.Load().users["agent"]
		printed := f.log.String()
		for _, v := range []any{f.guard, u, *u, u.passwords, f.guard.reader.current.Load().users} {
			printed += fmt.Sprintf("%v %+v %#v %s %x %d", v, v, v, v, v, v)
		}
		secret := plainHash("right-password")
		for _, text := range []string{"right-password", "wrong-password", encode(secret.key[:]), fmt.Sprintf("%x", secret.key[:8]), "114 105 103"} {
			assert.NotContains(t, printed, text)
		}
		assert.Contains(t, f.log.String(), "credentials refused")
	})
}

// BenchmarkAdmit is what a heartbeat costs.
func BenchmarkAdmit(b *testing.B) {
	text, err := Hash("correct horse battery")
	require.NoError(b, err)
	guard := New(Config{
		Logger: slog.New(slog.DiscardHandler),
		Source: func(context.Context) ([]byte, error) {
			return []byte(`{"users": {"agent": {"role": "register", "applications": ["SHOP-*"], "passwords": ["` + text + `"]}}}`), nil
		},
	})
	r := request("agent", "correct horse battery", "192.0.2.1:1000")
	b.ReportAllocs()
	for b.Loop() {
		if err := guard.Admit(r, LevelRegister, "SHOP-EU"); err != nil {
			b.Fatal(err)
		}
	}
}
