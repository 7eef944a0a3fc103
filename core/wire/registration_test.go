package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// xmlRegistration is as thin as clients send them, with empty elements.
const xmlRegistration = `<?xml version="1.0" encoding="UTF-8"?>
<instance xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <!-- no class, no id -->
  <instanceId/><hostName>x-1</hostName><app>xml</app><ipAddr>192.0.2.1</ipAddr><status/>
  <port/><securePort enabled="true"> 8443 </securePort><countryId/>
  <dataCenterInfo xsi:type="any"><name>MyOwn</name><metadata/></dataCenterInfo>
  <leaseInfo/><metadata/><vipAddress/>
</instance>
`

func TestXMLRegistration(t *testing.T) {
	i, err := wire.DecodeRegistration(wire.XML, []byte(xmlRegistration), wire.Limits{})
	require.NoError(t, err)
	assert.Equal(t, &eureka.InstanceInfo{
		HostName: "x-1", App: "XML", IPAddr: "192.0.2.1",
		Status: eureka.Up, OverriddenStatus: eureka.Unknown,
		Port: eureka.Port{Number: 7001, Enabled: true}, SecurePort: eureka.Port{Number: 8443, Enabled: true},
		CountryID:  1,
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: "MyOwn"},
		Lease:      eureka.LeaseInfo{RenewalInterval: 30 * time.Second, Duration: 90 * time.Second},
	}, i)
}

