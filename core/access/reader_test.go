package access

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

// TestReadAgainByAge: every five minutes, by a request.
func TestReadAgainByAge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "old"))
		require.NoError(t, f.ask("agent", "old"))
		f.users(entry("agent", Read, "new"))

		<-time.After(DefaultMaxAge - time.Second)
		assert.NoError(t, f.ask("agent", "old"))
		readings, _ := f.counts()
		assert.Equal(t, 1, readings)

		<-time.After(time.Second)
		assert.ErrorIs(t, f.ask("agent", "old"), eureka.ErrUnauthenticated, "what was verified counts no longer")
		assert.NoError(t, f.ask("agent", "new"))
		readings, _ = f.counts()
		assert.LessOrEqual(t, readings, 3)
	})
}

// TestUnchangedDocument: what was verified and refused stays so.
func TestUnchangedDocument(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		for range 5 {
			assert.NoError(t, f.ask("agent", "right"))
			assert.Error(t, f.ask("agent", "wrong"))
			<-time.After(DefaultMaxAge)
		}
		_, hashes := f.counts()
		assert.Equal(t, 2, hashes)
	})
}

// TestRotation: a new password is valid as soon as somebody uses it, together
// with the old one, which is refused after the document has it no longer. A
// credential that stays is not hashed again.
func TestRotation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "old"), entry("other", Read, "same"))
		require.NoError(t, f.ask("agent", "old"))
		require.NoError(t, f.ask("other", "same"))
		require.Error(t, f.ask("agent", "new"), "refused before it is there")

		f.users(entry("agent", Admin, "old", "new"), entry("other", Read, "same"))
		assert.NoError(t, f.ask("agent", "new"), "though it was refused")
		assert.NoError(t, f.ask("agent", "old"))
		err := f.guard.Admit(request("agent", "old", "192.0.2.1:1"), LevelAdmin, "")
		assert.NoError(t, err, "the role is the new one too")

		_, before := f.counts()
		assert.NoError(t, f.ask("other", "same"))
		_, after := f.counts()
		assert.Equal(t, before, after)

		f.users(entry("agent", Read, "new"))
		<-time.After(DefaultMaxAge)
		assert.NoError(t, f.ask("agent", "new"))
		assert.ErrorIs(t, f.ask("agent", "old"), eureka.ErrUnauthenticated)
		assert.ErrorIs(t, f.ask("other", "same"), eureka.ErrUnauthenticated, "a user who is gone")
	})
}

// TestWrongCredentialsReadRarely: they are no way to make the process read.
func TestWrongCredentialsReadRarely(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		require.NoError(t, f.guard.Load(t.Context()))
		for range 1000 {
			<-time.After(100 * time.Millisecond)
			f.ask("agent", "wrong")
		}
		readings, _ := f.counts()
		assert.InDelta(t, 1+earlyBurst+10, readings, 1, "in 100 s")
	})
}

// TestAReadingThatFails keeps what there is, and is not repeated at once.
func TestAReadingThatFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		require.NoError(t, f.ask("agent", "right"))
		for name, fail := range map[string]func(){
			"unreadable":     func() { f.fails(errors.New("throttled")) },
			"no document":    func() { f.users("x") },
			"not understood": func() { f.users(`"agent": {"role": "x", "passwords": []}`) },
		} {
			fail()
			<-time.After(DefaultMaxAge)
			before, _ := f.counts()
			for range 10 {
				<-time.After(time.Second)
				assert.NoError(t, f.ask("agent", "right"), name)
			}
			after, _ := f.counts()
			assert.Equal(t, 1, after-before, name)
			assert.Contains(t, f.log.String(), "could not be read")
			f.log.Reset()
		}
		f.users(entry("agent", Read, "newer"))
		<-time.After(failurePause)
		assert.NoError(t, f.ask("agent", "newer"))
	})
}

// TestNoCredentialsNoEntry: while there is nothing to compare with, nobody gets
// through, the source is asked once a second, and the first reading that
// succeeds counts.
func TestNoCredentialsNoEntry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		f.fails(errors.New("access denied"))
		assert.ErrorContains(t, f.guard.Load(t.Context()), "access denied")
		for range 20 {
			<-time.After(100 * time.Millisecond)
			assert.ErrorIs(t, f.ask("agent", "right"), eureka.ErrUnavailable)
		}
		readings, _ := f.counts()
		assert.Equal(t, 3, readings)
		f.users(entry("agent", Read, "right"))
		<-time.After(time.Second)
		assert.NoError(t, f.ask("agent", "right"))
	})
}

// TestASlowSource: a reading that is due holds up one request, not the others;
// and it is done for all, also when its request ends.
func TestASlowSource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		require.NoError(t, f.ask("agent", "right"))
		<-time.After(DefaultMaxAge)
		f.guard.reader.source = func(ctx context.Context) ([]byte, error) {
			select {
			case <-time.After(2 * time.Second):
				return f.read(ctx)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		held := make(chan error)
		go func() {
			held <- f.guard.Admit(request("agent", "right", "192.0.2.1:1").WithContext(ctx), LevelRead, "")
		}()
		<-time.After(time.Second)
		cancel()
		begin := time.Now()
		assert.NoError(t, f.ask("agent", "right"))
		assert.Zero(t, time.Since(begin), "not held up")
		assert.NoError(t, <-held)
		readings, _ := f.counts()
		assert.Equal(t, 2, readings)
	})
}

// TestASourceThatHangs is given up, and waiting for it ends with the request.
func TestASourceThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		f.guard.reader.source = func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("hung: %w", ctx.Err())
		}
		go f.ask("agent", "right")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		<-time.After(time.Millisecond)
		begin := time.Now()
		err := f.guard.Admit(request("agent", "right", "192.0.2.1:1").WithContext(ctx), LevelRead, "")
		assert.ErrorIs(t, err, eureka.ErrUnavailable)
		assert.Less(t, time.Since(begin), time.Second)
		<-time.After(readTimeout)
		assert.ErrorIs(t, f.guard.Load(t.Context()), eureka.ErrUnavailable)
	})
}

func TestAGuardWithoutASourceAdmitsNobody(t *testing.T) {
	err := New(Config{}).Admit(request("agent", "right", "192.0.2.1:1"), LevelRead, "")
	assert.ErrorIs(t, err, eureka.ErrUnavailable)
}
