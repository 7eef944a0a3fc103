package access

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

// TestRegionLogins: the document may hold logins for other regions, which are
// never printed and follow the document when it changes.
func TestRegionLogins(t *testing.T) {
	user := `"users": {"a": {"role": "read", "passwords": ["` + aHash + `"]}}`
	d, err := parseDocument([]byte(`{` + user + `, "regions": {"us-west-2": {"user": "reader", "password": "secret: word"}}}`))
	require.NoError(t, err)
	login := d.regions["us-west-2"]
	assert.Equal(t, "reader", login.User)
	assert.Equal(t, "secret: word", login.Password)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		assert.NotContains(t, fmt.Sprintf(format, login), "word", format)
		assert.NotContains(t, fmt.Sprintf(format, d.regions), "word", format)
	}
	for name, c := range map[string]struct{ regions, says string }{
		"no user":           {`{"west": {"password": "secret"}}`, `region "west": user`},
		"user with a colon": {`{"west": {"user": "a:b", "password": "secret"}}`, `region "west": user`},
		"no password":       {`{"west": {"user": "a"}}`, `region "west": password`},
		"empty name":        {`{"": {"user": "a", "password": "secret"}}`, "empty name"},
		"unknown member":    {`{"west": {"user": "a", "pasword": "secret"}}`, "pasword"},
		"a text":            {`{"west": "a:secret"}`, "wrong kind of value"},
		"all faults":        {`{"east": {"user": "a"}, "west": {"user": "a"}}`, `region "west"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseDocument([]byte(`{` + user + `, "regions": ` + c.regions + `}`))
			require.ErrorContains(t, err, c.says)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

// TestRegionLoginFollowsTheDocument: a rotated password is used as soon as the
// document is read again, also when the users are the same.
func TestRegionLoginFollowsTheDocument(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, entry("agent", Read, "right"))
		_, found, err := f.guard.Region(t.Context(), "west")
		require.NoError(t, err)
		assert.False(t, found)
		for _, password := range []string{"old", "new"} {
			f.mu.Lock()
			f.document = `{"users": {` + entry("agent", Read, "right") + `}, "regions": {"west": {"user": "reader", "password": "` + password + `"}}}`
			f.mu.Unlock()
			<-time.After(DefaultMaxAge)
			login, found, err := f.guard.Region(t.Context(), "west")
			require.NoError(t, err)
			assert.True(t, found)
			assert.Equal(t, password, login.Password)
		}
	})
}

// TestRegionLoginWithoutADocument: nothing is sent while the logins are unknown.
func TestRegionLoginWithoutADocument(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t)
		f.fails(errors.New("no secret"))
		_, _, err := f.guard.Region(t.Context(), "west")
		assert.ErrorIs(t, err, eureka.ErrUnavailable)
	})
}
