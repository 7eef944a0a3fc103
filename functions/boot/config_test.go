package boot_test

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eviction"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/storage/dynamodb"
)

// lookup finds variables in a map.
func lookup(env map[string]string) boot.Lookup {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

var users = []boot.User{boot.Write, boot.Read, boot.Stream, boot.Evict, boot.Local}

const aSecret = "arn:aws:secretsmanager:eu-west-3:123456789012:secret:eureka"

// open is the least that a function must be told.
var open = map[string]string{"REGISTRY_ANONYMOUS": "true"}

func TestDefaults(t *testing.T) {
	cfg, err := boot.Load(lookup(open), boot.Evict)
	require.NoError(t, err)
	assert.Equal(t, dynamodb.DefaultLeaseTable, cfg.LeaseTable)
	assert.Equal(t, dynamodb.DefaultDeltaTable, cfg.DeltaTable)
	assert.Equal(t, 30*time.Second, cfg.CacheRefresh)
	assert.Equal(t, view.DefaultRetention, cfg.DeltaRetention)
	assert.Equal(t, registry.DefaultOverrideKept, cfg.OverrideKept)
	assert.EqualValues(t, httpapi.DefaultMaxBody, cfg.MaxBody)
	assert.Equal(t, slog.LevelInfo, cfg.LogLevel)
	want := eviction.DefaultPolicy()
	want.ClockAllowance = 5 * time.Second
	assert.Equal(t, want, cfg.Eviction)
	assert.Equal(t, eviction.DefaultConfig().Interval, cfg.EvictionInterval)
	assert.NoError(t, cfg.Eviction.Validate())
	assert.Empty(t, cfg.Changed())
}

func TestLocalDefaults(t *testing.T) {
	cfg, err := boot.Load(lookup(nil), boot.Local)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:8761", cfg.Listen)
	assert.Equal(t, eviction.DefaultPolicy(), cfg.Eviction, "one machine has one clock")
	assert.True(t, cfg.Anonymous)
	assert.True(t, cfg.AnonymousByDefault)
}

// TestEverySettingIsRead: each setting changes the configuration of its users,
// is among the changed ones, and does nothing for others.
func TestEverySettingIsRead(t *testing.T) {
	values := map[string]string{
		"REGISTRY_LISTEN": "[::1]:9000", "REGISTRY_LOCAL_EVENTS": "true", "REGISTRY_ENGINE_LISTEN": "127.0.0.1:8000",
		"REGISTRY_BACKGROUND": "false",
		"AWS_REGION":          "eu-west-3", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8000",
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS": "http://127.0.0.1:8001",
		"REGISTRY_LEASE_TABLE":              "leases.a", "REGISTRY_DELTA_TABLE": "deltas.b",
		"REGISTRY_CACHE_REFRESH": "0s", "REGISTRY_DELTA_RETENTION": "5m", "REGISTRY_EVICTION_INTERVAL": "1s",
		"REGISTRY_CLOCK_ALLOWANCE": "7s", "REGISTRY_SELF_PRESERVATION": "false", "REGISTRY_RENEWAL_THRESHOLD": "0.5",
		"REGISTRY_SELF_PRESERVATION_MIN_LEASES": "0", "REGISTRY_SELF_PRESERVATION_MAX": "2h",
		"REGISTRY_RENEWAL_WRITE_INTERVAL": "75s", "REGISTRY_OVERRIDE_KEPT": "2h", "REGISTRY_TTL_GRACE": "48h", "REGISTRY_LIST_MEMORY": "8MiB", "REGISTRY_MAX_BODY": "64KiB", "REGISTRY_MAX_METADATA": "0", "REGISTRY_MAX_INSTANCE": "200KiB", "REGISTRY_MAX_BATCH": "10", "REGISTRY_BODY_MEMORY": "4MiB", "REGISTRY_MAX_INSTANCES_PER_APP": "100",
		"REGISTRY_REGION": "eu", "REGISTRY_REMOTE_REGIONS": "us=http://127.0.0.1:9/eureka", "REGISTRY_MAX_REGION": "1MiB", "REGISTRY_MAX_RESPONSE": "64MiB", "REGISTRY_LOG_LEVEL": "debug",
		"REGISTRY_CREDENTIALS_SECRET": aSecret, "REGISTRY_CREDENTIALS_FILE": "credentials.json", "REGISTRY_ANONYMOUS": "true",
		"REGISTRY_EDGE_CACHING": "true", "REGISTRY_STREAMING": "true", "REGISTRY_ACCESS_LOG": "true", "REGISTRY_RATE_LIMIT": "2.5", "REGISTRY_PRIVILEGED_CLIENTS": "DefaultClient, DefaultServer",
	}
	for _, s := range boot.Settings() {
		value, ok := values[s.Name]
		require.True(t, ok, "%s has a value here", s.Name)
		for _, user := range users {
			env := map[string]string{"REGISTRY_ANONYMOUS": "true"}
			before, err := boot.Load(lookup(env), user)
			require.NoError(t, err)
			env[s.Name] = value
			if s.Users.Has(user) && strings.HasPrefix(s.Name, "REGISTRY_CREDENTIALS_") {
				delete(env, "REGISTRY_ANONYMOUS") // one excludes the other
			}
			after, err := boot.Load(lookup(env), user)
			require.NoError(t, err, s.Name)
			if s.Name == "REGISTRY_ANONYMOUS" {
				continue // it is in both
			}
			if !s.Users.Has(user) {
				assert.True(t, reflect.DeepEqual(before, after), "%s for %s", s.Name, user)
				continue
			}
			assert.False(t, reflect.DeepEqual(before, after), "%s for %s", s.Name, user)
			assert.Contains(t, after.Changed(), boot.Value{Name: s.Name, Value: value}, user)
		}
	}
}

// TestSettingsAreDescribed: the list is complete enough to make a table of.
func TestSettingsAreDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, s := range boot.Settings() {
		assert.NotEmpty(t, s.Meaning, s.Name)
		assert.NotZero(t, s.Users, s.Name)
		assert.False(t, names[s.Name], s.Name)
		names[s.Name] = true
	}
	assert.Equal(t, "write, local", (boot.Write | boot.Local).String())
}

