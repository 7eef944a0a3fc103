package discovery

import (
	"cmp"
	"context"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Location is where an instance runs.
type Location struct {
	// DataCenter is told to others.
	DataCenter eureka.DataCenterInfo
	// HostName and IPAddr are used where [Instance] does not give them; they
	// may be empty.
	HostName, IPAddr string
}

// Locator finds out where this process runs.
type Locator func(context.Context) (Location, error)

// locateTimeout bounds the look for the location: metadata services are on the
// same host, and where there is none nothing answers.
const locateTimeout = 3 * time.Second

// locateFirst finds the location before anything is sent, and takes its zone
// as the own one, unless there is a configured one.
func (c *Client) locateFirst(ctx context.Context) {
	at, ok := c.askLocation(ctx)
	if !ok {
		return
	}
	if zone := at.DataCenter.Metadata[amazonZone]; zone != "" && len(c.cfg.Zones) == 0 {
		zones := []string{zone}
		c.api.servers.prefer(zones)
		c.fetcher.rules.near.zones = zones
	}
	if c.own == nil {
		return
	}
	before := c.own.current()
	c.take(at)
	if before == c.own.current() {
		return
	}
	select { // this is no change: nothing was registered yet
	case <-c.own.changed:
	default:
	}
}

// locateAgain looks whether the location changed, as an address may.
func (c *Client) locateAgain(ctx context.Context) {
	if at, ok := c.askLocation(ctx); ok {
		c.take(at)
	}
}

func (c *Client) askLocation(ctx context.Context) (Location, bool) {
	ctx, cancel := context.WithTimeout(ctx, locateTimeout)
	defer cancel()
	at, err := c.cfg.Locate(ctx)
	if err != nil {
		c.cfg.Logger.WarnContext(ctx, "location not found", "error", err)
		return Location{}, false
	}
	return at, true
}

// take makes a location part of the instance.
func (c *Client) take(at Location) {
	c.own.update(func(i *eureka.InstanceInfo) {
		i.DataCenter = at.DataCenter
		i.IPAddr = cmp.Or(c.cfg.Instance.IPAddr, at.IPAddr, i.IPAddr)
		name := at.HostName
		if c.cfg.Instance.PreferIPAddr {
			name = i.IPAddr
		}
		i.HostName = cmp.Or(c.cfg.Instance.HostName, name, i.HostName)
		c.cfg.Instance.setURLs(i)
	})
}
