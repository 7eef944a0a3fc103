package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Ports that are told of an instance that has none of that kind, as Spring
// does.
const (
	unusedPort       = 80
	unusedSecurePort = 443
)

// Instance describes this process to others.
type Instance struct {
	// App is the application's name; required. It is registered in upper case.
	App string
	// ID identifies the instance within the application. Default
	// "host:app:port", as in Spring.
	ID string
	// HostName is the name by which others reach this host. Default: the
	// operating system's, or IPAddr if PreferIPAddr is set.
	HostName string
	// PreferIPAddr makes IPAddr the default of HostName.
	PreferIPAddr bool
	// IPAddr is the address by which others reach this host. Default: the one
	// from which it sends to other networks.
	IPAddr string
	// Port is the port for http; 0: not enabled.
	Port int
	// SecurePort is the port for https; 0: not enabled.
	SecurePort int
	// VIPAddress are the names by which others look the instance up,
	// comma-separated. Default: App.
	VIPAddress string
	// SecureVIPAddress are those for https. Default: App.
	SecureVIPAddress string
	// Status is the instance's own word at the start. Default UP.
	Status eureka.Status
	// Metadata is told to others. The entry "zone" is, where it is missing,
	// the first of [Config.Zones]. Default none.
	Metadata map[string]string
	// RenewalInterval is the time between two heartbeats, on the wire in
	// whole seconds. Default 30 s.
	RenewalInterval time.Duration
	// LeaseDuration is how long the registry waits for a heartbeat before the
	// instance counts as gone, on the wire in whole seconds. Default 90 s.
	LeaseDuration time.Duration
	// AppGroup and ASGName are told to others. Default none.
	AppGroup string
	ASGName  string
	// HomePageURL, StatusPageURL and HealthCheckURL are for people and
	// monitors: URLs, or paths such as "/health" on the instance's own port.
	// Default none.
	HomePageURL    string
	StatusPageURL  string
	HealthCheckURL string
	// SecureHealthCheckURL is the one of https. Default none.
	SecureHealthCheckURL string
	// DataCenter is told to others. Default: of one's own.
	DataCenter eureka.DataCenterInfo
}

func (i *Instance) faults() []error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf("Instance."+format, args...))
		}
	}
	fault(strings.TrimSpace(i.App) == "", "App is missing")
	fault(i.Port < 0 || i.Port > 65535, "Port %d is no port", i.Port)
	fault(i.SecurePort < 0 || i.SecurePort > 65535, "SecurePort %d is no port", i.SecurePort)
	fault(i.RenewalInterval < 0, "RenewalInterval %s is negative", i.RenewalInterval)
	fault(i.LeaseDuration < 0, "LeaseDuration %s is negative", i.LeaseDuration)
	if i.Status != "" {
		_, known := eureka.ParseStatus(string(i.Status))
		fault(!known, "Status %q is none of the protocol's", i.Status)
	}
	return faults
}

// info returns what is registered, with all defaults. Host names and addresses
// that are not given are looked up.
func (i *Instance) info(zones []string) (*eureka.InstanceInfo, error) {
	host, err := i.host()
	if err != nil {
		return nil, err
	}
	out := &eureka.InstanceInfo{
		App:              strings.ToUpper(i.App),
		AppGroup:         strings.ToUpper(i.AppGroup),
		HostName:         host.name,
		IPAddr:           host.addr,
		InstanceID:       cmp.Or(i.ID, fmt.Sprintf("%s:%s:%d", host.name, i.App, cmp.Or(i.Port, i.SecurePort))),
		Port:             eureka.Port{Number: cmp.Or(i.Port, unusedPort), Enabled: i.Port != 0},
		SecurePort:       eureka.Port{Number: cmp.Or(i.SecurePort, unusedSecurePort), Enabled: i.SecurePort != 0},
		VIPAddress:       cmp.Or(i.VIPAddress, i.App),
		SecureVIPAddress: cmp.Or(i.SecureVIPAddress, i.App),
		Status:           cmp.Or(i.Status, eureka.Up),
		OverriddenStatus: eureka.Unknown,
		CountryID:        eureka.DefaultCountryID,
		Metadata:         maps.Clone(i.Metadata),
		ASGName:          i.ASGName,
		DataCenter:       i.DataCenter,
		Lease: eureka.LeaseInfo{
			RenewalInterval: cmp.Or(i.RenewalInterval, eureka.DefaultRenewalInterval),
			Duration:        cmp.Or(i.LeaseDuration, eureka.DefaultLeaseDuration),
		},
	}
	if out.DataCenter.Name == "" {
		out.DataCenter = eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn}
	}
	if len(zones) > 0 && ZoneOf(out) == "" {
		setMetadata(out, metadataZone, zones[0])
	}
	i.setURLs(out)
	return out, nil
}

// setURLs completes the URLs that are given as paths.
func (i *Instance) setURLs(out *eureka.InstanceInfo) {
	plain := "http://" + net.JoinHostPort(out.HostName, strconv.Itoa(out.Port.Number))
	secure := "https://" + net.JoinHostPort(out.HostName, strconv.Itoa(out.SecurePort.Number))
	own := plain
	if !out.Port.Enabled && out.SecurePort.Enabled {
		own = secure
	}
	out.HomePageURL = absolute(own, i.HomePageURL)
	out.StatusPageURL = absolute(own, i.StatusPageURL)
	out.HealthCheckURL = absolute(own, i.HealthCheckURL)
	out.SecureHealthCheckURL = absolute(secure, i.SecureHealthCheckURL)
}

func absolute(base, url string) string {
	if strings.HasPrefix(url, "/") {
		return base + url
	}
	return url
}

func setMetadata(i *eureka.InstanceInfo, key, value string) {
	if i.Metadata == nil {
		i.Metadata = map[string]string{}
	}
	i.Metadata[key] = value
}

// host is how others reach this host.
type host struct{ name, addr string }

// host returns what is given, and looks up the rest.
func (i *Instance) host() (host, error) {
	h := host{i.HostName, i.IPAddr}
	if h.addr == "" {
		addr, err := outboundAddress()
		if err != nil {
			return host{}, fmt.Errorf("find the own address (Instance.IPAddr is not set): %w", err)
		}
		h.addr = addr
	}
	if h.name == "" && i.PreferIPAddr {
		h.name = h.addr
	}
	if h.name == "" {
		name, err := os.Hostname()
		if err != nil {
			return host{}, fmt.Errorf("find the own host name (Instance.HostName is not set): %w", err)
		}
		h.name = name
	}
	return h, nil
}

// outboundAddress returns the address from which this host sends to other
// networks. The destinations are addresses for documentation: connecting a
// datagram socket sends nothing, it only asks the routing table.
func outboundAddress() (string, error) {
	for _, destination := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} {
		conn, err := net.Dial("udp", destination)
		if err != nil {
			continue
		}
		local, ok := conn.LocalAddr().(*net.UDPAddr)
		conn.Close()
		if ok && !local.IP.IsUnspecified() {
			return local.IP.String(), nil
		}
	}
	return interfaceAddress()
}

// interfaceAddress returns the first address of a host that has no route, the
// loopback one only when there is no other.
func interfaceAddress() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	loopback := ""
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		switch {
		case !ok || network.IP.IsLinkLocalUnicast():
		case network.IP.IsLoopback():
			loopback = cmp.Or(loopback, network.IP.String())
		default:
			return network.IP.String(), nil
		}
	}
	if loopback == "" {
		return "", errors.New("no network interface has an address")
	}
	return loopback, nil
}