func TestEmptyIsUnset(t *testing.T) {
	cfg, err := boot.Load(lookup(map[string]string{"REGISTRY_LEASE_TABLE": "", "AWS_ENDPOINT_URL_DYNAMODB": "", "REGISTRY_ANONYMOUS": "true"}), boot.Write)
	require.NoError(t, err)
	assert.Equal(t, dynamodb.DefaultLeaseTable, cfg.LeaseTable)
}

// TestAllFaultsAtOnce: every variable that is wrong is named in one error.
func TestAllFaultsAtOnce(t *testing.T) {
	env := map[string]string{
		"REGISTRY_CACHE_REFRESH": "soon", "REGISTRY_DELTA_RETENTION": "0s", "REGISTRY_EVICTION_INTERVAL": "-1s",
		"REGISTRY_RENEWAL_THRESHOLD": "85", "REGISTRY_SELF_PRESERVATION": "yes", "REGISTRY_SELF_PRESERVATION_MIN_LEASES": "-1",
		"REGISTRY_SELF_PRESERVATION_MAX": "0s", "REGISTRY_MAX_BODY": "1GB", "REGISTRY_MAX_METADATA": "1.5", "REGISTRY_MAX_INSTANCE": "2MiB", "REGISTRY_MAX_BATCH": "0",
		"REGISTRY_LOG_LEVEL": "loud", "AWS_ENDPOINT_URL_DYNAMODB": "127.0.0.1:8000",
		"REGISTRY_LEASE_TABLE": "same", "REGISTRY_DELTA_TABLE": "same",
	}
	_, err := boot.Load(lookup(env), boot.Local)
	require.Error(t, err)
	for name := range env {
		assert.ErrorContains(t, err, name)
	}
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	require.True(t, ok)
	assert.Greater(t, len(joined.Unwrap()), 10)
}

