package wire_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// The tests named H are what these cases say about reading and writing.

type object map[string]any

// complete returns the usual registration with members replaced; nil takes a
// member out.
func complete(replaced object) object {
	instance := object{
		"instanceId": "shop-1", "hostName": "shop-1.example.org", "app": "SHOP", "ipAddr": "192.0.2.10",
		"status": "UP", "overriddenStatus": "UNKNOWN",
		"port":       object{"$": 8080, "@enabled": "true"},
		"securePort": object{"$": 8443, "@enabled": "false"}, "countryId": 1,
		"dataCenterInfo": object{"@class": eureka.DefaultDataCenterClass, "name": "MyOwn"},
		"leaseInfo":      object{"renewalIntervalInSecs": 30, "durationInSecs": 90},
		"metadata":       object{"zone": "a"}, "vipAddress": "shop", "secureVipAddress": "shop",
		"lastUpdatedTimestamp": "1700000000000", "lastDirtyTimestamp": "1700000000000",
	}
	maps.Copy(instance, replaced)
	maps.DeleteFunc(instance, func(_ string, v any) bool { return v == nil })
	return instance
}

func body(t testing.TB, instance any) []byte {
	t.Helper()
	b, err := json.Marshal(object{"instance": instance})
	require.NoError(t, err)
	return b
}

func register(t testing.TB, instance any) (*eureka.InstanceInfo, error) {
	t.Helper()
	return wire.DecodeRegistration(wire.JSON, body(t, instance), wire.Limits{})
}

// refusedField returns the field that an error names.
func refusedField(t testing.TB, err error) string {
	t.Helper()
	var invalid *eureka.InvalidError
	require.ErrorAs(t, err, &invalid)
	assert.ErrorIs(t, err, eureka.ErrInvalid)
	assert.NotEmpty(t, invalid.Reason)
	return invalid.Field
}

func TestH1(t *testing.T) {
	members := []string{
		`"@class":"com.netflix.appinfo.AmazonInfo"`, `"name":"Amazon"`,
		`"metadata":{"instance-id":"i-01","instance-type":"m5.large"}`,
	}
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		center := fmt.Sprintf("{%s,%s,%s}", members[order[0]], members[order[1]], members[order[2]])
		i, err := register(t, complete(object{"dataCenterInfo": json.RawMessage(center)}))
		require.NoError(t, err, center)
		assert.Equal(t, eureka.DataCenterInfo{
			Class:    "com.netflix.appinfo.AmazonInfo",
			Name:     "Amazon",
			Metadata: map[string]string{"instance-id": "i-01", "instance-type": "m5.large"},
		}, i.DataCenter)
		out := string(wire.Encoding{}.AppendInstanceDocument(nil, i))
		assert.Contains(t, out, `"dataCenterInfo":{`+strings.Join(members, ",")+`}`)
	}
}

func TestH2(t *testing.T) {
	for _, c := range []struct {
		field string
		with  object
	}{
		{"port", object{"port": 8080}},
		{"port", object{"port": "8080"}},
		{"port.enabled", object{"port": object{"$": 8080, "enabled": "true"}}},
		{"securePort", object{"securePort": 8443}},
		{"securePort.number", object{"securePort": object{"number": 8443}}},
		{"dataCenterInfo.@class", object{"dataCenterInfo": object{"name": "MyOwn"}}},
		{"dataCenterInfo.name", object{"dataCenterInfo": object{"@class": eureka.DefaultDataCenterClass, "name": "Elsewhere"}}},
		{"dataCenterInfo.region", object{"dataCenterInfo": object{"@class": eureka.DefaultDataCenterClass, "name": "MyOwn", "region": "x"}}},
	} {
		i, err := register(t, complete(c.with))
		assert.Equal(t, c.field, refusedField(t, err))
		assert.Nil(t, i)
	}
	i, err := register(t, complete(object{"someday": object{"a": []int{1, 2}}, "sid": "na"}))
	require.NoError(t, err, "members that the protocol does not have are ignored in the instance")
	assert.Equal(t, "shop-1", i.InstanceID)
}

func TestH3(t *testing.T) {
	thin := object{
		"hostName": "thin-1.example.org", "app": "THIN", "ipAddr": "192.0.2.11",
		"dataCenterInfo": object{"@class": eureka.DefaultDataCenterClass, "name": "MyOwn"},
	}
	i, err := register(t, thin)
	require.NoError(t, err)
	assert.Equal(t, &eureka.InstanceInfo{
		HostName: "thin-1.example.org", App: "THIN", IPAddr: "192.0.2.11",
		Status: eureka.Up, OverriddenStatus: eureka.Unknown,
		Port: eureka.Port{Number: 7001, Enabled: true}, SecurePort: eureka.Port{Number: 7002},
		CountryID:  1,
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: "MyOwn"},
		Lease:      eureka.LeaseInfo{RenewalInterval: 30 * time.Second, Duration: 90 * time.Second},
	}, i)

	for _, f := range []wire.Format{wire.JSON, wire.XML} {
		for _, compact := range []bool{false, true} {
			e := wire.Encoding{Format: f, Compact: compact}
			out := e.AppendInstanceDocument(nil, i)
			assert.NotContains(t, string(out), "null")
			read, err := wire.DecodeInstance(f, out)
			require.NoError(t, err)
			assert.Equal(t, i, read, "%v", e)
		}
	}

	for _, required := range []string{"hostName", "ipAddr", "app", "dataCenterInfo"} {
		for _, none := range []any{nil, "", json.RawMessage("null")} {
			without := maps.Clone(thin)
			without[required] = none
			if none == nil {
				delete(without, required)
			}
			_, err := register(t, without)
			assert.Equal(t, required, refusedField(t, err))
		}
	}
}

