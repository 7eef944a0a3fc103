//go:build refused

package e2e

import (
	"os"
	"testing"

	"github.com/hudl/fargo"
	"github.com/stretchr/testify/assert"
)

// TestRefused: at a registry whose password EUREKA_URL has wrong, every call fails and says so.
func TestRefused(t *testing.T) {
	conn := fargo.NewConn(os.Getenv("EUREKA_URL"))
	instance := &fargo.Instance{
		InstanceId: "fargo-refused", HostName: "fargo-1.example.org", App: "FARGO-REFUSED", IPAddr: "192.0.2.20",
		VipAddress: "FARGO-REFUSED", Status: fargo.UP, DataCenterInfo: fargo.DataCenterInfo{Name: fargo.MyOwn},
	}
	assert.ErrorContains(t, conn.RegisterInstance(instance), "401")
	assert.ErrorContains(t, conn.HeartBeatInstance(instance), "401")
	_, err := conn.GetApps()
	assert.Error(t, err, "it only logs the status")
}
