package functions_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/functions/boot"
	store "github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// BenchmarkMemory prints the memory that a read function has resident after full
// reads, JSON in gzip, and the most that it had: after one that found it cold,
// from a snapshot and from a scan, on an engine with DynamoDB's pages of 1 MB;
// and after one in each of ten turns, with a hundred changes in each. The answer
// of 100,000 instances is a stream, as from a function URL: it is more than
// Lambda takes in one piece.
func BenchmarkMemory(b *testing.B) {
	endpoint := enginetest.Dynoxide(b).Endpoint
	binary := build(b, "api") // which streams, so that no limit applies
	for _, tt := range []struct {
		from             string
		turns, instances int
	}{
		{"snapshot", 0, 1000}, {"snapshot", 0, 10_000}, {"snapshot", 0, 100_000}, {"scan", 0, 1000}, {"scan", 0, 10_000},
		{"snapshot", 10, 1000}, {"snapshot", 10, 10_000}, {"snapshot", 10, 100_000},
	} {
		b.Run(fmt.Sprintf("%s/turns=%d/instances=%d", tt.from, tt.turns, tt.instances), func(b *testing.B) {
			suffix := fmt.Sprint("-", tt.from, "-", tt.turns, "-", tt.instances)
			env := map[string]string{
				"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
				"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "REGISTRY_ANONYMOUS": "true", "REGISTRY_STREAMING": "true", "REGISTRY_CACHE_REFRESH": "1s",
				"REGISTRY_LEASE_TABLE": "leases" + suffix, "REGISTRY_DELTA_TABLE": "deltas" + suffix,
			}
			s := fillTables(b, env, tt.from, tt.instances)
			change := func() {
				time.Sleep(time.Second) // the function's clock is a real one
				require.NoError(b, s.Put(b.Context(), changes(tt.instances, time.Now())))
			}
			for b.Loop() {
				c := launch(b, binary, env)
				got := c.invoke(fullRead)
				for range tt.turns {
					change()
					got = c.invoke(fullRead)
				}
				require.Contains(b, got.body[:min(len(got.body), 200)], `"statusCode":200`)
				b.ReportMetric(memory(b, c.cmd.Process.Pid, "VmRSS"), "rss-MiB")
				b.ReportMetric(memory(b, c.cmd.Process.Pid, "VmHWM"), "peak-MiB")
				b.ReportMetric(float64(len(got.body)), "answer-bytes")
				c.end()
			}
			b.ReportMetric(0, "ns/op") // most of it is waiting
		})
	}
}

// memory returns a line of a process's status in /proc, in MiB.
func memory(b *testing.B, pid int, name string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(b, err)
	_, after, found := strings.Cut(string(status), name+":")
	require.True(b, found, "%s in %s", name, status)
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(b, err)
	return float64(kilobytes) / 1024
}

// fullRead is an event of a function URL.
const fullRead = `{"version": "2.0", "rawPath": "/eureka/apps", "headers": {"accept": "application/json", "accept-encoding": "gzip"},
	"requestContext": {"domainName": "abcdefghijklmnopqrstuvwxyz012345.lambda-url.us-east-1.on.aws", "http": {"method": "GET", "path": "/eureka/apps"}}}`

// changes are rows of instances, far apart from each other, that went down.
func changes(instances int, now time.Time) []delta.Row {
	var rows []delta.Row
	for n := range 100 {
		l := usualLease((n*instances/100+now.Second())%instances, now)
		l.Instance.Status, l.Instance.Action = eureka.Down, eureka.Modified
		rows = append(rows, delta.Row{
			Key: l.Key, Version: now.UnixMilli(), Instance: l.Instance, Sequence: strconv.Itoa(n), Written: now,
		})
	}
	return rows
}

// fillTables makes the tables hold instances, either in a snapshot or as leases.
func fillTables(b *testing.B, env map[string]string, where string, instances int) *store.Store {
	b.Helper()
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	cfg, err := boot.Load(lookup, boot.Local)
	require.NoError(b, err)
	client := store.ClientFrom(boot.LambdaConfig(lookup), store.ClientConfig{Endpoint: cfg.DynamoDBEndpoint})
	_, err = store.CreateTables(b.Context(), client, cfg.LeaseTable, cfg.DeltaTable)
	require.NoError(b, err)
	s := store.New(client, store.Config{LeaseTable: cfg.LeaseTable, DeltaTable: cfg.DeltaTable})
	now := time.Now()
	snapshot := &delta.Snapshot{Began: now}
	for n := range instances {
		l := usualLease(n, now)
		if where == "scan" {
			require.NoError(b, s.Register(b.Context(), registry.Registration{Lease: l}))
			continue
		}
		snapshot.Entries = append(snapshot.Entries, delta.Entry{Key: l.Key, Version: now.UnixMilli(), Instance: l.Effective()})
	}
	if where == "snapshot" {
		require.NoError(b, s.PutSnapshot(b.Context(), snapshot))
	}
	return s
}

// usualLease is the lease of a Spring Cloud application, ten of each.
func usualLease(n int, now time.Time) eureka.Lease {
	// A multiplication by an odd constant scatters the bits.
	h := uint32(n) * 2654435761
	ip := fmt.Sprintf("10.%d.%d.%d", h>>24, h>>16&255, h>>8&255)
	app := fmt.Sprintf("service-%05d", n/10)
	i := &eureka.InstanceInfo{
		InstanceID: fmt.Sprintf("host-%06d:%s:8080", n, app), HostName: ip, App: app, IPAddr: ip, Status: eureka.Up, OverriddenStatus: eureka.Unknown,
		Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 443}, CountryID: 1,
		DataCenter:  eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
		Lease:       eureka.LeaseInfo{RenewalInterval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration},
		Metadata:    map[string]string{"management.port": "8081", "zone": fmt.Sprint("eu-1", h%3), "version": fmt.Sprint(h % 50)},
		HomePageURL: "http://" + ip + ":8080/", StatusPageURL: "http://" + ip + ":8080/actuator/info",
		HealthCheckURL: "http://" + ip + ":8080/actuator/health", VIPAddress: app, SecureVIPAddress: app, Action: eureka.Added,
	}
	i.App = i.Key().App
	dirty := now.Add(-time.Duration(h%1e6) * time.Millisecond)
	return eureka.Lease{
		Key: i.Key(), Instance: i, Status: eureka.Up, Action: eureka.Added, Dirty: dirty,
		Updated: dirty, Registered: dirty, Renewed: dirty, ServiceUp: dirty,
		Interval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration,
	}
}