func TestFaultsThatNoSettingHasAlone(t *testing.T) {
	tests := map[string]struct {
		user boot.User
		env  map[string]string
		want string
	}{
		"open by accident": {boot.Write, nil, "REGISTRY_CREDENTIALS_SECRET"},
		"reads too":        {boot.Read, map[string]string{"REGISTRY_ANONYMOUS": "false"}, "REGISTRY_CREDENTIALS_SECRET"},
		"retention":        {boot.Read, map[string]string{"REGISTRY_ANONYMOUS": "true", "REGISTRY_CACHE_REFRESH": "2m"}, "REGISTRY_DELTA_RETENTION"},
		"no interval":      {boot.Evict, map[string]string{"REGISTRY_EVICTION_INTERVAL": "0s"}, "REGISTRY_EVICTION_INTERVAL"},
		"open to others":   {boot.Local, map[string]string{"REGISTRY_LISTEN": "0.0.0.0:8761"}, "REGISTRY_ANONYMOUS"},
		"empty is no yes":  {boot.Local, map[string]string{"REGISTRY_LISTEN": "0.0.0.0:8761", "REGISTRY_ANONYMOUS": ""}, "REGISTRY_ANONYMOUS"},
		"closed to all":    {boot.Local, map[string]string{"REGISTRY_ANONYMOUS": "false"}, "REGISTRY_CREDENTIALS_FILE"},
		"open and not":     {boot.Write, map[string]string{"REGISTRY_ANONYMOUS": "true", "REGISTRY_CREDENTIALS_SECRET": aSecret}, "REGISTRY_ANONYMOUS"},
		"both locally":     {boot.Local, map[string]string{"REGISTRY_ANONYMOUS": "true", "REGISTRY_CREDENTIALS_FILE": "x"}, "REGISTRY_ANONYMOUS"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := boot.Load(lookup(tt.env), tt.user)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestOpenToOthersByName(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:80", "localhost:80", "[::1]:80"} {
		assert.True(t, boot.Loopback(listen), listen)
	}
	for _, listen := range []string{":8761", "0.0.0.0:8761", "192.0.2.1:8761", "[::]:8761", "example.org:80", ""} {
		assert.False(t, boot.Loopback(listen), listen)
	}
	cfg, err := boot.Load(lookup(map[string]string{"REGISTRY_LISTEN": ":8761", "REGISTRY_ANONYMOUS": "true"}), boot.Local)
	require.NoError(t, err)
	assert.True(t, cfg.Anonymous)
	assert.False(t, cfg.AnonymousByDefault)
}

// TestCredentialsCloseWhatIsOpen: a file of credentials is enough, on any
// address.
func TestCredentialsCloseWhatIsOpen(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:8761", ":8761"} {
		cfg, err := boot.Load(lookup(map[string]string{"REGISTRY_LISTEN": listen, "REGISTRY_CREDENTIALS_FILE": "x"}), boot.Local)
		require.NoError(t, err)
		assert.False(t, cfg.Anonymous)
	}
}

func TestRatesAndLists(t *testing.T) {
	load := func(name, value string) (boot.Config, error) {
		return boot.Load(lookup(map[string]string{name: value}), boot.Local)
	}
	for text, want := range map[string]float64{"1": 1, "0.5": 0.5, "1000000": 1e6} {
		cfg, err := load("REGISTRY_RATE_LIMIT", text)
		require.NoError(t, err, text)
		assert.Equal(t, want, cfg.RateLimit)
	}
	for _, text := range []string{"0", "-1", "many", "NaN", "Inf", "1000001"} {
		_, err := load("REGISTRY_RATE_LIMIT", text)
		assert.ErrorContains(t, err, "REGISTRY_RATE_LIMIT", text)
	}
	cfg, err := load("REGISTRY_PRIVILEGED_CLIENTS", " DefaultClient,DefaultServer ")
	require.NoError(t, err)
	assert.Equal(t, []string{"DefaultClient", "DefaultServer"}, cfg.PrivilegedClients)
	_, err = load("REGISTRY_PRIVILEGED_CLIENTS", "a,,b")
	assert.ErrorContains(t, err, "REGISTRY_PRIVILEGED_CLIENTS")
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "64KiB": 65536, "2MiB": 2 << 20} {
		cfg, err := boot.Load(lookup(map[string]string{"REGISTRY_MAX_BODY": text}), boot.Local)
		require.NoError(t, err, text)
		assert.Equal(t, want, cfg.MaxBody)
	}
	for _, text := range []string{"0", "-1", "KiB", "1.5MiB", strings.Repeat("9", 30)} {
		_, err := boot.Load(lookup(map[string]string{"REGISTRY_MAX_BODY": text}), boot.Local)
		assert.Error(t, err, text)
	}
}

// TestBackgroundWorkIsDoneWhereNobodyElseDoesIt: unless the setting says so.
func TestBackgroundWorkIsDoneWhereNobodyElseDoesIt(t *testing.T) {
	for endpoint, does := range map[string]bool{
		"":                      true,
		"http://127.0.0.1:8000": true,
		"http://engine:8000":    true,
		"https://dynamodb.eu-west-1.amazonaws.com":              false,
		"https://123456789012.ddb.eu-west-1.amazonaws.com":      false,
		"https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com":  false,
		"https://dynamodb.eu-west-1.api.aws":                    false,
		"https://dynamodb.cn-north-1.amazonaws.com.cn":          false,
		"https://dynamodb.eu-west-1.amazonaws.com.example.org/": true,
	} {
		for asked, want := range map[string]bool{"": does, "true": true, "false": false} {
			config, err := boot.Load(lookup(map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "REGISTRY_BACKGROUND": asked}), boot.Local)
			require.NoError(t, err)
			assert.Equal(t, want, config.Background, "%q, REGISTRY_BACKGROUND=%q", endpoint, asked)
		}
	}
}