func TestLenientTypes(t *testing.T) {
	for _, c := range []struct {
		name string
		with object
		want func(*eureka.InstanceInfo)
	}{
		{"port as text", object{"port": object{"$": "81", "@enabled": "False"}},
			func(i *eureka.InstanceInfo) { i.Port = eureka.Port{Number: 81} }},
		{"enabled as boolean", object{"securePort": object{"$": 8443, "@enabled": true}},
			func(i *eureka.InstanceInfo) { i.SecurePort.Enabled = true }},
		{"enabled not given", object{"port": object{"$": 81}},
			func(i *eureka.InstanceInfo) { i.Port.Number = 81 }},
		{"number not given", object{"securePort": object{"@enabled": "true"}},
			func(i *eureka.InstanceInfo) { i.SecurePort = eureka.Port{Number: 7002, Enabled: true} }},
		{"port null", object{"port": json.RawMessage("null")},
			func(i *eureka.InstanceInfo) { i.Port = eureka.Port{Number: 7001, Enabled: true} }},
		{"HTTP off", object{"port": object{"$": -1, "@enabled": "true"}},
			func(i *eureka.InstanceInfo) { i.Port.Number = -1 }},
		{"numbers as texts", object{"countryId": "49", "lastDirtyTimestamp": 1.8e12},
			func(i *eureka.InstanceInfo) { i.CountryID, i.LastDirty = 49, time.UnixMilli(1.8e12).UTC() }},
		{"a text as a number", object{"hostName": 5, "vipAddress": true},
			func(i *eureka.InstanceInfo) { i.HostName, i.VIPAddress = "5", "true" }},
		{"empty texts", object{"vipAddress": "", "lastDirtyTimestamp": "", "status": "", "countryId": "", "metadata": "", "leaseInfo": ""},
			func(i *eureka.InstanceInfo) { i.VIPAddress, i.LastDirty, i.Metadata = "", time.Time{}, nil }},
		{"time not given", object{"lastDirtyTimestamp": nil},
			func(i *eureka.InstanceInfo) { i.LastDirty = time.Time{} }},
		{"time of none", object{"lastDirtyTimestamp": 0},
			func(i *eureka.InstanceInfo) { i.LastDirty = time.Time{} }},
		{"lower-case application and group", object{"app": "shop", "appGroupName": "trade"},
			func(i *eureka.InstanceInfo) { i.AppGroup = "TRADE" }},
		{"lower-case status", object{"status": "up"},
			func(i *eureka.InstanceInfo) { i.Status = eureka.Unknown }},
		{"metadata of other types", object{"metadata": object{"n": 1.50, "b": true, "null": nil, "@class": "x"}},
			func(i *eureka.InstanceInfo) { i.Metadata = map[string]string{"n": "1.5", "b": "true"} }},
		{"the other Java class", object{"dataCenterInfo": object{"@class": "com.netflix.appinfo.MyDataCenterInfo", "name": "MyOwn"}},
			func(i *eureka.InstanceInfo) {}},
		{"data centre metadata outside Amazon", object{"dataCenterInfo": object{"@class": eureka.DefaultDataCenterClass, "name": "Netflix", "metadata": object{"a": "b"}}},
			func(i *eureka.InstanceInfo) { i.DataCenter.Name = "Netflix" }},
		{"Amazon without an instance id", object{"dataCenterInfo": object{"@class": eureka.AmazonDataCenterClass, "name": "Amazon"}},
			func(i *eureka.InstanceInfo) {
				i.DataCenter = eureka.DataCenterInfo{Class: eureka.AmazonDataCenterClass, Name: "Amazon", Metadata: map[string]string{"instance-id": "shop-1"}}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := register(t, complete(nil))
			require.NoError(t, err)
			c.want(want)
			got, err := register(t, complete(c.with))
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

// The registry says these itself; what a client says is not even looked at.
func TestRegistryFieldsAreIgnored(t *testing.T) {
	want, err := register(t, complete(nil))
	require.NoError(t, err)
	got, err := register(t, complete(object{
		"isCoordinatingDiscoveryServer": "true", "lastUpdatedTimestamp": "soon", "actionType": "DELETED",
		"leaseInfo": object{"registrationTimestamp": 5, "lastRenewalTimestamp": 5, "evictionTimestamp": 5, "serviceUpTimestamp": "x"},
	}))
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.True(t, got.LastUpdated.IsZero())
	assert.False(t, got.LastDirty.IsZero())
}

func TestDuplicateMembers(t *testing.T) {
	i, err := wire.DecodeRegistration(wire.JSON, []byte(`{"instance": {"hostName": "a", "hostName": "b", "app": "P", "ipAddr": "1",
		"port": {"$": 1, "@enabled": "false"}, "port": {"$": 2},
		"metadata": {"a": "1"}, "metadata": {"b": "2", "b": "3"},
		"dataCenterInfo": {"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": {"a": "1"}},
		"dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`), wire.Limits{})
	require.NoError(t, err)
	assert.Equal(t, "b", i.HostName)
	assert.Equal(t, eureka.Port{Number: 2, Enabled: true}, i.Port)
	assert.Equal(t, map[string]string{"b": "3"}, i.Metadata)
	assert.Equal(t, eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: "MyOwn"}, i.DataCenter)
}

func TestRefusedFields(t *testing.T) {
	amazon := func(name string) object {
		return object{"@class": eureka.AmazonDataCenterClass, "name": name, "metadata": object{}}
	}
	for _, c := range []struct {
		field string
		with  object
	}{
		{"hostName", object{"hostName": " "}},
		{"hostName", object{"hostName": object{"a": 1}}},
		{"status", object{"status": []string{"UP"}}},
		{"overriddenStatus", object{"overriddenstatus": object{}}},
		{"vipAddress", object{"vipAddress": []string{"a", "b"}}},
		{"countryId", object{"countryId": "one"}},
		{"countryId", object{"countryId": 1 << 40}},
		{"countryId", object{"countryId": object{}}},
		{"lastDirtyTimestamp", object{"lastDirtyTimestamp": "soon"}},
		{"lastDirtyTimestamp", object{"lastDirtyTimestamp": "NaN"}},
		{"lastDirtyTimestamp", object{"lastDirtyTimestamp": "Infinity"}},
		{"lastDirtyTimestamp", object{"lastDirtyTimestamp": json.RawMessage("1e300")}},
		{"lastDirtyTimestamp", object{"lastDirtyTimestamp": json.RawMessage("99999999999999999999")}},
		{"port", object{"port": []int{80}}},
		{"port.$", object{"port": object{"$": "http"}}},
		{"port.$", object{"port": object{"$": 65536}}},
		{"port.$", object{"port": object{"$": -2}}},
		{"port.$", object{"port": object{"$": object{}}}},
		{"port.@enabled", object{"port": object{"@enabled": "yes"}}},
		{"securePort.@enabled", object{"securePort": object{"@enabled": []bool{true}}}},
		{"leaseInfo", object{"leaseInfo": 30}},
		{"leaseInfo.renewalIntervalInSecs", object{"leaseInfo": object{"renewalIntervalInSecs": object{}}}},
		{"metadata", object{"metadata": []string{"a"}}},
		{"metadata", object{"metadata": "a=b"}},
		{"metadata.a", object{"metadata": object{"a": object{"b": "c"}}}},
		{"metadata." + strings.Repeat("k", 64) + "…", object{"metadata": object{strings.Repeat("k", 1000): []int{}}}},
		{"dataCenterInfo", object{"dataCenterInfo": "MyOwn"}},
		{"dataCenterInfo.@class", object{"dataCenterInfo": object{"@class": "org.example.Elsewhere", "name": "MyOwn"}}},
		{"dataCenterInfo.@class", object{"dataCenterInfo": object{"@class": eureka.DefaultDataCenterClass, "name": "Amazon"}}},
		{"dataCenterInfo.@class", object{"dataCenterInfo": amazon("MyOwn")}},
		{"dataCenterInfo.name", object{"dataCenterInfo": amazon("")}},
		{"dataCenterInfo.name", object{"dataCenterInfo": amazon("amazon")}},
		{"dataCenterInfo.metadata.a", object{"dataCenterInfo": object{"@class": eureka.AmazonDataCenterClass, "name": "Amazon", "metadata": object{"a": object{}}}}},
	} {
		i, err := register(t, complete(c.with))
		assert.Equal(t, c.field, refusedField(t, err), "%v", c.with)
		assert.Nil(t, i)
	}
}

func TestRefusedBodies(t *testing.T) {
	deep := strings.Repeat("<a>", 50_000)
	for _, c := range []struct {
		name   string
		format wire.Format
		field  string
		body   string
	}{
		{"empty", wire.JSON, "body", ""},
		{"white space", wire.JSON, "body", " \n"},
		{"half", wire.JSON, "body", `{"instance": {`},
		{"text", wire.JSON, "body", "hello"},
		{"NaN", wire.JSON, "body", `{"instance": {"countryId": NaN}}`},
		{"something behind", wire.JSON, "body", string(body(t, complete(nil))) + "x"},
		{"two documents", wire.JSON, "body", strings.Repeat(string(body(t, complete(nil))), 2)},
		{"too deep", wire.JSON, "body", `{"instance":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `}`},
		{"list", wire.JSON, "instance", `[]`},
		{"number", wire.JSON, "instance", `5`},
		{"other root", wire.JSON, "instance", `{"application": {}}`},
		{"without root", wire.JSON, "instance", `{"hostName": "a"}`},
		{"instance null", wire.JSON, "instance", `{"instance": null}`},
		{"instance a list", wire.JSON, "instance", `{"instance": []}`},
		{"empty", wire.XML, "body", ""},
		{"white space", wire.XML, "instance", "<?xml version='1.0'?> <!-- nothing -->"},
		{"JSON", wire.XML, "body", `{"instance": {}}`},
		{"half", wire.XML, "body", `<instance><hostName>a`},
		{"half a tag", wire.XML, "body", `<instance><hostNa`},
		{"no root end", wire.XML, "body", `<instance><hostName>a</hostName>`},
		{"crossed", wire.XML, "body", `<instance><a><b></a></b></instance>`},
		{"other root", wire.XML, "instance", `<application/>`},
		{"two roots", wire.XML, "body", `<instance/><instance/>`},
		{"something behind", wire.XML, "body", `<instance/>x`},
		{"document type", wire.XML, "body", `<!DOCTYPE instance><instance/>`},
		{"entity", wire.XML, "body", `<!DOCTYPE instance [<!ENTITY e SYSTEM "file:///etc/passwd">]><instance><app>&e;</app></instance>`},
		{"undeclared entity", wire.XML, "body", `<instance><app>&e;</app></instance>`},
		{"document type inside", wire.XML, "body", `<instance><!DOCTYPE a></instance>`},
		{"other charset", wire.XML, "body", `<?xml version="1.0" encoding="UTF-16"?><instance/>`},
		{"control character", wire.XML, "body", `<instance><app>&#x1;</app></instance>`},
		{"not UTF-8", wire.XML, "body", "<instance><app>\xff</app></instance>"},
		{"empty instance", wire.XML, "hostName", `<instance/>`},
		{"port attribute", wire.XML, "port.@enable", `<instance><port enable="true">80</port></instance>`},
		{"port with parts", wire.XML, "port.$", `<instance><port><number>80</number></port></instance>`},
		{"data centre attribute", wire.XML, "dataCenterInfo.@type", `<instance><dataCenterInfo type="x"><name>MyOwn</name></dataCenterInfo></instance>`},
		{"data centre part", wire.XML, "dataCenterInfo.region", `<instance><dataCenterInfo><name>MyOwn</name><region/></dataCenterInfo></instance>`},
		{"data centre name", wire.XML, "dataCenterInfo.name", `<instance><dataCenterInfo><name/></dataCenterInfo></instance>`},
		{"nested metadata", wire.XML, "metadata.a", `<instance><metadata><a><b>1</b></a></metadata></instance>`},
	} {
		t.Run(fmt.Sprint(c.format, " ", c.name), func(t *testing.T) {
			i, err := wire.DecodeRegistration(c.format, []byte(c.body), wire.Limits{})
			assert.Equal(t, c.field, refusedField(t, err))
			assert.Nil(t, i)
		})
	}
	_, err := wire.DecodeRegistration(wire.XML, []byte("<instance>"+deep), wire.Limits{})
	assert.ErrorIs(t, err, eureka.ErrTooLarge)
}

// A refusal quotes what it refuses, but not at any length.
func TestRefusalsAreShort(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	for _, c := range []struct {
		format wire.Format
		body   string
	}{
		{wire.XML, "<instance><a>&" + long + ";</a></instance>"},
		{wire.XML, "<instance><" + long + "></a></instance>"},
		{wire.XML, "<" + long + "/>"},
		{wire.XML, `<?xml version="1.0" encoding="` + long + `"?><instance/>`},
		{wire.XML, `<instance><port ` + long + `="1">80</port></instance>`},
		{wire.JSON, `{"instance":{"port":{"` + long + `":1}}}`},
		{wire.JSON, `{"instance":{"dataCenterInfo":{"@class":"` + long + `","name":"` + long + `"}}}`},
		{wire.JSON, `{"instance":{"metadata":{"` + long + `":{}}}}`},
		{wire.JSON, `{"instance":` + long},
	} {
		_, err := wire.DecodeRegistration(c.format, []byte(c.body), wire.Limits{})
		require.Error(t, err)
		assert.Less(t, len(err.Error()), 400, "%.100s", c.body)
	}
}

func TestMetadataLimit(t *testing.T) {
	limits := wire.Limits{MaxMetadata: 2}
	two := object{"a": "1", "b": "2"}
	three := object{"a": "1", "b": "2", "c": "3"}
	amazon := func(m object) object {
		return object{"@class": eureka.AmazonDataCenterClass, "name": "Amazon", "metadata": m}
	}
	_, err := wire.DecodeRegistration(wire.JSON, body(t, complete(object{"metadata": two, "dataCenterInfo": amazon(two)})), limits)
	require.NoError(t, err)
	for field, with := range map[string]object{
		"metadata":                {"metadata": three},
		"dataCenterInfo.metadata": {"dataCenterInfo": amazon(three)},
	} {
		_, err := wire.DecodeRegistration(wire.JSON, body(t, complete(with)), limits)
		var invalid *eureka.InvalidError
		require.ErrorAs(t, err, &invalid)
		assert.ErrorIs(t, err, eureka.ErrTooLarge)
		assert.Equal(t, field, invalid.Field)
	}
}

func TestByteOrderMark(t *testing.T) {
	_, err := wire.DecodeRegistration(wire.JSON, append([]byte("\xEF\xBB\xBF"), body(t, complete(nil))...), wire.Limits{})
	assert.NoError(t, err)
	_, err = wire.DecodeRegistration(wire.XML, []byte("\xEF\xBB\xBF"+xmlRegistration), wire.Limits{})
	assert.NoError(t, err)
}

func TestReplicationItemsStandAlone(t *testing.T) {
	good := complete(nil)
	b, err := json.Marshal(object{"replicationList": []any{
		object{"appName": "SHOP", "id": "shop-1", "action": "Register", "instanceInfo": complete(object{"port": 8080})},
		object{"appName": "SHOP", "id": "shop-1", "action": "StatusUpdate", "status": "SLEEPING"},
		"nonsense",
		object{"appName": "SHOP", "id": "shop-1", "action": "Heartbeat", "lastDirtyTimestamp": "soon"},
		object{"appName": "SHOP", "id": "shop-1", "action": "Register", "instanceInfo": good, "more": []int{1}},
		object{"appName": "SHOP", "id": "shop-1", "action": "Cancel", "instanceInfo": json.RawMessage("null"), "overriddenStatus": "DOWN"},
	}})
	require.NoError(t, err)
	items, err := wire.DecodeReplication(b, wire.Limits{})
	require.NoError(t, err)
	require.Len(t, items, 6)
	for n, field := range []string{"instanceInfo.port", "status", "replicationList", "lastDirtyTimestamp"} {
		assert.Equal(t, field, refusedField(t, items[n].Err))
	}
	assert.Nil(t, items[0].Instance)
	assert.Empty(t, items[1].Status)
	require.NoError(t, items[4].Err)
	assert.Equal(t, "shop-1", items[4].Instance.InstanceID)
	require.NoError(t, items[5].Err)
	assert.Nil(t, items[5].Instance)
	assert.Equal(t, eureka.Down, items[5].OverriddenStatus)

	for _, c := range []struct{ field, body string }{
		{"body", `{`}, {"replicationList", `{}`}, {"replicationList", `{"replicationList": {}}`},
	} {
		_, err := wire.DecodeReplication([]byte(c.body), wire.Limits{})
		assert.Equal(t, c.field, refusedField(t, err))
	}
	empty, err := wire.DecodeReplication([]byte(`{"replicationList": []}`), wire.Limits{})
	require.NoError(t, err)
	assert.Empty(t, empty)
}
