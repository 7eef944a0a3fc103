// Package eureka holds the domain types of the Eureka protocol: instances,
// applications, statuses, the apps hash code, and every sentinel error of the
// system. It does no I/O and knows no encoding.
package eureka

import (
	"maps"
	"strings"
	"time"
)

// Defaults that the protocol gives to what a registration leaves out.
const (
	// DefaultRenewalInterval is the time between two heartbeats.
	DefaultRenewalInterval = 30 * time.Second
	// DefaultLeaseDuration is the time after the last renewal at which a
	// lease expires.
	DefaultLeaseDuration = 90 * time.Second
	// DefaultPort and DefaultSecurePort are those of the Java client.
	DefaultPort       = 7001
	DefaultSecurePort = 7002
	// DefaultCountryID is the Java client's.
	DefaultCountryID = 1
	// DefaultDataCenterClass is the class of a data centre outside AWS.
	DefaultDataCenterClass = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"
	// AmazonDataCenterClass is the class of a data centre on AWS, the one
	// that carries metadata.
	AmazonDataCenterClass = "com.netflix.appinfo.AmazonInfo"
)

// Names that a data centre may have; every other is refused.
const (
	DataCenterNetflix = "Netflix"
	DataCenterAmazon  = "Amazon"
	DataCenterMyOwn   = "MyOwn"
)

// Key names one instance: the registry's key, and the lease table's.
type Key struct {
	// App is the application's name in upper case.
	App string
	// ID is the instance id, or the host name where there is none.
	ID string
}

// NewKey returns the key of an instance; app may have any case.
func NewKey(app, id string) Key { return Key{App: strings.ToUpper(app), ID: id} }

// String returns "APP/id", for messages.
func (k Key) String() string { return k.App + "/" + k.ID }

// Port is a port and whether it is in use.
type Port struct {
	Number  int
	Enabled bool
}

// DataCenterInfo says where an instance runs.
type DataCenterInfo struct {
	// Class is the Java class name that clients need for decoding.
	Class string
	// Name is one of the DataCenter constants.
	Name string
	// Metadata describes an EC2 instance; nil outside Amazon.
	Metadata map[string]string
}

// LeaseInfo is the lease as readers see it. A zero time is 0 on the wire.
type LeaseInfo struct {
	RenewalInterval time.Duration
	Duration        time.Duration
	Registered      time.Time
	LastRenewed     time.Time
	Evicted         time.Time
	ServiceUp       time.Time
}

// InstanceInfo is one instance of an application, as registered or as read.
// Values are treated as immutable once they are shared: change a [Clone].
type InstanceInfo struct {
	// InstanceID may be empty; the host name identifies the instance then,
	// and answers leave the id out too.
	InstanceID string
	HostName   string
	// App is upper case, whatever the registration said.
	App      string
	AppGroup string
	IPAddr   string
	// Status is the effective status in answers; in a stored registration it
	// is the instance's own word.
	Status           Status
	OverriddenStatus Status
	Port             Port
	SecurePort       Port
	CountryID        int
	DataCenter       DataCenterInfo
	Lease            LeaseInfo
	// Metadata is nil when empty; answers then hold Java's empty-map marker.
	Metadata             map[string]string
	HomePageURL          string
	StatusPageURL        string
	HealthCheckURL       string
	SecureHealthCheckURL string
	// VIPAddress and SecureVIPAddress are comma-separated lists of names.
	VIPAddress       string
	SecureVIPAddress string
	// Coordinating is isCoordinatingDiscoveryServer.
	Coordinating bool
	// LastUpdated is the registry's time of the last change; LastDirty is the
	// client's time of the last change that it made.
	LastUpdated time.Time
	LastDirty   time.Time
	Action      ActionType
	ASGName     string
}

// ID returns what identifies the instance within its application: its id;
// without one what the data centre calls it, which only Amazon's does; or its
// host name. (So does InstanceInfo.getId of the Java client.)
func (i *InstanceInfo) ID() string {
	if i.InstanceID != "" {
		return i.InstanceID
	}
	if i.DataCenter.Name == DataCenterAmazon && i.DataCenter.Metadata["instance-id"] != "" {
		return i.DataCenter.Metadata["instance-id"]
	}
	return i.HostName
}

// Key returns the registry's key of the instance.
func (i *InstanceInfo) Key() Key { return NewKey(i.App, i.ID()) }

// Clone returns a deep copy.
func (i *InstanceInfo) Clone() *InstanceInfo {
	out := *i
	out.Metadata = maps.Clone(i.Metadata)
	out.DataCenter.Metadata = maps.Clone(i.DataCenter.Metadata)
	return &out
}
