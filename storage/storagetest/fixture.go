package storagetest

import (
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// fixture is a driver with an application of the test's own.
type fixture struct {
	Driver
	// app is in use by nobody else.
	app string
	// now is a whole millisecond in the year to come: an engine's own TTL
	// takes nothing away during a test, and rows of other tests lie in other
	// windows. Every other time derives from it.
	now time.Time
}

func newFixture(d Driver) *fixture {
	const apart = 10 * time.Minute
	later := mathrand.N(365*24*time.Hour/apart) * apart
	return &fixture{Driver: d, app: "APP-" + rand.Text(), now: time.Now().Truncate(time.Millisecond).Add(later)}
}

// key returns a key of the test's application.
func (f *fixture) key(id string) eureka.Key { return eureka.Key{App: f.app, ID: id} }

// after returns the time so many milliseconds from now on.
func (f *fixture) after(millis int) time.Time {
	return f.now.Add(time.Duration(millis) * time.Millisecond)
}

// lease returns a usual lease as a registration at f.now writes it.
func (f *fixture) lease(key eureka.Key) eureka.Lease {
	return eureka.Lease{
		Key:        key,
		Instance:   usualInstance(key, f.now),
		Status:     eureka.Up,
		Action:     eureka.Added,
		Dirty:      f.now,
		Updated:    f.now,
		Registered: f.now,
		Renewed:    f.now,
		ServiceUp:  f.now,
		Interval:   eureka.DefaultRenewalInterval,
		Duration:   eureka.DefaultLeaseDuration,
	}
}

// register stores a usual lease, changed by the given functions, and returns
// it as stored.
func (f *fixture) register(t *testing.T, key eureka.Key, change ...func(*eureka.Lease)) eureka.Lease {
	t.Helper()
	l := f.lease(key)
	for _, c := range change {
		c(&l)
	}
	require.NoError(t, f.Registry.Register(t.Context(), registry.Registration{Lease: l}))
	return f.get(t, key)
}

// overridden is a change for [fixture.register].
func overridden(s eureka.Status) func(*eureka.Lease) {
	return func(l *eureka.Lease) { l.Overridden = s }
}

// cancelled registers and cancels, and returns the tombstone.
func (f *fixture) cancelled(t *testing.T, key eureka.Key) eureka.Lease {
	t.Helper()
	f.register(t, key)
	require.NoError(t, f.Registry.Cancel(t.Context(), key, f.after(1)))
	return f.get(t, key)
}

// evicted registers with an override and evicts, and returns the tombstone.
func (f *fixture) evicted(t *testing.T, key eureka.Key, override eureka.Status) eureka.Lease {
	t.Helper()
	l := f.register(t, key, overridden(override))
	require.NoError(t, f.Eviction.Evict(t.Context(), key, l.Renewed, f.after(1)))
	return f.get(t, key)
}

func (f *fixture) get(t *testing.T, key eureka.Key) eureka.Lease {
	t.Helper()
	l, err := f.Registry.Get(t.Context(), key)
	require.NoError(t, err)
	require.NotNil(t, l)
	return *l
}

// requireNone demands that there is no item.
func (f *fixture) requireNone(t *testing.T, key eureka.Key) {
	t.Helper()
	l, err := f.Registry.Get(t.Context(), key)
	require.ErrorIs(t, err, eureka.ErrLeaseNotFound)
	require.Nil(t, l)
}

// requireStored demands that the item still is what it was.
func (f *fixture) requireStored(t *testing.T, want eureka.Lease) {
	t.Helper()
	requireLease(t, want, f.get(t, want.Key))
}

// requireLease compares leases field for field.
func requireLease(t *testing.T, want, got eureka.Lease) {
	t.Helper()
	require.Equal(t, canonicalLease(want), canonicalLease(got))
}

// requireFailedCondition demands a ConditionFailedError that carries the
// given state; nil: that there is no item.
func requireFailedCondition(t *testing.T, err error, want *eureka.Lease) {
	t.Helper()
	var failed *registry.ConditionFailedError
	require.ErrorAs(t, err, &failed)
	if want == nil {
		require.Nil(t, failed.Stored, "there is no item")
		return
	}
	require.NotNil(t, failed.Stored, "the error carries the item that was found")
	requireLease(t, *want, *failed.Stored)
}

// conditionFailed reports whether the error is a failed condition.
func conditionFailed(err error) bool {
	var failed *registry.ConditionFailedError
	return errors.As(err, &failed)
}

// assertKeys demands that these keys were found, and no other. It says which
// are missing.
func assertKeys[V any](t *testing.T, want []eureka.Key, got map[eureka.Key]V) {
	t.Helper()
	var found []eureka.Key
	for k := range got {
		found = append(found, k)
	}
	assert.ElementsMatch(t, want, found)
}

// noise returns n characters that compress to no less than five eighths.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()[:n]
}

