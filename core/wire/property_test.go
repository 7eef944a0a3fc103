package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// legalIn returns a text as a format can carry it.
func legalIn(f wire.Format, s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if f == wire.JSON {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= ' ' && r <= 0xFFFD, r >= 0x10000:
			return r
		}
		return 0xFFFD
	}, s)
}

// drawInstance returns any instance that a format can carry.
func drawInstance(t *rapid.T, f wire.Format) *eureka.InstanceInfo {
	text := rapid.Map(rapid.String(), func(s string) string { return legalIn(f, s) })
	upper := rapid.Map(text, strings.ToUpper)
	key := rapid.Map(rapid.String(), func(s string) string { return strings.TrimPrefix(legalIn(wire.JSON, s), "@class") })
	entries := rapid.MapOfN(key, text, 0, 20)
	at := rapid.Map(rapid.Int64Range(0, 1<<50), func(ms int64) time.Time {
		if ms == 0 {
			return time.Time{}
		}
		return time.UnixMilli(ms).UTC()
	})
	span := rapid.Map(rapid.Int64Range(1, 1<<31-1), func(s int64) time.Duration { return time.Duration(s) * time.Second })
	status := rapid.SampledFrom([]eureka.Status{eureka.Up, eureka.Down, eureka.Starting, eureka.OutOfService, eureka.Unknown})
	port := rapid.Custom(func(t *rapid.T) eureka.Port {
		return eureka.Port{Number: rapid.IntRange(-1, 65535).Draw(t, "port"), Enabled: rapid.Bool().Draw(t, "enabled")}
	})
	center := rapid.Custom(func(t *rapid.T) eureka.DataCenterInfo {
		name := rapid.SampledFrom([]string{eureka.DataCenterMyOwn, eureka.DataCenterNetflix, eureka.DataCenterAmazon}).Draw(t, "name")
		if name != eureka.DataCenterAmazon {
			return eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: name}
		}
		m := entries.Draw(t, "data centre metadata")
		m["instance-id"] = "i-1"
		return eureka.DataCenterInfo{Class: eureka.AmazonDataCenterClass, Name: name, Metadata: m}
	})
	i := &eureka.InstanceInfo{
		InstanceID: text.Draw(t, "id"), HostName: "h" + text.Draw(t, "host"),
		App: "A" + upper.Draw(t, "app"), AppGroup: upper.Draw(t, "group"), IPAddr: "1" + text.Draw(t, "address"),
		Status: status.Draw(t, "status"), OverriddenStatus: status.Draw(t, "override"),
		Port: port.Draw(t, "port"), SecurePort: port.Draw(t, "secure port"),
		CountryID:  int(rapid.Int32().Draw(t, "country")),
		DataCenter: center.Draw(t, "data centre"),
		Lease: eureka.LeaseInfo{RenewalInterval: span.Draw(t, "interval"), Duration: span.Draw(t, "duration"),
			Registered: at.Draw(t, "registered"), LastRenewed: at.Draw(t, "renewed"),
			Evicted: at.Draw(t, "evicted"), ServiceUp: at.Draw(t, "up")},
		HomePageURL: text.Draw(t, "home"), StatusPageURL: text.Draw(t, "status page"),
		HealthCheckURL: text.Draw(t, "health"), SecureHealthCheckURL: text.Draw(t, "secure health"),
		VIPAddress: text.Draw(t, "vip"), SecureVIPAddress: text.Draw(t, "secure vip"),
		Coordinating: rapid.Bool().Draw(t, "coordinating"),
		LastUpdated:  at.Draw(t, "updated"), LastDirty: at.Draw(t, "dirty"),
		Action:  rapid.SampledFrom([]eureka.ActionType{"", eureka.Added, eureka.Modified, eureka.Deleted}).Draw(t, "action"),
		ASGName: text.Draw(t, "asg"),
	}
	if m := entries.Draw(t, "metadata"); len(m) > 0 {
		i.Metadata = m
	}
	return i
}

