// Package migration moves a registry's contents: it compares two registries
// field by field, and mirrors one into another as a peer would.
package migration

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/mirror"
)

// Instances are those of a registry.
type Instances = map[eureka.Key]*eureka.InstanceInfo

// Difference is one between two registries.
type Difference struct {
	Key eureka.Key
	// Field is what differs; empty when one of the registries does not have
	// the instance at all.
	Field string
	// A and B are the values; where there is no instance, "missing".
	A, B string
}

// String words it. Names may hold anything and are quoted, a field's where that
// is needed.
func (d Difference) String() string {
	if d.Field == "" {
		return fmt.Sprintf("%q: %s here, %s there", d.Key.String(), d.A, d.B)
	}
	return fmt.Sprintf("%q: %s: %q here, %q there", d.Key.String(), quoted(d.Field), d.A, d.B)
}

// quoted returns a name as it is where all of it prints and nothing in it could
// be taken for the rest of a line, otherwise in quotes.
func quoted(name string) string {
	if q := strconv.Quote(name); q[1:len(q)-1] != name || strings.ContainsAny(name, ": ") {
		return q
	}
	return name
}

// Compare returns the differences of two registries, by key and field. What a
// registry itself says is left out: when a lease was renewed, registered or
// changed there, and what changed last.
func Compare(a, b Instances) []Difference {
	keys := map[eureka.Key]bool{}
	for _, side := range []Instances{a, b} {
		for key := range side {
			keys[key] = true
		}
	}
	var out []Difference
	for _, key := range slices.SortedFunc(maps.Keys(keys), mirror.Compare) {
		switch inA, inB := a[key], b[key]; {
		case inA == nil:
			out = append(out, Difference{Key: key, A: "missing", B: "registered"})
		case inB == nil:
			out = append(out, Difference{Key: key, A: "registered", B: "missing"})
		default:
			out = append(out, CompareInstance(inA, inB)...)
		}
	}
	return out
}

// CompareInstance returns the fields in which two states of an instance differ.
func CompareInstance(a, b *eureka.InstanceInfo) []Difference {
	var out []Difference
	inA, inB := fields(a), fields(b)
	names := map[string]bool{}
	for _, side := range []map[string]string{inA, inB} {
		for name := range side {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if inA[name] != inB[name] {
			out = append(out, Difference{Key: a.Key(), Field: name, A: inA[name], B: inB[name]})
		}
	}
	return out
}

// fields returns what is compared; an empty value is as none.
func fields(i *eureka.InstanceInfo) map[string]string {
	override := string(i.OverriddenStatus)
	if i.OverriddenStatus == eureka.Unknown {
		override = ""
	}
	out := map[string]string{
		"instanceId": i.ID(), "hostName": i.HostName, "appGroupName": i.AppGroup, "ipAddr": i.IPAddr,
		"status": string(i.Status), "overriddenStatus": override,
		"port": port(i.Port), "securePort": port(i.SecurePort), "countryId": strconv.Itoa(i.CountryID),
		"dataCenterInfo": i.DataCenter.Name, "dataCenterInfo.class": i.DataCenter.Class,
		"leaseInfo.renewalInterval": i.Lease.RenewalInterval.String(), "leaseInfo.duration": i.Lease.Duration.String(),
		"homePageUrl": i.HomePageURL, "statusPageUrl": i.StatusPageURL,
		"healthCheckUrl": i.HealthCheckURL, "secureHealthCheckUrl": i.SecureHealthCheckURL,
		"vipAddress": i.VIPAddress, "secureVipAddress": i.SecureVIPAddress, "asgName": i.ASGName,
		"isCoordinatingDiscoveryServer": strconv.FormatBool(i.Coordinating),
	}
	if !i.LastDirty.IsZero() {
		out["lastDirtyTimestamp"] = strconv.FormatInt(i.LastDirty.UnixMilli(), 10)
	}
	for name, value := range i.Metadata {
		out["metadata."+name] = value
	}
	for name, value := range i.DataCenter.Metadata {
		out["dataCenterInfo.metadata."+name] = value
	}
	return out
}

func port(p eureka.Port) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", p.Number, map[bool]string{true: "enabled", false: "disabled"}[p.Enabled]))
}
