package boot_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// TestUnreadSettingsAreFaults: a variable that is named like a setting but that
// nobody reads is a fault that names the nearest setting. (Case H37.)
func TestUnreadSettingsAreFaults(t *testing.T) {
	for _, c := range []struct {
		variable string
		user     boot.User
		want     string
	}{
		{"REGISTRY_CHACHE_REFRESH=5s", boot.Local, "REGISTRY_CHACHE_REFRESH is not read: there is no such setting; the nearest is REGISTRY_CACHE_REFRESH"},
		{"REGISTRY_CACHE_REFRESH_=5s", boot.Local, "nearest is REGISTRY_CACHE_REFRESH"},
		{"REGISTRY_CACHEREFRESH=5s", boot.Read, "nearest is REGISTRY_CACHE_REFRESH"},
		{"registry_listen=:1", boot.Local, "nearest is REGISTRY_LISTEN"},
		{"Registry_Listen=:1", boot.Local, "nearest is REGISTRY_LISTEN"},
		{"REGISTY_LISTEN=:1", boot.Local, "nearest is REGISTRY_LISTEN"},
		{"REGISTRYLISTEN=:1", boot.Local, "nearest is REGISTRY_LISTEN"},
		{"REGISTRY_PORT=8761", boot.Local, "there is no such setting"},
		{"REGISTRY_=x", boot.Local, "there is no such setting"},
		{"REGISTRY_SELF_PRESERVATION_ENABLED=false", boot.Local, "nearest is REGISTRY_SELF_PRESERVATION"},
		{"REGISTRY_STREAMING=true", boot.Local, "REGISTRY_STREAMING is not read by the local process, only by the function api"},
		{"REGISTRY_CREDENTIALS_SECRET=arn:x", boot.Local, ""},
		{"REGISTRY_CREDENTIALS_FILE=c.json", boot.Write, "REGISTRY_CREDENTIALS_FILE is not read by the function write, only by the local process; the nearest setting is REGISTRY_CREDENTIALS_SECRET"},
		{"REGISTRY_STREAMING=true", boot.Local, "REGISTRY_STREAMING is not read by the local process, only by the function api"},
		{"REGISTRY_CACHE_REFRESH=5s", boot.Evict, "is not read by the function evict"},
		{"REGISTRY_LISTEN=:1", boot.Stream, "is not read by the function stream, only by the local process"},
		{"REGISTRY_CACHE_REFRESH=5s", boot.Local, ""},
		{"REGISTRY_CHACHE_REFRESH=", boot.Local, ""},
		{"REGISTRY_CREDENTIALS_SECRET=arn:x", boot.Read, ""},
		{"REGISTRY_TEST_REQUIRE_ALL=1", boot.Local, ""},
		{"REGISTRY_TO_CREDENTIALS=a:b", boot.Local, ""},
		{"REGISTRY_SERVICE_HOST=10.0.0.1", boot.Local, ""},
		{"REGISTRY_SERVICE_PORT_HTTP=8761", boot.Local, ""},
		{"REGISTRY_PORT=tcp://10.0.0.1:8761", boot.Local, ""},
		{"REGISTRY_PORT_8761_TCP_ADDR=10.0.0.1", boot.Local, ""},
		{"AWS_REGION=us-east-1", boot.Stream, ""},
		{"AWS_DEFAULT_REGION=us-east-1", boot.Local, ""},
		{"PATH=/bin", boot.Local, ""},
		{"DOCKER_REGISTRY=x", boot.Local, ""},
		{"=x", boot.Local, ""},
		{"", boot.Local, ""},
	} {
		faults := boot.Unread([]string{c.variable}, c.user, "REGISTRY_TO_CREDENTIALS")
		if c.want == "" {
			assert.Empty(t, faults, c.variable)
			continue
		}
		require.Len(t, faults, 1, c.variable)
		assert.ErrorIs(t, faults[0], boot.ErrUnread)
		assert.ErrorContains(t, faults[0], c.want)
	}
}

// TestEverySettingIsReadSomewhere: of the whole list each user reads what is
// its own, and is told of the rest.
func TestEverySettingIsReadSomewhere(t *testing.T) {
	for _, user := range users {
		for _, s := range boot.Settings() {
			faults := boot.Unread([]string{s.Name + "=x"}, user)
			assert.Equal(t, s.Users.Has(user), len(faults) == 0, "%s by %s", s.Name, user)

			slip := s.Name[:len(s.Name)-2] + s.Name[len(s.Name)-1:]
			if faults := boot.Unread([]string{slip + "=x"}, user); assert.Equal(t, strings.HasPrefix(slip, "REGISTRY_"), len(faults) == 1, slip) &&
				len(faults) == 1 && s.Users.Has(user) {
				assert.ErrorContains(t, faults[0], "the nearest is "+s.Name)
			}
		}
	}
}

