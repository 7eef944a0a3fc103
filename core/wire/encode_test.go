package wire_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// allEncodings are the four shapes of answers.
var allEncodings = []wire.Encoding{
	{Format: wire.JSON}, {Format: wire.JSON, Compact: true},
	{Format: wire.XML}, {Format: wire.XML, Compact: true},
}

// fleet returns a registry of n instances in applications of ten, as Spring
// Cloud clients make it.
func fleet(n int) *eureka.Applications {
	out := &eureka.Applications{Version: 1}
	for k := range n {
		name := fmt.Sprintf("APP-%04d", k/10)
		host := fmt.Sprintf("ip-10-0-%d-%d.ec2.internal", k/250, k%250)
		lower := strings.ToLower(name)
		at := time.UnixMilli(1_700_000_000_000 + int64(k)).UTC()
		i := &eureka.InstanceInfo{
			InstanceID: fmt.Sprintf("%s:%s:8080", host, lower), HostName: host, App: name, IPAddr: "10.0.0.7",
			Status: eureka.Up, OverriddenStatus: eureka.Unknown,
			Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 443}, CountryID: 1,
			DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: "MyOwn"},
			Lease: eureka.LeaseInfo{RenewalInterval: 30 * time.Second, Duration: 90 * time.Second,
				Registered: at, LastRenewed: at, ServiceUp: at},
			Metadata:    map[string]string{"management.port": "8081", "zone": "us-east-1a", "version": "1.4.2"},
			HomePageURL: "http://" + host + ":8080/", StatusPageURL: "http://" + host + ":8080/actuator/info",
			HealthCheckURL: "http://" + host + ":8080/actuator/health",
			VIPAddress:     lower, SecureVIPAddress: lower,
			LastUpdated: at, LastDirty: at, Action: eureka.Added,
		}
		if k%10 == 0 {
			out.Applications = append(out.Applications, eureka.Application{Name: name})
		}
		last := &out.Applications[len(out.Applications)-1]
		last.Instances = append(last.Instances, i)
	}
	out.HashCode = eureka.HashCode(out.Applications)
	return out
}

// assertWellFormed checks a document by the standard library's own parsers.
func assertWellFormed(t assert.TestingT, f wire.Format, document []byte) {
	if f == wire.JSON {
		assert.True(t, json.Valid(document), "%s", document)
		return
	}
	decoder := xml.NewDecoder(strings.NewReader(string(document)))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if !assert.NoError(t, err, "%s", document) {
			return
		}
	}
}

func TestPiecesJoin(t *testing.T) {
	a := fleet(45)
	for _, e := range allEncodings {
		var pieces [][]byte
		for n := range a.Applications {
			pieces = append(pieces, e.AppendApplication(nil, &a.Applications[n], true))
		}
		joined := e.AppendOpening(nil, a.Version, a.HashCode)
		for n, piece := range pieces {
			if n > 0 {
				joined = e.AppendSeparator(joined)
			}
			joined = append(joined, piece...)
		}
		joined = e.AppendClosing(joined, a.Version, a.HashCode)
		assert.Equal(t, string(e.AppendApplications(nil, a)), string(joined), "%v", e)
		assertWellFormed(t, e.Format, joined)

		read, err := wire.DecodeApplications(e.Format, joined)
		require.NoError(t, err)
		assert.Len(t, read.Applications, 5)
		assert.Equal(t, a.HashCode, read.HashCode)
	}
}

func TestAppendersKeepWhatIsThere(t *testing.T) {
	a := fleet(1)
	i := a.Applications[0].Instances[0]
	for _, e := range allEncodings {
		assert.Equal(t, "before"+string(e.AppendInstanceDocument(nil, i)), string(e.AppendInstanceDocument([]byte("before"), i)))
		assert.Equal(t, "before"+string(e.AppendApplicationDocument(nil, &a.Applications[0])), string(e.AppendApplicationDocument([]byte("before"), &a.Applications[0])))
		assert.Equal(t, "before"+string(e.AppendApplications(nil, a)), string(e.AppendApplications([]byte("before"), a)))
	}
}

func TestAppendersDoNotAllocate(t *testing.T) {
	a := fleet(20)
	a.Applications[0].Instances[0].DataCenter = eureka.DataCenterInfo{
		Name: eureka.DataCenterAmazon, Metadata: map[string]string{"instance-id": "i-1", "b": "\x01\"", "c": "<é>"},
	}
	for _, e := range allEncodings {
		buffer := e.AppendApplications(nil, a)
		allocations := testing.AllocsPerRun(10, func() { buffer = e.AppendApplications(buffer[:0], a) })
		assert.Zero(t, allocations, "%v", e)
	}
}

