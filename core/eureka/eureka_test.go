package eureka_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/eureka"
)

func TestParseStatus(t *testing.T) {
	for _, s := range []eureka.Status{eureka.Up, eureka.Down, eureka.Starting, eureka.OutOfService, eureka.Unknown} {
		got, ok := eureka.ParseStatus(string(s))
		assert.True(t, ok)
		assert.Equal(t, s, got)
	}
	for _, text := range []string{"", "up", "SLEEPING", "UP "} {
		got, ok := eureka.ParseStatus(text)
		assert.False(t, ok, text)
		assert.Equal(t, eureka.Unknown, got)
	}
}

func TestHashCode(t *testing.T) {
	app := func(statuses ...eureka.Status) eureka.Application {
		a := eureka.Application{Name: "A"}
		for _, s := range statuses {
			a.Instances = append(a.Instances, &eureka.InstanceInfo{Status: s})
		}
		return a
	}
	assert.Equal(t, "", eureka.HashCode(nil))
	assert.Equal(t, "DOWN_1_UP_2_", eureka.HashCode([]eureka.Application{app(eureka.Up, eureka.Down), app(eureka.Up)}))
	counts := eureka.StatusCounts{eureka.Up: 1, eureka.Down: 0}
	assert.Equal(t, "UP_1_", counts.HashCode(), "a status that nobody has any more is not named")
}

func TestInstanceIdentity(t *testing.T) {
	hosted := &eureka.InstanceInfo{App: "SHOP", HostName: "shop-a.example.org"}
	assert.Equal(t, eureka.Key{App: "SHOP", ID: "shop-a.example.org"}, hosted.Key())
	amazon := &eureka.InstanceInfo{App: "SHOP", HostName: "shop-a.example.org", DataCenter: eureka.DataCenterInfo{
		Name: eureka.DataCenterAmazon, Metadata: map[string]string{"instance-id": "i-01"},
	}}
	assert.Equal(t, eureka.Key{App: "SHOP", ID: "i-01"}, amazon.Key())
	amazon.DataCenter.Metadata = nil
	assert.Equal(t, eureka.Key{App: "SHOP", ID: "shop-a.example.org"}, amazon.Key())
	named := &eureka.InstanceInfo{App: "shop", InstanceID: "shop-1", HostName: "shop-a.example.org"}
	assert.Equal(t, eureka.NewKey("Shop", "shop-1"), named.Key())
	assert.Equal(t, "SHOP/shop-1", named.Key().String())
}

func TestCloneIsDeep(t *testing.T) {
	original := &eureka.InstanceInfo{
		Metadata:   map[string]string{"zone": "a"},
		DataCenter: eureka.DataCenterInfo{Metadata: map[string]string{"ami-id": "ami-1"}},
	}
	clone := original.Clone()
	clone.Metadata["zone"], clone.DataCenter.Metadata["ami-id"] = "b", "ami-2"
	assert.Equal(t, "a", original.Metadata["zone"])
	assert.Equal(t, "ami-1", original.DataCenter.Metadata["ami-id"])
}

func TestInvalidErrorNamesTheField(t *testing.T) {
	err := eureka.Invalidf("port", "%q is no number", "x")
	assert.ErrorIs(t, err, eureka.ErrInvalid)
	assert.EqualError(t, err, `port: "x" is no number`)
	err = eureka.TooLargef("body", "more than %d bytes", 10)
	assert.ErrorIs(t, err, eureka.ErrTooLarge)
	assert.False(t, errors.Is(err, eureka.ErrInvalid))
}
