package discovery_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
)

func TestLookUps(t *testing.T) {
	unnamed := shop("", inApp("OTHER"), func(i *eureka.InstanceInfo) { i.HostName = "other.example.org" })
	document := registryOf(
		shop("a"), shop("b", withStatus(eureka.Down)), shop("c", withStatus(eureka.OutOfService)), shop("d", withStatus(eureka.Starting)),
		shop("e", func(i *eureka.InstanceInfo) { i.VIPAddress, i.SecureVIPAddress = "shop, extra", "secure" }),
		shop("a", inApp("ORDERS")), unnamed,
	)
	withRegistry(t, document, nil, func(t *testing.T, c *discovery.Client) {
		v := c.View()
		names := []string{}
		for _, a := range v.Applications() {
			names = append(names, a.Name)
		}
		assert.Equal(t, []string{"ORDERS", "OTHER", "SHOP"}, names)
		app, ok := v.Application("shop")
		assert.True(t, ok)
		assert.Equal(t, []string{"a", "e"}, ids(app.Instances), "only UP")
		assert.Equal(t, []string{"a", "b", "c", "d", "e"}, ids(app.All))
		_, ok = v.Application("nobody")
		assert.False(t, ok)

		assert.Equal(t, []string{"a", "e"}, ids(v.VIP("SHOP")))
		assert.Equal(t, []string{"e"}, ids(v.VIP(" extra ")))
		assert.Equal(t, []string{"a", "a", "e"}, ids(v.VIP("shop,orders, EXTRA")), "of several, each once")
		assert.Empty(t, v.VIP("nobody"))
		assert.Empty(t, v.VIP(""))
		assert.Equal(t, []string{"a"}, ids(v.SecureVIP("shop")))
		assert.Equal(t, []string{"a", "e"}, ids(v.SecureVIP("secure,orders")))

		i, ok := v.Instance("shop", "b")
		assert.True(t, ok)
		assert.Equal(t, eureka.Down, i.Status, "by id whatever the status")
		_, ok = v.Instance("shop", "B")
		assert.False(t, ok, "an id is exact")
		_, ok = v.Instance("orders", "b")
		assert.False(t, ok)
		_, ok = v.Instance("other", "other.example.org")
		assert.True(t, ok, "an instance without an id is known by its host name")
		assert.Len(t, v.InstancesByID("a"), 2)
		assert.Empty(t, v.InstancesByID("nobody"))

		assert.Equal(t, 7, v.Len())
		assert.Equal(t, "DOWN_1_OUT_OF_SERVICE_1_STARTING_1_UP_4_", v.HashCode())
	})
	withRegistry(t, document, func(cfg *discovery.Config) { cfg.AllStatuses = true }, func(t *testing.T, c *discovery.Client) {
		assert.Equal(t, []string{"a", "b", "c", "d", "e"}, ids(c.View().VIP("shop")))
		app, _ := c.View().Application("shop")
		assert.Equal(t, ids(app.All), ids(app.Instances))
	})
}

func TestInstanceTwiceInAnAnswer(t *testing.T) {
	withRegistry(t, registryOf(shop("a", withStatus(eureka.Down)), shop("a")), nil, func(t *testing.T, c *discovery.Client) {
		assert.Equal(t, "UP_1_", c.View().HashCode(), "the last counts")
		assert.Len(t, c.View().VIP("shop"), 1)
	})
}

// TestEquallyNearInstancesAreShuffled: clients that take the first do not all
// take the same.
func TestEquallyNearInstancesAreShuffled(t *testing.T) {
	firsts := map[string]bool{}
	for range 40 {
		withRegistry(t, registryOf(shop("a"), shop("b"), shop("c")), nil, func(t *testing.T, c *discovery.Client) {
			firsts[c.View().VIP("shop")[0].ID()] = true
		})
	}
	assert.Len(t, firsts, 3)
}

func TestLookUpsDoNotAllocate(t *testing.T) {
	withRegistry(t, registryOf(shop("a"), shop("b")), nil, func(t *testing.T, c *discovery.Client) {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			v := c.View()
			v.VIP("shop")
			v.SecureVIP("SHOP")
			v.Application("shop")
			v.Instance("SHOP", "a")
			c.Pick("shop")
		}))
	})
}
