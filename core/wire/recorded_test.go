package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// exchange is a request to a real Eureka server, and its answer.
type exchange struct {
	Name     string            `json:"name"`
	Method   string            `json:"method"`
	Path     string            `json:"path"`
	Headers  map[string]string `json:"headers"`
	Body     string            `json:"body"`
	Response struct {
		Status int    `json:"status"`
		Body   string `json:"body"`
	} `json:"response"`
}

// recorded returns all exchanges of the recording.
func recorded(t testing.TB) []exchange {
	t.Helper()
	f, err := os.Open("testdata/recorded.jsonl")
	require.NoError(t, err)
	defer f.Close()
	var out []exchange
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e exchange
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		out = append(out, e)
	}
	require.NoError(t, lines.Err())
	require.Len(t, out, 178)
	return out
}

// encoding returns the encoding of a recorded answer, by what the body is.
func (e exchange) encoding() wire.Encoding {
	encoding := wire.Encoding{Compact: e.Headers["X-Eureka-Accept"] == "compact"}
	if strings.HasPrefix(e.Response.Body, "<") {
		encoding.Format = wire.XML
	}
	return encoding
}

// recode decodes a document of any kind and encodes what was understood.
func recode(t testing.TB, e wire.Encoding, body string) string {
	t.Helper()
	switch documentRoot(body) {
	case "applications":
		a, err := wire.DecodeApplications(e.Format, []byte(body))
		require.NoError(t, err)
		return string(e.AppendApplications(nil, a))
	case "application":
		a, err := wire.DecodeApplication(e.Format, []byte(body))
		require.NoError(t, err)
		return string(e.AppendApplicationDocument(nil, a))
	case "instance":
		i, err := wire.DecodeInstance(e.Format, []byte(body))
		require.NoError(t, err)
		return string(e.AppendInstanceDocument(nil, i))
	case "responseList":
		r, err := wire.DecodeReplicationResults([]byte(body))
		require.NoError(t, err)
		return string(wire.AppendReplicationResults(nil, r))
	}
	return ""
}

func documentRoot(body string) string {
	root := regexp.MustCompile(`^(?:\{"|<)(applications|application|instance|responseList)\b`).FindStringSubmatch(body)
	if root == nil {
		return ""
	}
	return root[1]
}

var (
	jsonMetadata = regexp.MustCompile(`"metadata":\{[^}]*\}`)
	jsonEntry    = regexp.MustCompile(`"(?:[^"\\]|\\.)*":"(?:[^"\\]|\\.)*"`)
	xmlMetadata  = regexp.MustCompile(`(?s)<metadata>.*?</metadata>`)
	xmlEntry     = regexp.MustCompile(`<[^/>]+>[^<]*</[^>]+>`)
)

// sortMetadata orders metadata entries within a body, whose order is that of a
// Java hash map in the recording and nobody's business.
func sortMetadata(body string) string {
	sortEntries := func(entry *regexp.Regexp) func(string) string {
		return func(metadata string) string {
			entries := entry.FindAllString(metadata, -1)
			slices.Sort(entries)
			n := -1
			return entry.ReplaceAllStringFunc(metadata, func(string) string { n++; return entries[n] })
		}
	}
	body = jsonMetadata.ReplaceAllStringFunc(body, func(s string) string {
		return `"metadata":` + sortEntries(jsonEntry)(strings.TrimPrefix(s, `"metadata":`))
	})
	return xmlMetadata.ReplaceAllStringFunc(body, func(s string) string {
		inner := strings.TrimSuffix(strings.TrimPrefix(s, "<metadata>"), "</metadata>")
		return "<metadata>" + sortEntries(xmlEntry)(inner) + "</metadata>"
	})
}

// Every recorded body comes out as it went in, byte for byte.
func TestGolden(t *testing.T) {
	kinds := map[wire.Encoding]int{}
	for _, e := range recorded(t) {
		if documentRoot(e.Response.Body) == "" {
			continue
		}
		kinds[e.encoding()]++
		t.Run(e.Name, func(t *testing.T) {
			assert.Equal(t, sortMetadata(e.Response.Body), sortMetadata(recode(t, e.encoding(), e.Response.Body)))
		})
	}
	assert.Len(t, kinds, 4, "the recording has both formats, full and compact: %v", kinds)
}