func TestH4(t *testing.T) {
	for _, c := range []struct {
		with object
		want eureka.Status
	}{
		{object{"overriddenStatus": nil}, eureka.Unknown},
		{object{"overriddenStatus": ""}, eureka.Unknown},
		{object{"overriddenStatus": nil, "overriddenstatus": ""}, eureka.Unknown},
		{object{"overriddenStatus": nil, "overriddenstatus": "OUT_OF_SERVICE"}, eureka.OutOfService},
		{object{"overriddenStatus": "OUT_OF_SERVICE"}, eureka.OutOfService},
	} {
		i, err := register(t, complete(c.with))
		require.NoError(t, err)
		assert.Equal(t, c.want, i.OverriddenStatus)
		assert.Equal(t, eureka.Up, i.Status)
		assert.Contains(t, string(wire.Encoding{Format: wire.JSON}.AppendInstanceDocument(nil, i)),
			fmt.Sprintf(`"overriddenStatus":"%s"`, c.want))
		assert.Contains(t, string(wire.Encoding{Format: wire.XML}.AppendInstanceDocument(nil, i)),
			fmt.Sprintf(`<overriddenstatus>%s</overriddenstatus>`, c.want))
	}
	for _, spelling := range []string{"overriddenstatus", "overriddenStatus"} {
		i, err := wire.DecodeRegistration(wire.XML, []byte(strings.ReplaceAll(
			xmlRegistration, "<vipAddress/>", "<"+spelling+">DOWN</"+spelling+">")), wire.Limits{})
		require.NoError(t, err)
		assert.Equal(t, eureka.Down, i.OverriddenStatus)
	}
}

func TestH7(t *testing.T) {
	type seconds = time.Duration
	for _, c := range []struct {
		lease              string
		interval, duration seconds
	}{
		{`{}`, 30, 90},
		{`null`, 30, 90},
		{`{"durationInSecs": 0}`, 30, 90},
		{`{"durationInSecs": -5, "renewalIntervalInSecs": -1}`, 30, 90},
		{`{"renewalIntervalInSecs": 5}`, 5, 90},
		{`{"durationInSecs": "45", "renewalIntervalInSecs": "15"}`, 15, 45},
		{`{"durationInSecs": null}`, 30, 90},
		{`{"durationInSecs": ""}`, 30, 90},
		{`{"durationInSecs": 45.9}`, 30, 45},
	} {
		i, err := register(t, complete(object{"leaseInfo": json.RawMessage(c.lease)}))
		require.NoError(t, err, c.lease)
		assert.Equal(t, c.interval*time.Second, i.Lease.RenewalInterval, c.lease)
		assert.Equal(t, c.duration*time.Second, i.Lease.Duration, c.lease)
	}
	i, err := register(t, complete(object{"leaseInfo": nil}))
	require.NoError(t, err)
	assert.Equal(t, eureka.LeaseInfo{RenewalInterval: 30 * time.Second, Duration: 90 * time.Second}, i.Lease)

	_, err = register(t, complete(object{"leaseInfo": object{"durationInSecs": "soon"}}))
	assert.Equal(t, "leaseInfo.durationInSecs", refusedField(t, err))
	_, err = register(t, complete(object{"leaseInfo": object{"durationInSecs": 1 << 31}}))
	assert.Equal(t, "leaseInfo.durationInSecs", refusedField(t, err))
}

func TestH8NonASCIIMetadata(t *testing.T) {
	i, err := register(t, complete(object{"metadata": object{"name": "Zürich 東京"}}))
	require.NoError(t, err)
	for _, f := range []wire.Format{wire.JSON, wire.XML} {
		read, err := wire.DecodeInstance(f, wire.Encoding{Format: f}.AppendInstanceDocument(nil, i))
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"name": "Zürich 東京"}, read.Metadata)
	}
}

func TestH11(t *testing.T) {
	for _, host := range []string{"shop-a.example.org", "shop-b.example.org"} {
		for _, id := range []any{nil, ""} {
			i, err := register(t, complete(object{"instanceId": id, "hostName": host}))
			require.NoError(t, err)
			assert.Empty(t, i.InstanceID)
			assert.Equal(t, eureka.Key{App: "SHOP", ID: host}, i.Key())
			assert.NotContains(t, string(wire.Encoding{}.AppendInstanceDocument(nil, i)), "instanceId")
		}
	}
}