func TestEmptyMetadata(t *testing.T) {
	i := &eureka.InstanceInfo{HostName: "h", App: "A", IPAddr: "1"}
	for _, m := range []map[string]string{nil, {}} {
		i.Metadata = m
		assert.Contains(t, string(wire.Encoding{Format: wire.JSON}.AppendInstanceDocument(nil, i)),
			`"metadata":{"@class":"java.util.Collections$EmptyMap"}`)
		assert.Contains(t, string(wire.Encoding{Format: wire.XML}.AppendInstanceDocument(nil, i)),
			"\n  <metadata class=\"java.util.Collections$EmptyMap\"/>\n")
	}
	for _, f := range []wire.Format{wire.JSON, wire.XML} {
		read, err := wire.DecodeInstance(f, wire.Encoding{Format: f}.AppendInstanceDocument(nil, i))
		require.NoError(t, err)
		assert.Nil(t, read.Metadata)
	}
}

// What an instance must not lack on the wire has its default.
func TestZeroInstanceHasDefaults(t *testing.T) {
	registration := wire.AppendRegistration(nil, wire.JSON, &eureka.InstanceInfo{HostName: "h", App: "a", IPAddr: "1"})
	i, err := wire.DecodeRegistration(wire.JSON, registration, wire.Limits{})
	require.NoError(t, err)
	assert.Equal(t, eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: "MyOwn"}, i.DataCenter)
	assert.Equal(t, 30*time.Second, i.Lease.RenewalInterval)
	assert.Equal(t, 90*time.Second, i.Lease.Duration)
	assert.Equal(t, eureka.Unknown, i.Status)
	assert.Contains(t, string(registration), `"registrationTimestamp":0`)
	assert.Contains(t, string(registration), `"lastDirtyTimestamp":"0"`)
}

func TestLeaseIsRoundedUp(t *testing.T) {
	i := &eureka.InstanceInfo{HostName: "h", Lease: eureka.LeaseInfo{RenewalInterval: 200 * time.Millisecond, Duration: 1001 * time.Millisecond}}
	out := string(wire.Encoding{}.AppendInstanceDocument(nil, i))
	assert.Contains(t, out, `"renewalIntervalInSecs":1,"durationInSecs":2,`)
}

func TestCompactAmazonMetadata(t *testing.T) {
	i := &eureka.InstanceInfo{HostName: "h", DataCenter: eureka.DataCenterInfo{Name: "Amazon", Metadata: map[string]string{
		"instance-id": "i-1", "public-ipv4": "192.0.2.1", "ami-id": "ami-1", "availability-zone": "a",
		"local-ipv4": "10.0.0.1", "public-hostname": "p",
	}}}
	assert.Contains(t, string(wire.Encoding{Compact: true}.AppendInstanceDocument(nil, i)),
		`"metadata":{"availability-zone":"a","instance-id":"i-1","local-ipv4":"10.0.0.1","public-hostname":"p","public-ipv4":"192.0.2.1"}`)
	assert.Contains(t, string(wire.Encoding{}.AppendInstanceDocument(nil, i)), `"ami-id":"ami-1"`)

	// Without metadata Java clients could not read an Amazon data centre.
	i.DataCenter.Metadata = nil
	assert.Contains(t, string(wire.Encoding{Compact: true}.AppendInstanceDocument(nil, i)), `"metadata":{}`)
	for _, e := range allEncodings {
		assertWellFormed(t, e.Format, e.AppendInstanceDocument(nil, i))
	}
}

func TestJSONEscapes(t *testing.T) {
	i := &eureka.InstanceInfo{HostName: "a\"b\\c/d\b\f\n\r\t\x00\x1f\x7fé<&>\u2028\xff😀"}
	out := string(wire.Encoding{}.AppendInstanceDocument(nil, i))
	assert.Contains(t, out, `"hostName":"a\"b\\c/d\b\f\n\r\t\u0000\u001F`+"\x7fé<&>\u2028\uFFFD😀\",")
}

func TestManyMetadataEntriesAreSorted(t *testing.T) {
	i := &eureka.InstanceInfo{HostName: "h", Metadata: map[string]string{}}
	var want []string
	for n := range 100 {
		i.Metadata[fmt.Sprintf("k%02d", n)] = "v"
		want = append(want, fmt.Sprintf(`"k%02d":"v"`, n))
	}
	assert.Contains(t, string(wire.Encoding{}.AppendInstanceDocument(nil, i)), `"metadata":{`+strings.Join(want, ",")+`}`)
}

func TestFormat(t *testing.T) {
	assert.Equal(t, "application/json", wire.JSON.ContentType())
	assert.Equal(t, "application/xml", wire.XML.ContentType())
	assert.Equal(t, "JSON XML", fmt.Sprint(wire.JSON, wire.XML))
}
