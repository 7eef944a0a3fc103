package instancecodec_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// springCloud is a registration as a Spring Cloud application on a virtual
// machine sends it, as it is put into a lease.
func springCloud(n int) *eureka.InstanceInfo {
	h := uint32(n) * 2654435761
	ip := fmt.Sprintf("10.%d.%d.%d", h>>24, h>>16&255, h>>8&255)
	app := fmt.Sprintf("order-service-%04d", n/10)
	return &eureka.InstanceInfo{
		InstanceID: ip + ":" + app + ":8080", HostName: ip, App: fmt.Sprintf("ORDER-SERVICE-%04d", n/10), IPAddr: ip,
		Status: eureka.Up,
		Port:   eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 443},
		CountryID:  1,
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
		Metadata:   map[string]string{"management.port": "8081", "zone": "eu-1" + string(rune('a'+h%3)), "version": fmt.Sprint(h % 50)},

		HomePageURL: "http://" + ip + ":8080/", StatusPageURL: "http://" + ip + ":8080/actuator/info",
		HealthCheckURL: "http://" + ip + ":8080/actuator/health",
		VIPAddress:     app, SecureVIPAddress: app,
	}
}

// amazon is a registration from EC2, with everything that has a field.
func amazon() *eureka.InstanceInfo {
	host := "ip-172-31-7-42.eu-central-1.compute.internal"
	return &eureka.InstanceInfo{
		InstanceID: host + ":payments:8443", HostName: host, App: "PAYMENTS", AppGroup: "MONEY", IPAddr: "172.31.7.42",
		Status: eureka.Starting, OverriddenStatus: eureka.OutOfService, Action: eureka.Modified,
		Port: eureka.Port{Number: 8080}, SecurePort: eureka.Port{Number: 8443, Enabled: true}, CountryID: 49,
		DataCenter: eureka.DataCenterInfo{
			Class: eureka.AmazonDataCenterClass, Name: eureka.DataCenterAmazon,
			Metadata: map[string]string{
				"ami-id": "ami-0f29c8402f8cce65c", "instance-id": "i-0fe1f25b1a6bd9e51", "instance-type": "m5.large",
				"local-ipv4": "172.31.7.42", "local-hostname": host, "availability-zone": "eu-central-1b", "accountId": "123456789012",
			},
		},
		Metadata:    map[string]string{"grüße": "東京", "empty": "", "management.port": "8444"},
		HomePageURL: "https://" + host + ":8443/", StatusPageURL: "https://" + host + ":8443/actuator/info",
		HealthCheckURL: "http://" + host + ":8444/actuator/health", SecureHealthCheckURL: "https://" + host + ":8443/actuator/health",
		VIPAddress: "payments,pay", SecureVIPAddress: "payments-secure", ASGName: "payments-asg", Coordinating: true,
		Lease: eureka.LeaseInfo{
			RenewalInterval: 5 * time.Second, Duration: 15 * time.Second,
			Registered: time.UnixMilli(1_700_000_000_001), LastRenewed: time.UnixMilli(1_700_000_060_002),
			Evicted: time.UnixMilli(-1), ServiceUp: time.UnixMilli(1_700_000_000_003),
		},
		LastUpdated: time.UnixMilli(1_700_000_030_004), LastDirty: time.UnixMilli(1_699_999_999_999),
	}
}

// fleet is n instances as a snapshot holds them.
func fleet(n int) []delta.Entry {
	out := make([]delta.Entry, n)
	for i := range out {
		instance := springCloud(i)
		instance.OverriddenStatus, instance.Action = eureka.Unknown, eureka.Added
		registered := time.UnixMilli(1_700_000_000_000 + int64(i)*7919)
		instance.Lease = eureka.LeaseInfo{
			RenewalInterval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration,
			Registered: registered, ServiceUp: registered,
			LastRenewed: time.UnixMilli(1_700_900_000_000 + int64(uint32(i)*2654435761%30_000)),
		}
		instance.LastUpdated, instance.LastDirty = registered, registered.Add(-137*time.Millisecond)
		out[i] = delta.Entry{Key: instance.Key(), Version: registered.UnixMilli() + 1, Instance: instance}
	}
	return out
}

// noise is a text that does not compress, the same each time.
func noise(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return string(b)
}