// The members that the recording has nowhere, where a stock server writes them.
func TestGoldenRareFields(t *testing.T) {
	for _, e := range []struct {
		encoding wire.Encoding
		body     string
	}{
		{wire.Encoding{Format: wire.JSON}, `{"instance":{"instanceId":"p1","hostName":"p1","app":"P","ipAddr":"10.0.0.7","status":"UP","overriddenStatus":"UNKNOWN","port":{"$":8080,"@enabled":"true"},"securePort":{"$":443,"@enabled":"false"},"countryId":1,"dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"Netflix"},"leaseInfo":{"renewalIntervalInSecs":30,"durationInSecs":90,"registrationTimestamp":1795991647255,"lastRenewalTimestamp":1795991647255,"evictionTimestamp":0,"serviceUpTimestamp":1795991647257},"metadata":{"zone":"eu-1a"},"appGroupName":"GRP","homePageUrl":"http://p1:8080/","statusPageUrl":"http://p1:8080/actuator/info","healthCheckUrl":"http://p1:8080/actuator/health","secureHealthCheckUrl":"https://h/","vipAddress":"p","secureVipAddress":"p","isCoordinatingDiscoveryServer":"false","lastUpdatedTimestamp":"1795991647258","lastDirtyTimestamp":"1700000000000","actionType":"ADDED","asgName":"asg"}}`},
		{wire.Encoding{Format: wire.JSON, Compact: true}, `{"application":{"name":"P","instance":[{"instanceId":"p1","app":"P","ipAddr":"10.0.0.7","dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"hostName":"p1","status":"UP","lastUpdatedTimestamp":1795991647258,"actionType":"ADDED","asgName":"asg","port":{"$":8080,"@enabled":"true"},"securePort":{"$":443,"@enabled":"false"}}]}}`},
		{wire.Encoding{Format: wire.JSON, Compact: true}, `{"applications":{"application":[],"versions__delta":"1","apps__hashcode":""}}`},
		{wire.Encoding{Format: wire.XML, Compact: true}, `<applications><versions__delta>1</versions__delta><apps__hashcode></apps__hashcode></applications>`},
		{wire.Encoding{Format: wire.XML, Compact: true}, `<application><name>P</name><instance><instanceId>p1</instanceId><app>P</app><ipAddr>10.0.0.7</ipAddr><dataCenterInfo class="com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"><name>MyOwn</name></dataCenterInfo><hostName>p1</hostName><status>UP</status><lastUpdatedTimestamp>1795991647258</lastUpdatedTimestamp><actionType>ADDED</actionType><asgName>asg</asgName><port enabled="true">8080</port><securePort enabled="false">443</securePort></instance></application>`},
		{wire.Encoding{Format: wire.XML}, `<instance>
  <hostName>p1</hostName>
  <app>P</app>
  <ipAddr>10.0.0.7</ipAddr>
  <status>UP</status>
  <overriddenstatus>UNKNOWN</overriddenstatus>
  <port enabled="true">8080</port>
  <securePort enabled="false">443</securePort>
  <countryId>1</countryId>
  <dataCenterInfo class="com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo">
    <name>MyOwn</name>
  </dataCenterInfo>
  <leaseInfo>
    <renewalIntervalInSecs>30</renewalIntervalInSecs>
    <durationInSecs>90</durationInSecs>
    <registrationTimestamp>1795991647255</registrationTimestamp>
    <lastRenewalTimestamp>1795991647255</lastRenewalTimestamp>
    <evictionTimestamp>0</evictionTimestamp>
    <serviceUpTimestamp>0</serviceUpTimestamp>
  </leaseInfo>
  <metadata>
    <a_.0020b>1</a_.0020b>
    <a__b_-c>5</a__b_-c>
    <q>&apos;&quot;&amp;&lt;&gt;]]&gt;</q>
    <r>tab	nl
cr&#xd;end</r>
    <s>  pad  </s>
    <é>😀</é>
  </metadata>
  <appGroupName>GRP</appGroupName>
  <secureHealthCheckUrl>https://h/</secureHealthCheckUrl>
  <isCoordinatingDiscoveryServer>false</isCoordinatingDiscoveryServer>
  <lastUpdatedTimestamp>1795991647258</lastUpdatedTimestamp>
  <lastDirtyTimestamp>1700000000000</lastDirtyTimestamp>
  <asgName>asg</asgName>
</instance>`},
	} {
		assert.Equal(t, sortMetadata(e.body), sortMetadata(recode(t, e.encoding, e.body)))
	}
}

