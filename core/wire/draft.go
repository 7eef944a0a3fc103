package wire

import (
	"math"
	"strings"

	"github.com/eurekaless/registry/core/eureka"
)

// Limits bounds what a registration may hold, beyond the size of its body,
// which the caller bounds.
type Limits struct {
	// MaxMetadata is the number of entries of the metadata, and of the data
	// centre's; 0 means any.
	MaxMetadata int
	// MaxInstance is the size of an instance in bytes, see [Exceeds]. It bounds
	// how many values the document of one instance may have; the size itself
	// is checked where instances are written. 0 means any.
	MaxInstance int
	// MaxItems is the number of items of a batch of a peer; 0 means any.
	MaxItems int
}

// maxVIPs is how many names a list of VIP addresses may have: each is looked up
// when it is registered, and is a list of its own for readers.
const maxVIPs = 100

// draft is an instance while it is read, from either format. It knows the
// fields, their defaults and what they may hold.
type draft struct {
	instance *eureka.InstanceInfo
	// strict is for registrations: what is wrong is refused instead of
	// skipped, and what only a registry may set is ignored.
	strict bool
	limits Limits
	// texts makes equal texts one; nil for a single instance.
	texts *textCache
	// err is the first fault; always nil unless strict.
	err error
	// located says that there was a data centre.
	located bool
	// budget is what the instances of a list may still cost; nil: anything.
	budget *budget
}

// Ports that an instance has when it does not say.
var (
	defaultPort       = eureka.Port{Number: eureka.DefaultPort, Enabled: true}
	defaultSecurePort = eureka.Port{Number: eureka.DefaultSecurePort}
)

// newDraft returns a draft whose instance has the protocol's defaults.
func newDraft(strict bool, limits Limits, texts *textCache) *draft {
	d := &draft{strict: strict, limits: limits, texts: texts}
	d.begin()
	return d
}

// begin begins another instance.
func (d *draft) begin() {
	d.instance = new(eureka.InstanceInfo)
	d.reset()
}

// listed ends an instance of a list and begins the next. It returns nil for one
// that has no name, or for which there is no budget.
func (d *draft) listed() *eureka.InstanceInfo {
	i := d.instance
	if i.ID() == "" || !d.budget.spendInstance(i) {
		d.reset()
		return nil
	}
	d.begin()
	return i
}

// reset makes the instance a new one.
func (d *draft) reset() {
	d.err, d.located = nil, false
	*d.instance = eureka.InstanceInfo{
		Status:           eureka.Up,
		OverriddenStatus: eureka.Unknown,
		Port:             defaultPort,
		SecurePort:       defaultSecurePort,
		CountryID:        eureka.DefaultCountryID,
		DataCenter: eureka.DataCenterInfo{
			Class: eureka.DefaultDataCenterClass,
			Name:  eureka.DataCenterMyOwn,
		},
		Lease: eureka.LeaseInfo{
			RenewalInterval: eureka.DefaultRenewalInterval,
			Duration:        eureka.DefaultLeaseDuration,
		},
	}
}

// fail notes a fault.
func (d *draft) fail(f field, reason string, args ...any) {
	if d.strict && d.err == nil {
		d.err = eureka.Invalidf(f.String(), reason, args...)
	}
}