// usualInstance is what a Spring Cloud application registers.
func usualInstance(key eureka.Key, now time.Time) *eureka.InstanceInfo {
	name := strings.ToLower(key.App)
	return &eureka.InstanceInfo{
		InstanceID:       key.ID,
		HostName:         "10.1.2.3",
		App:              key.App,
		IPAddr:           "10.1.2.3",
		Status:           eureka.Up,
		OverriddenStatus: eureka.Unknown,
		Port:             eureka.Port{Number: 8080, Enabled: true},
		SecurePort:       eureka.Port{Number: 443},
		CountryID:        eureka.DefaultCountryID,
		DataCenter:       eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
		Lease:            eureka.LeaseInfo{RenewalInterval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration},
		Metadata:         map[string]string{"management.port": "8080"},
		HomePageURL:      "http://10.1.2.3:8080/",
		StatusPageURL:    "http://10.1.2.3:8080/actuator/info",
		HealthCheckURL:   "http://10.1.2.3:8080/actuator/health",
		VIPAddress:       name,
		SecureVIPAddress: name,
		LastUpdated:      now,
		LastDirty:        now,
		Action:           eureka.Added,
	}
}

// richInstance has every field set, to values that differ from each other and
// from the defaults.
func richInstance(key eureka.Key, now time.Time) *eureka.InstanceInfo {
	at := func(millis int) time.Time { return now.Add(time.Duration(millis) * time.Millisecond) }
	return &eureka.InstanceInfo{
		InstanceID:       key.ID,
		HostName:         "höst.example.org",
		App:              key.App,
		AppGroup:         "GRUPPE Ä",
		IPAddr:           "2001:db8::10",
		Status:           eureka.Starting,
		OverriddenStatus: eureka.OutOfService,
		Port:             eureka.Port{Number: 18080, Enabled: true},
		SecurePort:       eureka.Port{Number: 18443, Enabled: true},
		CountryID:        49,
		DataCenter: eureka.DataCenterInfo{
			Class:    eureka.AmazonDataCenterClass,
			Name:     eureka.DataCenterAmazon,
			Metadata: map[string]string{"instance-id": "i-0123456789", "ami-id": "", "zone": "eu-west-1a"},
		},
		Lease: eureka.LeaseInfo{
			RenewalInterval: 7 * time.Second,
			Duration:        21 * time.Second,
			Registered:      at(-5),
			LastRenewed:     at(-4),
			Evicted:         at(-3),
			ServiceUp:       at(-2),
		},
		Metadata: map[string]string{
			"":           "no name",
			"no value":   "",
			"Zürich":     "東京 🗼",
			"markup":     `<a href="x">&amp;</a>`,
			"controls":   "\x00\t\r\n\u2028",
			"@class":     "java.util.Collections$EmptyMap",
			"a.b:c/d#e?": "100 %",
		},
		HomePageURL:          "http://höst.example.org:18080/?a=b&c=d",
		StatusPageURL:        "http://höst.example.org:18080/info",
		HealthCheckURL:       "http://höst.example.org:18080/health",
		SecureHealthCheckURL: "https://höst.example.org:18443/health",
		VIPAddress:           "one,two",
		SecureVIPAddress:     "one-secure,two-secure",
		Coordinating:         true,
		LastUpdated:          at(-1),
		LastDirty:            at(-6),
		Action:               eureka.Modified,
		ASGName:              "asg-1",
	}
}

// oddIDs are instance ids that are easily harmed: by separators, decoding,
// collation or length.
func oddIDs() []string {
	return []string{
		"host:app:8080", "svc#1/2", "50%25", "50%", "a?b=c&d", "with space", " leading and trailing ",
		"Upper", "upper", "zürich-東京-🗼", "e\u0301", "\u00e9", "a+b", `back\slash"quote'`, "tab\tid",
		"0", "00", "-1", "null", "UNKNOWN", "#", "/", "//", ".", "..",
		strings.Repeat("x", 1023) + "1", strings.Repeat("x", 1023) + "2", strings.Repeat("ü", 511) + "z1",
	}
}

// manyMetadata has so many entries, of incompressible values so long.
func manyMetadata(entries, length int) map[string]string {
	m := make(map[string]string, entries)
	for i := range entries {
		m["key-"+strconv.Itoa(i)] = noise(length)
	}
	return m
}

// errorOf returns the error of a call that returns a value too.
func errorOf[T any](_ T, err error) error { return err }
