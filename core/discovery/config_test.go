package discovery_test

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
)

func TestConfigReportsEveryFault(t *testing.T) {
	_, err := discovery.New(discovery.Config{
		ServiceURLs: []string{"nonsense"}, ZoneURLs: map[string][]string{"a": {"http://ok", "ftp://x"}},
		FetchInterval: -1, RetryPause: -time.Second,
		Instance: &discovery.Instance{Port: 70_000, SecurePort: -1, Status: "ASLEEP", LeaseDuration: -1, RenewalInterval: -1},
	})
	require.Error(t, err)
	for _, fault := range []string{
		"ServiceURLs[0]", `ZoneURLs["a"][1]`, "FetchInterval", "RetryPause", "Instance.App", "Instance.Port", "Instance.SecurePort",
		"Instance.Status", "Instance.LeaseDuration", "Instance.RenewalInterval",
	} {
		assert.Contains(t, err.Error(), fault)
	}
	_, err = discovery.New(discovery.Config{DisableFetch: true})
	assert.ErrorContains(t, err, "nothing to do")
	_, err = discovery.NewAPI(discovery.Config{ServiceURLs: []string{"nonsense"}})
	assert.Error(t, err)
}

// TestInstanceDefaults: host name and address are those of this host.
func TestInstanceDefaults(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	c, err := discovery.New(discovery.Config{Instance: &discovery.Instance{App: "Orders", SecurePort: 8443}})
	require.NoError(t, err)
	i := c.Instance()
	assert.Equal(t, host, i.HostName)
	assert.Equal(t, host+":Orders:8443", i.InstanceID)
	assert.NotNil(t, net.ParseIP(i.IPAddr), i.IPAddr)
	assert.Equal(t, "ORDERS", i.App)
	assert.Equal(t, "Orders", i.VIPAddress)
	assert.Equal(t, eureka.Port{Number: 80}, i.Port)
	assert.Equal(t, eureka.Port{Number: 8443, Enabled: true}, i.SecurePort)

	c, err = discovery.New(discovery.Config{Instance: &discovery.Instance{
		App: "orders", IPAddr: "2001:db8::7", PreferIPAddr: true, SecurePort: 8443, HealthCheckURL: "/health", SecureHealthCheckURL: "/secure",
	}})
	require.NoError(t, err)
	i = c.Instance()
	assert.Equal(t, "2001:db8::7", i.HostName)
	assert.Equal(t, "https://[2001:db8::7]:8443/health", i.HealthCheckURL, "the port that is enabled")
	assert.Equal(t, "https://[2001:db8::7]:8443/secure", i.SecureHealthCheckURL)
}

