package dynamodb_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// began is the time of everything in these tests: so far ahead that no engine's
// own TTL takes anything away.
var began = time.UnixMilli(4_102_444_800_123)

// usualLease is the lease of a Spring Cloud application with the longest names
// that are still usual.
func usualLease(n int) eureka.Lease {
	h := uint32(n) * 2654435761
	host := fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", h>>24, h>>16&255, h>>8&255)
	app := fmt.Sprintf("customer-notification-service-%03d", n%1000)
	l := eureka.Lease{
		Key: eureka.NewKey(app, host+":"+app+":8080"),
		Instance: &eureka.InstanceInfo{
			InstanceID: host + ":" + app + ":8080", HostName: host, App: eureka.NewKey(app, "").App,
			IPAddr: fmt.Sprintf("10.%d.%d.%d", h>>24, h>>16&255, h>>8&255), Status: eureka.Up, OverriddenStatus: eureka.Unknown,
			Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 443}, CountryID: 1,
			DataCenter:  eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
			Lease:       eureka.LeaseInfo{RenewalInterval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration},
			Metadata:    map[string]string{"management.port": "8081", "zone": "eu-central-1a", "version": "2025.11." + fmt.Sprint(h%100), "team": "payments"},
			HomePageURL: "http://" + host + ":8080/", StatusPageURL: "http://" + host + ":8081/actuator/info",
			HealthCheckURL: "http://" + host + ":8081/actuator/health", VIPAddress: app, SecureVIPAddress: app,
			LastUpdated: began, LastDirty: began.Add(-time.Duration(h%1e6) * time.Millisecond), Action: eureka.Added,
		},
		Status: eureka.Up, Action: eureka.Added, Dirty: began.Add(-time.Duration(h%1e6) * time.Millisecond), Updated: began,
		Registered: began, Renewed: began, ServiceUp: began,
		Interval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration,
	}
	return l
}

// usualSnapshot is a registry of usual instances.
func usualSnapshot(n int) *delta.Snapshot {
	s := &delta.Snapshot{Began: began, Entries: make([]delta.Entry, n)}
	for i := range s.Entries {
		l := usualLease(i)
		l.Renewed = began.Add(time.Duration(uint32(i)*2654435761%30_000) * time.Millisecond)
		s.Entries[i] = delta.Entry{Key: l.Key, Version: began.UnixMilli() + int64(i), Instance: l.Effective()}
	}
	return s
}

type (
	row            = delta.Row
	unwrittenError = delta.UnwrittenError
	snapshot       = delta.Snapshot
	snapshotEntry  = delta.Entry
)

// largeEntry is a lease in a snapshot, with everything that a reader sees.
func largeEntry(l eureka.Lease) snapshotEntry {
	l.Overridden, l.Action = eureka.OutOfService, eureka.Modified
	return snapshotEntry{Key: l.Key, Version: began.UnixMilli(), Instance: l.Effective()}
}

// incompressible is a text that compresses to no less than four fifths.
func incompressible(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = ' ' + byte(random.IntN('~'-' '))
	}
	return string(b)
}

func parseInt(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// errorOf returns the error of a call that returns a value too.
func errorOf[T any](_ T, err error) error { return err }
