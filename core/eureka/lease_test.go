package eureka_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/eureka"
)

var noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func TestExpired(t *testing.T) {
	l := eureka.Lease{Instance: &eureka.InstanceInfo{}, Renewed: noon, Duration: 90 * time.Second}
	for _, c := range []struct {
		name      string
		after     time.Duration
		allowance time.Duration
		want      bool
	}{
		{"just renewed", 0, 0, false},
		{"at its end", 90 * time.Second, 0, false},
		{"past its end", 90*time.Second + time.Millisecond, 0, true},
		{"within the allowance", 95 * time.Second, 5 * time.Second, false},
		{"past the allowance", 95*time.Second + time.Millisecond, 5 * time.Second, true},
		{"one duration, not two", 100 * time.Second, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, l.Expired(noon.Add(c.after), c.allowance))
		})
	}
	tombstone := eureka.Lease{Renewed: noon, Gone: noon}
	assert.False(t, tombstone.Expired(noon.Add(time.Hour), 0), "a tombstone does not expire")
}

// TestEndAllowsForUnwrittenHeartbeats: the last heartbeat may be later than the
// last renewal by the quiet time, up to the duration.
func TestEndAllowsForUnwrittenHeartbeats(t *testing.T) {
	for _, c := range []struct{ duration, quiet, want time.Duration }{
		{90 * time.Second, 0, 90 * time.Second},
		{90 * time.Second, 75 * time.Second, 165 * time.Second},
		{90 * time.Second, 90 * time.Second, 180 * time.Second},
		{90 * time.Second, time.Hour, 180 * time.Second},
		{10 * time.Second, 75 * time.Second, 20 * time.Second},
	} {
		l := eureka.Lease{Instance: &eureka.InstanceInfo{}, Renewed: noon, Duration: c.duration, Quiet: c.quiet}
		assert.Equal(t, noon.Add(c.want), l.End(), "%s quiet for %s", c.duration, c.quiet)
		assert.False(t, l.Expired(noon.Add(c.want), 0))
		assert.True(t, l.Expired(noon.Add(c.want+1), 0))
	}
}

func TestSeen(t *testing.T) {
	for _, c := range []struct{ interval, duration, quiet, want time.Duration }{
		{30 * time.Second, 90 * time.Second, 0, 60 * time.Second},
		{30 * time.Second, 90 * time.Second, 20 * time.Second, 60 * time.Second},
		{30 * time.Second, 90 * time.Second, 75 * time.Second, 105 * time.Second},
		{5 * time.Second, 15 * time.Second, 75 * time.Second, 20 * time.Second},
		{5 * time.Minute, 15 * time.Minute, 75 * time.Second, 10 * time.Minute},
	} {
		l := eureka.Lease{Instance: &eureka.InstanceInfo{}, Renewed: noon, Interval: c.interval, Duration: c.duration, Quiet: c.quiet}
		for _, allowance := range []time.Duration{0, 5 * time.Second} {
			assert.True(t, l.Seen(noon.Add(c.want+allowance), allowance), "%+v", c)
			assert.False(t, l.Seen(noon.Add(c.want+allowance+1), allowance), "%+v", c)
		}
	}
}

func TestSilencedWith(t *testing.T) {
	for _, c := range []struct {
		name                      string
		interval, duration, quiet time.Duration
		want                      float64
	}{
		{"every heartbeat is written", 30 * time.Second, 90 * time.Second, 0, 1},
		{"written every 90 s, noticed 60 s before the end", 30 * time.Second, 90 * time.Second, 75 * time.Second, 1.5},
		{"quiet for no longer than the duration", 10 * time.Second, 30 * time.Second, 75 * time.Second, 1.5},
		{"noticed long before the end", 5 * time.Second, 90 * time.Second, 75 * time.Second, 1},
		{"quiet for less than an interval", 30 * time.Second, 90 * time.Second, 20 * time.Second, 1},
		{"bounded", 60 * time.Second, 90 * time.Second, 75 * time.Second, 2},
		{"never noticed before the end", 90 * time.Second, 90 * time.Second, 75 * time.Second, 1},
		{"no interval", 0, 90 * time.Second, 75 * time.Second, 1},
	} {
		l := eureka.Lease{Instance: &eureka.InstanceInfo{}, Renewed: noon, Interval: c.interval, Duration: c.duration, Quiet: c.quiet}
		assert.InDelta(t, c.want, l.SilencedWith(), 1e-9, c.name)
	}
}

func TestEffectiveStatus(t *testing.T) {
	for _, c := range []struct{ own, overridden, want eureka.Status }{
		{eureka.Up, "", eureka.Up},
		{eureka.OutOfService, "", eureka.OutOfService},
		{eureka.Up, eureka.Unknown, eureka.Up},
		{eureka.Up, eureka.OutOfService, eureka.OutOfService},
		{eureka.OutOfService, eureka.Up, eureka.Up},
		{eureka.Down, eureka.Up, eureka.Down},
		{eureka.Starting, eureka.OutOfService, eureka.Starting},
		{eureka.Unknown, eureka.Up, eureka.Unknown},
	} {
		assert.Equal(t, c.want, eureka.EffectiveStatus(c.own, c.overridden), "own %s, overridden %s", c.own, c.overridden)
	}
}

func TestEffective(t *testing.T) {
	l := eureka.Lease{
		Instance: &eureka.InstanceInfo{App: "SHOP", InstanceID: "shop-1", Status: eureka.Up, Metadata: map[string]string{"zone": "a"}},
		Status:   eureka.OutOfService, Overridden: eureka.OutOfService, Action: eureka.Modified,
		Dirty: noon, Updated: noon.Add(1), Registered: noon.Add(2), Renewed: noon.Add(3), ServiceUp: noon.Add(4),
		Interval: 30 * time.Second, Duration: 90 * time.Second,
	}
	assert.Equal(t, &eureka.InstanceInfo{
		App: "SHOP", InstanceID: "shop-1", Metadata: map[string]string{"zone": "a"},
		Status: eureka.OutOfService, OverriddenStatus: eureka.OutOfService, Action: eureka.Modified,
		LastDirty: noon, LastUpdated: noon.Add(1),
		Lease: eureka.LeaseInfo{
			RenewalInterval: 30 * time.Second, Duration: 90 * time.Second,
			Registered: noon.Add(2), LastRenewed: noon.Add(3), ServiceUp: noon.Add(4),
		},
	}, l.Effective())
	assert.Equal(t, eureka.Up, l.Instance.Status, "the registration keeps the instance's own word")
	l.Overridden = ""
	assert.Equal(t, eureka.Unknown, l.Effective().OverriddenStatus, "no override reads UNKNOWN")
	assert.Nil(t, (&eureka.Lease{}).Effective())
}
