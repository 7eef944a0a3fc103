package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadme: README.md shows what the program prints.
func TestReadme(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out))
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.True(t, strings.Contains(string(readme), out.String()), "README.md has other tables than `make cost`:\n%s", out.String())
}

// simple are prices that are easy to calculate with.
func simple() (*prices, *measured) {
	p := &prices{HoursAMonth: 100}
	p.DynamoDB.WriteUnit, p.DynamoDB.ReadUnit, p.DynamoDB.WriteCapacityHour, p.DynamoDB.ReadCapacityHour = 0.001, 0.0001, 0.01, 0.02
	p.Lambda.Request, p.Lambda.GBSecond = 0.002, 0.01
	p.HTTPAPI.Request, p.HTTPAPI.SecondTierRequest, p.HTTPAPI.FirstTierRequests, p.HTTPAPI.IncrementKB = 0.01, 0.005, 200_000, 512
	p.LoadBalancer.Hour, p.LoadBalancer.CapacityUnitHour = 1, 2
	p.LoadBalancer.NewConnections, p.LoadBalancer.ActiveConnections, p.LoadBalancer.LambdaGB = 25, 3000, 0.4
	p.EC2.T4gNanoHour, p.EC2.VolumeGB, p.EC2.VolumeGBMonth = 0.5, 8, 0.25
	p.Assumed.WriteGB, p.Assumed.APIGB, p.Assumed.WriteSeconds, p.Assumed.WriteFromMemorySeconds = 1, 2, 0.1, 0.05
	p.Assumed.ReadGB, p.Assumed.ReadSeconds = 1, 0.1
	p.Assumed.EvictGB, p.Assumed.EvictSeconds, p.Assumed.StreamGB, p.Assumed.StreamSeconds = 1, 1, 1, 1
	p.Assumed.HeartbeatKB, p.Assumed.ReadKB = 10, 10
	p.Assumed.Utilization, p.Assumed.ReadHeadroom = 0.5, 2
	m := &measured{
		Hours: []fleetHour{{Instances: 10, Containers: 4, Views: units{Read: 40}, Passes: units{Read: 7200, Write: 5}, Changes: units{Write: 3}}},
		RenewalWrites: []renewalWrites{
			{always, "1 function container", 120}, {seldom, "1 function container", 40}, {always, "two containers", 120}, {seldom, "two containers", 40},
		},
	}
	return p, m
}

// TestMonth calculates cells of the tables by hand: 10 instances, 100 hours,
// so 120,000 heartbeats and as many reads.
func TestMonth(t *testing.T) {
	const (
		// Views of two of four containers: 20 units at 0.0001. Changes: 3 units at
		// 0.001 and 3 invocations of 0.012. Passes: 5 units at 0.001, and 60
		// invocations of 0.002 + 0.01.
		rest     = 100 * (20*0.0001 + 3*0.001 + 3*0.012 + 5*0.001 + 60*0.012)
		scans    = 100 * 7200 * 0.0001
		reads    = 120_000 * (0.002 + 0.001)
		balancer = 100 * (1 + 2*(10*120*20/1e6)/0.4) // 0.024 GB an hour of 0.4 GB a unit
	)
	for name, tt := range map[string]struct {
		entry int
		fleet fleet
		want  float64
	}{
		"http, on demand, always": {0, fleet{10, false, always},
			120_000*(0.002+0.001) + reads + 200_000*0.01 + 40_000*0.005 + 120_000*0.001 + rest + scans},
		"url, on demand, seldom": {1, fleet{10, false, seldom},
			40_000*(0.002+0.002) + 80_000*(0.002+0.001) + reads + 40_000*0.001 + rest + scans},
		// 1,200 writes an hour are a third of a unit a second: at least one unit.
		// 7,200 read units an hour are 2 a second, 8 with headroom at half.
		"alb, provisioned, always": {2, fleet{10, true, always},
			120_000*(0.002+0.001) + reads + balancer + 100*1*0.01 + rest + 100*8*0.02},
		"two machines, on demand, seldom": {6, fleet{10, false, seldom},
			2*(100*0.5+8*0.25) + 40_000*0.001 + rest + scans},
	} {
		t.Run(name, func(t *testing.T) {
			p, m := simple()
			got, err := month(p, m, entries()[tt.entry], tt.fleet)
			require.NoError(t, err)
			assert.InDelta(t, tt.want, got, 1e-6)
		})
	}
	p, m := simple()
	_, err := month(p, m, entries()[0], fleet{11, false, always})
	assert.ErrorContains(t, err, "no hour of 11 instances")
}

// TestAlarmsAreCounted: the page's numbers of alarms are the templates'.
func TestAlarmsAreCounted(t *testing.T) {
	var p prices
	require.NoError(t, decode(pricesJSON, &p))
	alarms := regexp.MustCompile(`(?m)^    Type: AWS::CloudWatch::Alarm$`)
	for path, want := range map[string]float64{"../../template.yaml": p.Assumed.Alarms, "../../infra/containers.yaml": p.Assumed.ContainerAlarms} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.LessOrEqual(t, want, float64(len(alarms.FindAll(text, -1))), path)
		assert.GreaterOrEqual(t, want, float64(len(alarms.FindAll(text, -1)))*0.6, "%s: each entry has most of them", path)
	}
}