func TestConfigFromEnv(t *testing.T) {
	cfg, err := discovery.ConfigFromEnv(strings.Fields(`
		SPRING_APPLICATION_NAME=orders SERVER_PORT=8080 PORT=9
		EUREKA_CLIENT_SERVICE_URL_DEFAULT_ZONE=http://agent:secret@one/eureka/,http://two/eureka/
		EUREKA_CLIENT_REGION=us-east-1 EUREKA_CLIENT_AVAILABILITYZONES=us-east-1a,us-east-1b
		EUREKA_CLIENT_SERVICEURL_US_EAST_1A=http://a/eureka
		EUREKA_CLIENT_FETCHREMOTEREGIONSREGISTRY=eu-west-1
		EUREKA_CLIENT_SHOULDENFORCEREGISTRATIONATINIT=true
		EUREKA_CLIENT_INITIALINSTANCEINFOREPLICATIONINTERVALSECONDS=1
		EUREKA_CLIENT_INSTANCEINFOREPLICATIONINTERVALSECONDS=2
		EUREKA_CLIENT_REGISTRYFETCHINTERVALSECONDS=5
		EUREKA_CLIENT_EUREKASERVERREADTIMEOUTSECONDS=3
		EUREKA_CLIENT_DISABLEDELTA=TRUE EUREKA_CLIENT_GZIPCONTENT=false
		EUREKA_CLIENT_FILTERONLYUPINSTANCES=False EUREKA_CLIENT_REGISTRYREFRESHSINGLEVIPADDRESS=shop
		EUREKA_INSTANCE_INSTANCE_ID=orders-1 EUREKA_INSTANCE_HOSTNAME=orders.example.org
		EUREKA_INSTANCE_IPADDRESS=192.0.2.1 EUREKA_INSTANCE_PREFER_IP_ADDRESS=true
		EUREKA_INSTANCE_SECUREPORT=8443 EUREKA_INSTANCE_VIRTUALHOSTNAME=vip EUREKA_INSTANCE_SECUREVIRTUALHOSTNAME=svip
		EUREKA_INSTANCE_LEASERENEWALINTERVALINSECONDS=10 EUREKA_INSTANCE_LEASEEXPIRATIONDURATIONINSECONDS=20
		EUREKA_INSTANCE_METADATAMAP_ZONE=us-east-1a EUREKA_INSTANCE_METADATAMAP_NOTE=x=y
		HOME=/nowhere EUREKA_INSTANCE_APPNAME=`))
	require.NoError(t, err)
	assert.Equal(t, discovery.Config{
		ServiceURLs: []string{"http://agent:secret@one/eureka/", "http://two/eureka/"},
		ZoneURLs:    map[string][]string{"us-east-1a": {"http://a/eureka"}},
		Region:      "us-east-1", Zones: []string{"us-east-1a", "us-east-1b"}, RemoteRegions: []string{"eu-west-1"},
		RegisterAtStart: true, InitialReplicationDelay: time.Second, ReplicationInterval: 2 * time.Second,
		FetchInterval: 5 * time.Second, RequestTimeout: 3 * time.Second,
		DisableDelta: true, DisableGzip: true, AllStatuses: true, OnlyVIP: "shop",
		Instance: &discovery.Instance{
			App: "orders", ID: "orders-1", HostName: "orders.example.org", IPAddr: "192.0.2.1", PreferIPAddr: true,
			Port: 8080, SecurePort: 8443, VIPAddress: "vip", SecureVIPAddress: "svip",
			RenewalInterval: 10 * time.Second, LeaseDuration: 20 * time.Second,
			Metadata: map[string]string{"zone": "us-east-1a", "note": "x=y"},
		},
	}, cfg)
	_, err = discovery.New(cfg)
	assert.NoError(t, err)
}

func TestConfigFromEnvSwitches(t *testing.T) {
	cfg, err := discovery.ConfigFromEnv(nil)
	require.NoError(t, err)
	assert.Equal(t, discovery.Config{}, cfg)

	cfg, err = discovery.ConfigFromEnv([]string{"SPRING_APPLICATION_NAME=a", "EUREKA_CLIENT_REGISTERWITHEUREKA=false", "EUREKA_URL=http://one"})
	require.NoError(t, err)
	assert.Nil(t, cfg.Instance)
	assert.Equal(t, []string{"http://one"}, cfg.ServiceURLs)

	cfg, err = discovery.ConfigFromEnv([]string{
		"SPRING_APPLICATION_NAME=a", "EUREKA_INSTANCE_APPNAME=b", "EUREKA_CLIENT_FETCHREGISTRY=false", "PORT=1", "EUREKA_INSTANCE_SECUREPORT=2",
		"EUREKA_INSTANCE_NONSECUREPORTENABLED=false", "EUREKA_INSTANCE_SECUREPORTENABLED=false",
	})
	require.NoError(t, err)
	assert.True(t, cfg.DisableFetch)
	assert.Equal(t, &discovery.Instance{App: "b"}, cfg.Instance)
}

func TestConfigFromEnvReportsEveryFault(t *testing.T) {
	_, err := discovery.ConfigFromEnv([]string{
		"SERVER_PORT=http", "EUREKA_CLIENT_DISABLEDELTA=perhaps", "EUREKA_CLIENT_SERVICEURL_ATLANTIS=http://user:secret@x",
		"EUREKA_CLIENT_REGISTRYFETCHINTERVALSECONDS=5s", "EUREKA_INSTANCE_LEASEEXPIRATIONDURATIONINSECONDS=9223372037",
	})
	require.Error(t, err)
	for _, name := range []string{"SERVER_PORT", "EUREKA_CLIENT_DISABLEDELTA", "EUREKA_CLIENT_SERVICEURL_ATLANTIS", "EUREKA_CLIENT_REGISTRYFETCHINTERVALSECONDS", "EUREKA_INSTANCE_LEASEEXPIRATIONDURATIONINSECONDS"} {
		assert.Contains(t, err.Error(), name)
	}
	assert.NotContains(t, err.Error(), "secret")
}
