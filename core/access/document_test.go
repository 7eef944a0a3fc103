package access

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

// aHash is a hash of nothing in particular.
const aHash = "$argon2id$v=19$m=7168,t=5,p=1$MDEyMzQ1Njc4OWFiY2RlZg$J8lM7XPRk6qo4qF4KjLF4u9eqZE6K0bNXnBihF5axU8"

func TestDocument(t *testing.T) {
	d, err := parseDocument([]byte(`{"users": {
		"dashboard": {"role": "read", "passwords": ["` + aHash + `"]},
		"shop-team": {"role": "register", "applications": ["shop", "Shop-*"], "passwords": ["` + aHash + `", "` + aHash + `"]},
		"operator": {"role": "admin", "passwords": ["` + aHash + `"]}}}` + "\n"))
	require.NoError(t, err)
	all := d.users
	require.Len(t, all, 3)
	assert.Equal(t, Read, all["dashboard"].role)
	assert.Equal(t, []pattern{"SHOP", "SHOP-*"}, all["shop-team"].applications)
	assert.Nil(t, all["operator"].applications)
	assert.Len(t, all["shop-team"].passwords, 2)
	assert.Equal(t, 2, all.mostPasswords())
}

// TestDocumentsThatAreRefused: each says what is wrong, all faults at once, and
// nothing of a hash.
func TestDocumentsThatAreRefused(t *testing.T) {
	user := func(entry string) string { return `{"users": {"a": ` + strings.ReplaceAll(entry, "HASH", aHash) + `}}` }
	for name, c := range map[string]struct{ document, says string }{
		"empty":                  {``, "the document is empty"},
		"no JSON":                {`{"users": {"a": ` + aHash, "no JSON at byte"},
		"a list":                 {`[]`, "wrong kind of value"},
		"no users":               {`{"users": {}}`, "no users"},
		"something follows":      {user(`{"role": "read", "passwords": ["HASH"]}`) + "{}", "something follows"},
		"misspelt limit":         {user(`{"role": "register", "application": ["A"], "passwords": ["HASH"]}`), "application"},
		"unknown member":         {`{"users": {}, "anonymous": true}`, "anonymous"},
		"no role":                {user(`{"passwords": ["HASH"]}`), "role"},
		"unknown role":           {user(`{"role": "root", "passwords": ["HASH"]}`), "role"},
		"role in capitals":       {user(`{"role": "ADMIN", "passwords": ["HASH"]}`), "role"},
		"admin with a limit":     {user(`{"role": "admin", "applications": ["A"], "passwords": ["HASH"]}`), "applications"},
		"reader with a limit":    {user(`{"role": "read", "applications": ["A"], "passwords": ["HASH"]}`), "applications"},
		"limit to none":          {user(`{"role": "register", "applications": [], "passwords": ["HASH"]}`), "applications"},
		"limit to an empty name": {user(`{"role": "register", "applications": [""], "passwords": ["HASH"]}`), "applications"},
		"no password":            {user(`{"role": "read", "passwords": []}`), "passwords"},
		"too many passwords":     {user(`{"role": "read", "passwords": ["HASH","HASH","HASH","HASH","HASH"]}`), "passwords"},
		"password as it is":      {user(`{"role": "read", "passwords": ["HASH", "plain secret"]}`), "number 2"},
		"password is a number":   {user(`{"role": "read", "passwords": [123456]}`), "wrong kind of value"},
		"empty name":             {`{"users": {"": {"role": "read", "passwords": ["` + aHash + `"]}}}`, "name"},
		"name with a colon":      {`{"users": {"a:b": {"role": "read", "passwords": ["` + aHash + `"]}}}`, "name"},
		"name with a line":       {`{"users": {"a\nb": {"role": "read", "passwords": ["` + aHash + `"]}}}`, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseDocument([]byte(c.document))
			require.ErrorContains(t, err, c.says)
			for _, secret := range []string{"J8lM7XPRk6qo", "MDEyMzQ1", "plain secret", "123456"} {
				assert.NotContains(t, err.Error(), secret)
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := parseDocument([]byte(`{"users": {"a": {"role": "x", "passwords": []}, "b": {"role": "read", "passwords": ["y"]}}}`))
	for _, text := range []string{`user "a"`, "role", "passwords", `user "b"`, "number 1"} {
		assert.ErrorContains(t, err, text)
	}
}

func TestMay(t *testing.T) {
	limited := &user{role: Register, applications: []pattern{"SHOP", "CART-*"}}
	for _, c := range []struct {
		name string
		user *user
		need Level
		app  string
		may  bool
	}{
		{"a reader reads", &user{role: Read}, LevelRead, "SHOP", true},
		{"a reader changes nothing", &user{role: Read}, LevelRegister, "SHOP", false},
		{"register reads", &user{role: Register}, LevelRead, "SHOP", true},
		{"register registers", &user{role: Register}, LevelRegister, "SHOP", true},
		{"register is no peer", &user{role: Register}, LevelAdmin, "", false},
		{"admin registers", &user{role: Admin}, LevelRegister, "SHOP", true},
		{"admin is a peer", &user{role: Admin}, LevelAdmin, "", true},
		{"one's own application", limited, LevelRegister, "SHOP", true},
		{"one's own by a pattern", limited, LevelRegister, "CART-EU", true},
		{"another's application", limited, LevelRegister, "SHOP-2", false},
		{"no application", limited, LevelRegister, "", false},
		{"everything is read", limited, LevelRead, "BILLING", true},
		{"no role", &user{}, LevelRead, "SHOP", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.user.may(c.need, c.app)
			if c.may {
				assert.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, eureka.ErrForbidden)
		})
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		matches       bool
	}{
		{"shop", "SHOP", true}, {"SHOP", "SHOP-2", false}, {"SHOP", "MYSHOP", false}, {"SHOP", "", false},
		{"SHOP-*", "SHOP-2", true}, {"SHOP-*", "SHOP-", true}, {"SHOP-*", "SHOP", false}, {"SHOP-*", "MYSHOP-2", false},
		{"*-TEST", "SHOP-TEST", true}, {"*-TEST", "SHOP-TEST-2", false},
		{"*", "", true}, {"*", "ANYTHING/AT ALL", true}, {"**", "X", true},
		{"A*B*C", "ABC", true}, {"A*B*C", "AXBXBXC", true}, {"A*B*C", "ACB", false}, {"A*BA", "ABA", true}, {"A*A", "A", false}, {"*AB*AB", "AB", false},
		{"SH?P", "SHOP", false}, {"SH[O]P", "SHOP", false}, {"SH.P", "SHOP", false}, {`SH\*`, `SHOP`, false},
		{"straße", "STRASSE", false}, {"straße", "STRAßE", true},
	} {
		assert.Equal(t, c.matches, newPattern(c.pattern).matches(c.name), "%s and %s", c.pattern, c.name)
	}
}

// FuzzPattern compares with a definition that is plain but slow.
func FuzzPattern(f *testing.F) {
	f.Add("A*B*C", "AXBXC")
	f.Add("**", "")
	f.Fuzz(func(t *testing.T, text, name string) {
		if len(text) > 12 || len(name) > 12 {
			return
		}
		p := newPattern(text)
		assert.Equal(t, plain(string(p), name), p.matches(name), "%q and %q", p, name)
	})
}

func plain(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] != '*':
		return name != "" && name[0] == pattern[0] && plain(pattern[1:], name[1:])
	}
	return plain(pattern[1:], name) || name != "" && plain(pattern, name[1:])
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"users": {"a": {"role": "register", "applications": ["A*"], "passwords": ["` + aHash + `"]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parseDocument(data)
		if err != nil {
			return
		}
		require.True(t, json.Valid(data))
		for _, u := range d.users {
			assert.Positive(t, u.role.level())
			assert.NotEmpty(t, u.passwords)
		}
	})
}