// compacted returns what a compact body says of an instance.
func compacted(i *eureka.InstanceInfo) *eureka.InstanceInfo {
	out := i.Clone()
	out.OverriddenStatus, out.CountryID = eureka.Unknown, eureka.DefaultCountryID
	out.Lease = eureka.LeaseInfo{RenewalInterval: eureka.DefaultRenewalInterval, Duration: eureka.DefaultLeaseDuration}
	out.Metadata, out.AppGroup, out.Coordinating, out.LastDirty = nil, "", false, time.Time{}
	out.HomePageURL, out.StatusPageURL, out.HealthCheckURL, out.SecureHealthCheckURL = "", "", "", ""
	kept := map[string]bool{"instance-id": true, "public-ipv4": true, "public-hostname": true, "local-ipv4": true, "availability-zone": true}
	for k := range out.DataCenter.Metadata {
		if !kept[k] {
			delete(out.DataCenter.Metadata, k)
		}
	}
	return out
}

// registered returns what a registry takes of an instance.
func registered(i *eureka.InstanceInfo) *eureka.InstanceInfo {
	out := i.Clone()
	out.Lease = eureka.LeaseInfo{RenewalInterval: i.Lease.RenewalInterval, Duration: i.Lease.Duration}
	out.Coordinating, out.LastUpdated, out.Action = false, time.Time{}, ""
	return out
}

func TestDecodingUndoesEncoding(t *testing.T) {
	for _, e := range allEncodings {
		t.Run(encodingName(e), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				i := drawInstance(t, e.Format)
				want := i
				if e.Compact {
					want = compacted(i)
				}
				document := e.AppendInstanceDocument(nil, i)
				got, err := wire.DecodeInstance(e.Format, document)
				require.NoError(t, err)
				assert.Equal(t, want, got)

				a := eureka.Application{Name: i.App, Instances: []*eureka.InstanceInfo{i, i}}
				application, err := wire.DecodeApplication(e.Format, e.AppendApplicationDocument(nil, &a))
				require.NoError(t, err)
				assert.Equal(t, &eureka.Application{Name: i.App, Instances: []*eureka.InstanceInfo{want, want}}, application)

				list := &eureka.Applications{Version: rapid.Int64().Draw(t, "version"), HashCode: "UP_4_", Applications: []eureka.Application{a, a}}
				gotList, err := wire.DecodeApplications(e.Format, e.AppendApplications(nil, list))
				require.NoError(t, err)
				list.Applications = []eureka.Application{*application, *application}
				assert.Equal(t, list, gotList)
			})
		})
	}
}

func TestRegistrationsOfAnyInstance(t *testing.T) {
	for _, f := range []wire.Format{wire.JSON, wire.XML} {
		rapid.Check(t, func(t *rapid.T) {
			i := drawInstance(t, f)
			got, err := wire.DecodeRegistration(f, wire.AppendRegistration(nil, f, i), wire.Limits{})
			require.NoError(t, err)
			assert.Equal(t, registered(i), got)
		})
	}
}

func TestReplicationOfAnyInstance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := drawInstance(t, wire.JSON)
		items := []wire.ReplicationItem{
			{App: i.App, ID: i.HostName, Action: "Register", Status: i.Status, OverriddenStatus: i.OverriddenStatus, LastDirty: i.LastDirty, Instance: registered(i)},
			{App: "A", ID: "b", Action: "Cancel"},
		}
		got, err := wire.DecodeReplication(wire.AppendReplication(nil, items), wire.Limits{})
		require.NoError(t, err)
		assert.Equal(t, items, got)

		results := []wire.ReplicationResult{{StatusCode: 200}, {StatusCode: 409, Instance: i}}
		gotResults, err := wire.DecodeReplicationResults(wire.AppendReplicationResults(nil, results))
		require.NoError(t, err)
		assert.Equal(t, results, gotResults)
	})
}

// Whatever bytes an instance holds, documents are well-formed.
func TestAnyBytesMakeWellFormedDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })
		i := &eureka.InstanceInfo{
			HostName: text.Draw(t, "host"), VIPAddress: text.Draw(t, "vip"),
			Status: eureka.Status(text.Draw(t, "status")), Action: eureka.ActionType(text.Draw(t, "action")),
			DataCenter: eureka.DataCenterInfo{Class: text.Draw(t, "class"), Name: text.Draw(t, "center")},
			Metadata:   rapid.MapOf(text, text).Draw(t, "metadata"),
		}
		for _, e := range allEncodings {
			assertWellFormed(t, e.Format, e.AppendInstanceDocument(nil, i))
		}
	})
}
