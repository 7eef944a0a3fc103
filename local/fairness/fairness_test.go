package fairness_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/local/fairness"
)

// clock is a time that stands until it is set.
type clock struct{ now time.Time }

func newLimiter(perSecond float64, privileged ...string) (*fairness.Limiter, *clock) {
	c := &clock{time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)}
	return fairness.New(perSecond, privileged, func() time.Time { return c.now }), c
}

func read(l *fairness.Limiter, name, address string) error {
	r := httptest.NewRequest(http.MethodGet, "/eureka/apps", nil)
	r.RemoteAddr = address
	if name != "" {
		r.Header.Set("DiscoveryIdentity-Name", name)
	}
	return l.Admit(r, access.LevelRead, "")
}

// burst reads until it is refused, and returns how often it was let through.
func burst(l *fairness.Limiter, name, address string) int {
	for n := range 1000 {
		if read(l, name, address) != nil {
			return n
		}
	}
	return 1000
}

func TestABucketForEachName(t *testing.T) {
	l, c := newLimiter(2, "DefaultServer")
	assert.Equal(t, 20, burst(l, "DefaultClient", "192.0.2.1:1"), "ten seconds' worth")
	assert.Zero(t, burst(l, "DefaultClient", "192.0.2.2:1"), "the name counts, not the address")
	assert.Equal(t, 20, burst(l, "other", "192.0.2.1:1"))
	assert.Equal(t, 1000, burst(l, "DefaultServer", "192.0.2.1:1"), "privileged")
	assert.Equal(t, 20, burst(l, "", "192.0.2.1:1"), "without a name the address counts")
	assert.Zero(t, burst(l, "", "192.0.2.1:2"))
	assert.Equal(t, 20, burst(l, "", "192.0.2.2:1"))
	assert.Equal(t, 20, burst(l, "192.0.2.1", "192.0.2.3:1"), "a name that is an address is a name")

	var late *eureka.RateLimitedError
	require.True(t, errors.As(read(l, "DefaultClient", "192.0.2.1:1"), &late))
	assert.Equal(t, time.Second/2, late.After)
	c.now = c.now.Add(time.Second)
	assert.Equal(t, 2, burst(l, "DefaultClient", "192.0.2.1:1"))
}

func TestLessThanOneInASecond(t *testing.T) {
	l, c := newLimiter(0.05)
	assert.Equal(t, 1, burst(l, "a", ""))
	c.now = c.now.Add(20 * time.Second)
	assert.Equal(t, 1, burst(l, "a", ""))
}

// TestNoNameIsNotPrivileged, whatever the list says.
func TestNoNameIsNotPrivileged(t *testing.T) {
	l, _ := newLimiter(1, "")
	assert.Equal(t, 10, burst(l, "", "192.0.2.1:1"))
}

// TestLeasesAreNotLimited: only reads are.
func TestLeasesAreNotLimited(t *testing.T) {
	l, _ := newLimiter(1)
	r := httptest.NewRequest(http.MethodPut, "/eureka/apps/SHOP/shop-1", nil)
	for range 100 {
		assert.NoError(t, l.Admit(r, access.LevelRegister, "SHOP"))
		assert.NoError(t, l.Admit(r, access.LevelAdmin, ""))
	}
}