// set takes a member that is a single value. Members that the protocol does
// not have are ignored.
func (d *draft) set(name []byte, v value) {
	i := d.instance
	switch string(name) {
	case "instanceId":
		d.text(&i.InstanceID, "instanceId", v)
	case "hostName":
		d.text(&i.HostName, "hostName", v)
	case "app":
		d.sharedText(&i.App, "app", v)
		i.App = strings.ToUpper(i.App)
	case "appGroupName":
		d.sharedText(&i.AppGroup, "appGroupName", v)
		i.AppGroup = strings.ToUpper(i.AppGroup)
	case "ipAddr":
		d.text(&i.IPAddr, "ipAddr", v)
	case "status":
		d.status(&i.Status, "status", v)
	case "overriddenStatus", "overriddenstatus":
		d.status(&i.OverriddenStatus, "overriddenStatus", v)
	case "countryId":
		i.CountryID = int(d.integer(field{name: "countryId"}, v, math.MinInt32, math.MaxInt32, int64(i.CountryID)))
	case "homePageUrl":
		d.text(&i.HomePageURL, "homePageUrl", v)
	case "statusPageUrl":
		d.text(&i.StatusPageURL, "statusPageUrl", v)
	case "healthCheckUrl":
		d.text(&i.HealthCheckURL, "healthCheckUrl", v)
	case "secureHealthCheckUrl":
		d.text(&i.SecureHealthCheckURL, "secureHealthCheckUrl", v)
	case "vipAddress":
		d.sharedText(&i.VIPAddress, "vipAddress", v)
	case "secureVipAddress":
		d.sharedText(&i.SecureVIPAddress, "secureVipAddress", v)
	case "lastDirtyTimestamp":
		i.LastDirty = d.time(field{name: "lastDirtyTimestamp"}, v)
	case "asgName":
		d.sharedText(&i.ASGName, "asgName", v)
	default:
		if !d.strict {
			d.setByRegistry(name, v)
		}
	}
}

// setByRegistry takes a member whose value is the registry's to say, whatever
// a client registers (TestRegistryFieldsAreIgnored).
func (d *draft) setByRegistry(name []byte, v value) {
	i := d.instance
	switch string(name) {
	case "isCoordinatingDiscoveryServer":
		i.Coordinating = d.boolean(field{name: "isCoordinatingDiscoveryServer"}, v, false)
	case "lastUpdatedTimestamp":
		i.LastUpdated = d.time(field{name: "lastUpdatedTimestamp"}, v)
	case "actionType":
		switch a := eureka.ActionType(v.text); a {
		case eureka.Added, eureka.Modified, eureka.Deleted:
			i.Action = a
		}
	}
}

// setLease takes a member of leaseInfo. A number that is not positive is as
// none (TestH7).
func (d *draft) setLease(name []byte, v value) {
	l := &d.instance.Lease
	switch string(name) {
	case "renewalIntervalInSecs":
		l.RenewalInterval = d.seconds("renewalIntervalInSecs", v, eureka.DefaultRenewalInterval)
	case "durationInSecs":
		l.Duration = d.seconds("durationInSecs", v, eureka.DefaultLeaseDuration)
	}
	if d.strict {
		return // times are the registry's
	}
	switch string(name) {
	case "registrationTimestamp":
		l.Registered = d.time(field{"leaseInfo", "registrationTimestamp"}, v)
	case "lastRenewalTimestamp":
		l.LastRenewed = d.time(field{"leaseInfo", "lastRenewalTimestamp"}, v)
	case "evictionTimestamp":
		l.Evicted = d.time(field{"leaseInfo", "evictionTimestamp"}, v)
	case "serviceUpTimestamp":
		l.ServiceUp = d.time(field{"leaseInfo", "serviceUpTimestamp"}, v)
	}
}

// setPort takes number and enabled, each with its default where it was not
// given. Beside real ports -1 is taken: Spring registers it for a server whose
// HTTP is off.
func (d *draft) setPort(p *eureka.Port, name string, number, enabled value) {
	p.Number = int(d.integer(field{name, "$"}, number, -1, math.MaxUint16, int64(p.Number)))
	p.Enabled = d.boolean(field{name, "@enabled"}, enabled, p.Enabled)
}

// setDataCenter takes a data centre as it was read. Metadata counts only
// within Amazon, for elsewhere Java clients cannot read it.
func (d *draft) setDataCenter(class, name value, metadata map[string]string) {
	d.located = true
	var c eureka.DataCenterInfo
	d.sharedTextAt(&c.Class, field{"dataCenterInfo", "@class"}, class)
	d.sharedTextAt(&c.Name, field{"dataCenterInfo", "name"}, name)
	if d.strict {
		d.checkDataCenter(&c)
	}
	if c.Name == "" {
		c.Name = eureka.DataCenterMyOwn
	}
	if c.Class == "" {
		c.Class = dataCenterClass(c.Name)
	}
	if c.Name == eureka.DataCenterAmazon {
		c.Metadata = metadata
	}
	d.instance.DataCenter = c
}