// Registrations are taken and refused as the recorded server does, but for the
// two that are decided otherwise or elsewhere.
func TestRecordedRegistrations(t *testing.T) {
	exceptions := map[string]bool{
		"register: unknown fields":           true, // taken: a newer client must not be locked out
		"refuse: another application's name": true, // compared with the path by the caller
	}
	for _, e := range recorded(t) {
		if e.Method != "POST" || !strings.HasPrefix(e.Path, "/apps/") || e.Response.Status == 415 {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			format := wire.JSON
			if e.Headers["Content-Type"] == "application/xml" {
				format = wire.XML
			}
			i, err := wire.DecodeRegistration(format, []byte(e.Body), wire.Limits{})
			if e.Response.Status == 204 || exceptions[e.Name] {
				require.NoError(t, err)
				assert.Equal(t, strings.ToUpper(i.App), i.App)
				return
			}
			var invalid *eureka.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.ErrorIs(t, err, eureka.ErrInvalid)
			assert.NotEmpty(t, invalid.Field)
		})
	}
}

// What was registered is what the recorded server then shows, but for what a
// registry adds.
func TestRecordedRegistrationsAsRead(t *testing.T) {
	bodies := map[string]exchange{}
	for _, e := range recorded(t) {
		bodies[e.Name] = e
	}
	for registered, read := range map[string]string{
		"register: JSON":                                         "read: one instance as JSON",
		"register: an Amazon data centre":                        "read: the Amazon instance",
		"register: XML":                                          "read: instance registered as XML",
		"register: no instanceId, the host name serves":          "read: instance known by its host name",
		"register: no lease information":                         "read: no lease information",
		"register: no metadata":                                  "read: no metadata",
		"register: class marker in metadata":                     "read: class marker in metadata",
		"register: port as text":                                 "read: port as text",
		"register: enabled as a boolean":                         "read: enabled as a boolean",
		"register: non-ASCII metadata":                           "read: non-ASCII metadata",
		"register: status unknown to the protocol":               "read: status unknown to the protocol",
		"rules: registers with an override of its own":           "rules: registers with an override of its own, as seen",
		"rules: field name of the override in XML style":         "rules: field name of the override in XML style, as seen",
		"register: instance id with a colon":                     "read: instance id with a colon",
		"removed: registers again with the same dirty timestamp": "removed: registers again, as seen",
	} {
		t.Run(registered, func(t *testing.T) {
			format := wire.JSON
			if bodies[registered].Headers["Content-Type"] == "application/xml" {
				format = wire.XML
			}
			got, err := wire.DecodeRegistration(format, []byte(bodies[registered].Body), wire.Limits{})
			require.NoError(t, err)
			want, err := wire.DecodeInstance(wire.JSON, []byte(bodies[read].Response.Body))
			require.NoError(t, err)
			if want.OverriddenStatus != eureka.Unknown {
				want.Status = got.Status // the registry makes it of both
			}
			want.Action, want.LastUpdated = "", got.LastUpdated
			want.Lease = eureka.LeaseInfo{RenewalInterval: want.Lease.RenewalInterval, Duration: want.Lease.Duration}
			assert.Equal(t, want, got)
		})
	}
}

func TestRecordedReplicationBatch(t *testing.T) {
	all := recorded(t)
	batch := all[slices.IndexFunc(all, func(e exchange) bool { return e.Name == "peers: a batch" })]
	items, err := wire.DecodeReplication([]byte(batch.Body), wire.Limits{})
	require.NoError(t, err)
	require.Len(t, items, 7)
	for _, item := range items {
		assert.NoError(t, item.Err)
		assert.Equal(t, "PEER", item.App)
		assert.Equal(t, item.Action == "Register", item.Instance != nil)
	}
	assert.Equal(t, "peer-1", items[0].Instance.InstanceID)
	assert.Equal(t, "DeleteStatusOverride", items[5].Action)
	assert.Equal(t, int64(1700000000002), items[5].LastDirty.UnixMilli())
	assert.Equal(t, eureka.OutOfService, items[4].Status)

	again, err := wire.DecodeReplication(wire.AppendReplication(nil, items), wire.Limits{})
	require.NoError(t, err)
	assert.Equal(t, items, again)
	assert.True(t, bytes.HasPrefix([]byte(batch.Response.Body), []byte(`{"responseList":`)), "TestGolden holds the answer")
}