// TestFunctionsWarnOfUnreadSettings: on Lambda they are logged. (Case H37.)
func TestFunctionsWarnOfUnreadSettings(t *testing.T) {
	t.Setenv("REGISTRY_CHACHE_REFRESH", "5s")
	t.Setenv("REGISTRY_LISTEN", ":8761")
	var log bytes.Buffer
	_, err := boot.Function(lookup(map[string]string{"REGISTRY_ANONYMOUS": "true", "AWS_REGION": "us-east-1"}), &log, boot.Read)
	require.NoError(t, err)
	for _, want := range []string{`"level":"WARN"`, "REGISTRY_CHACHE_REFRESH is not read", "nearest is REGISTRY_CACHE_REFRESH", "REGISTRY_LISTEN is not read"} {
		assert.Contains(t, log.String(), want)
	}
}

// TestSettingsThatMakeNoSense: each is refused with a reason of its own alone.
// (Case H38.)
func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		name     string
		reason   string
		refused  []string
		accepted []string
	}{
		{"REGISTRY_LISTEN", "host or port is missing; write 127.0.0.1:8921, or :8921", []string{"8921"}, nil},
		{"REGISTRY_LISTEN", "the port is missing", []string{"localhost", "127.0.0.1", "::1", "127.0.0.1:", "example.org"}, nil},
		{"REGISTRY_LISTEN", "the port is not a number", []string{"127.0.0.1:http", "127.0.0.1:65536", ":-1"}, nil},
		{"REGISTRY_LISTEN", "not an address", []string{"http://127.0.0.1:8761", "1:2:3", "[::1:80", "a/b:80"}, nil},
		{"REGISTRY_LISTEN", "", nil, []string{"127.0.0.1:0", "[::1]:8761", "localhost:8761"}},
		{"REGISTRY_ENGINE_LISTEN", "host or port is missing", []string{"8000"}, []string{"127.0.0.1:8000", ":8000"}},
		{"REGISTRY_EVICTION_INTERVAL", "shorter than 1s", []string{"1ms", "999ms"}, []string{"1s", "0s", "60s"}},
		{"REGISTRY_EVICTION_INTERVAL", "not a duration", []string{"1ns", "1", "-1s", "1d", "NaN"}, nil},
		{"REGISTRY_CACHE_REFRESH", "shorter than 1s", []string{"1ms", "10ms"}, []string{"1s", "0s", "30s"}},
		{"REGISTRY_RENEWAL_THRESHOLD", "not a number between 0 and 1", []string{"NaN", "nan", "0", "1", "-0.5", "Inf", "-Inf", "85%"}, []string{"0.85", "0.001"}},
		{"REGISTRY_RATE_LIMIT", "not a number above 0", []string{"NaN", "Inf", "0"}, []string{"2.5"}},
		{"REGISTRY_LEASE_TABLE", "not the name of a table", []string{"bad name!", "ab", "a/b", "tëst", strings.Repeat("x", 256)}, []string{"eureka-leases", "a.b_c-1"}},
		{"REGISTRY_DELTA_TABLE", "not the name of a table", []string{"bad name!", "x"}, []string{"eureka-deltas"}},
		{"AWS_REGION", "not a region", []string{"us east", "us-east-1.example.org/", "-x"}, []string{"us-east-1", "us-gov-west-1"}},
		{"AWS_ENDPOINT_URL_DYNAMODB", "not a URL", []string{"http://:8000", "http://127.0.0.1:99999", "127.0.0.1:8000", "ftp://a"}, []string{"http://127.0.0.1:8000", "https://dynamodb.eu-west-1.amazonaws.com"}},
	} {
		load := func(value string) error {
			_, err := boot.Load(lookup(map[string]string{c.name: value}), boot.Local)
			return err
		}
		for _, value := range c.refused {
			err := load(value)
			require.Error(t, err, "%s=%s", c.name, value)
			assert.ErrorContains(t, err, c.name+"=")
			assert.ErrorContains(t, err, c.reason)
			assert.NotContains(t, err.Error(), "\n", "one fault, one line")
		}
		for _, value := range c.accepted {
			assert.NoError(t, load(value), "%s=%s", c.name, value)
		}
	}
}