// javaDataCenterClass is another name of the default class, which the stock
// server takes but does not write.
const javaDataCenterClass = "com.netflix.appinfo.MyDataCenterInfo"

// checkDataCenter refuses what some client could not read back. The stock
// server takes a name that does not fit the class, and fails at every reading
// from then on.
func (d *draft) checkDataCenter(c *eureka.DataCenterInfo) {
	switch c.Name {
	case eureka.DataCenterNetflix, eureka.DataCenterAmazon, eureka.DataCenterMyOwn:
	case "":
		d.fail(field{"dataCenterInfo", "name"}, "is missing")
	default:
		d.fail(field{"dataCenterInfo", "name"}, "is %q, which is none of Netflix, Amazon and MyOwn", clip(c.Name))
	}
	if c.Class == javaDataCenterClass {
		c.Class = eureka.DefaultDataCenterClass
	}
	if c.Class != "" && c.Class != dataCenterClass(c.Name) {
		d.fail(field{"dataCenterInfo", "@class"}, "is %q, which does not belong to the name %q", clip(c.Class), clip(c.Name))
	}
}

// put adds an entry to metadata, which may be nil, and returns it. Null is no
// entry; "@class" is Java's marker and no entry either.
func (d *draft) put(m map[string]string, parent string, key []byte, v value) map[string]string {
	switch {
	case string(key) == "@class":
		return m
	case v.parts:
		d.fail(field{parent, clip(string(key))}, "must be a text")
		return m
	case v.damaged:
		d.fail(field{parent, clip(string(key))}, notUnicode)
		return m
	case v.text == nil:
		return m
	}
	if m == nil {
		m = make(map[string]string)
	}
	if n := d.limits.MaxMetadata; n > 0 && len(m) >= n {
		if _, replaced := m[string(key)]; !replaced {
			if d.err == nil {
				d.err = eureka.TooLargef(parent, "has more than %d entries", n)
			}
			return m
		}
	}
	if d.budget.spendEntry(key, v.text) {
		m[d.texts.get(key)] = d.texts.get(v.text)
	}
	return m
}

// finish completes the instance and returns it, or the first fault.
func (d *draft) finish() (*eureka.InstanceInfo, error) {
	i := d.instance
	if !d.strict {
		return i, nil
	}
	for _, required := range []struct{ name, text string }{
		{"hostName", i.HostName}, {"app", i.App}, {"ipAddr", i.IPAddr},
	} {
		if strings.TrimSpace(required.text) == "" {
			d.fail(field{name: required.name}, "is missing")
		}
	}
	for _, list := range []struct{ name, text string }{
		{"vipAddress", i.VIPAddress}, {"secureVipAddress", i.SecureVIPAddress},
	} {
		if strings.Count(list.text, ",") >= maxVIPs && d.err == nil {
			d.err = eureka.TooLargef(list.name, "has more than %d names", maxVIPs)
		}
	}
	if !d.located {
		d.fail(field{name: "dataCenterInfo"}, "is missing")
	}
	if d.err != nil {
		return nil, d.err
	}
	d.identify()
	return i, nil
}

// identify gives an instance the id that old Spring clients put into the
// metadata alone, and one within Amazon the metadata instance-id that clients
// expect there, as the reference server does.
func (d *draft) identify() {
	i := d.instance
	if id := i.Metadata["instanceId"]; i.InstanceID == "" && strings.TrimSpace(id) != "" {
		if !strings.HasPrefix(id, i.HostName) {
			id = i.HostName + ":" + id
		}
		i.InstanceID = id
	}
	c := &i.DataCenter
	if c.Name != eureka.DataCenterAmazon || c.Metadata["instance-id"] != "" {
		return
	}
	if c.Metadata == nil {
		c.Metadata = make(map[string]string)
	}
	c.Metadata["instance-id"] = d.instance.ID()
}
