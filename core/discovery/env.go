package discovery

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ConfigFromEnv returns the configuration that environment variables describe,
// in the form in which os.Environ returns them, or every fault at once. The
// names are those that Spring gives to its properties in the environment; case
// and underscores make no difference, so EUREKA_CLIENT_SERVICEURL_DEFAULTZONE
// and EUREKA_CLIENT_SERVICE_URL_DEFAULT_ZONE are the same. Of several that set
// the same, the one that is further down here counts. Empty ones count as not
// set.
//
//	SPRING_APPLICATION_NAME                           Instance.App; without a name there is no Instance
//	EUREKA_INSTANCE_APPNAME                           Instance.App
//	PORT, SERVER_PORT                                 Instance.Port
//	EUREKA_INSTANCE_NONSECUREPORT                     Instance.Port
//	EUREKA_INSTANCE_NONSECUREPORTENABLED              false: no Instance.Port
//	EUREKA_INSTANCE_SECUREPORT                        Instance.SecurePort
//	EUREKA_INSTANCE_SECUREPORTENABLED                 false: no Instance.SecurePort
//	EUREKA_INSTANCE_INSTANCEID                        Instance.ID
//	EUREKA_INSTANCE_HOSTNAME                          Instance.HostName
//	EUREKA_INSTANCE_IPADDRESS                         Instance.IPAddr
//	EUREKA_INSTANCE_PREFERIPADDRESS                   Instance.PreferIPAddr
//	EUREKA_INSTANCE_VIRTUALHOSTNAME                   Instance.VIPAddress
//	EUREKA_INSTANCE_SECUREVIRTUALHOSTNAME             Instance.SecureVIPAddress
//	EUREKA_INSTANCE_LEASERENEWALINTERVALINSECONDS     Instance.RenewalInterval
//	EUREKA_INSTANCE_LEASEEXPIRATIONDURATIONINSECONDS  Instance.LeaseDuration
//	EUREKA_INSTANCE_METADATAMAP_<NAME>                Instance.Metadata, the name in lower case
//	EUREKA_URL                                        ServiceURLs, comma-separated
//	EUREKA_CLIENT_SERVICEURL_DEFAULTZONE              ServiceURLs, comma-separated
//	EUREKA_CLIENT_REGION                              Region
//	EUREKA_CLIENT_AVAILABILITYZONES                   Zones, comma-separated
//	EUREKA_CLIENT_SERVICEURL_<ZONE>                   ZoneURLs of a zone of Zones, comma-separated; for
//	                                                  us-east-1a the name ends in US_EAST_1A
//	EUREKA_CLIENT_FETCHREMOTEREGIONSREGISTRY          RemoteRegions, comma-separated
//	EUREKA_CLIENT_REGISTERWITHEUREKA                  false: no Instance
//	EUREKA_CLIENT_FETCHREGISTRY                       false: DisableFetch
//	EUREKA_CLIENT_SHOULDENFORCEREGISTRATIONATINIT     RegisterAtStart
//	EUREKA_CLIENT_INITIALINSTANCEINFOREPLICATIONINTERVALSECONDS
//	                                                  InitialReplicationDelay
//	EUREKA_CLIENT_INSTANCEINFOREPLICATIONINTERVALSECONDS
//	                                                  ReplicationInterval
//	EUREKA_CLIENT_REGISTRYFETCHINTERVALSECONDS        FetchInterval
//	EUREKA_CLIENT_EUREKASERVERREADTIMEOUTSECONDS      RequestTimeout
//	EUREKA_CLIENT_DISABLEDELTA                        DisableDelta
//	EUREKA_CLIENT_GZIPCONTENT                         false: DisableGzip
//	EUREKA_CLIENT_FILTERONLYUPINSTANCES               false: AllStatuses
//	EUREKA_CLIENT_REGISTRYREFRESHSINGLEVIPADDRESS     OnlyVIP
//
// Times are in whole seconds.
func ConfigFromEnv(environ []string) (Config, error) {
	e := environment{config: &Config{}, instance: &Instance{}, values: map[string]variable{}}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value = strings.TrimSpace(value); value != "" {
			e.values[plainName(name)] = variable{name, value}
		}
	}
	e.read()
	if len(e.faults) > 0 {
		return Config{}, fmt.Errorf("discovery configuration from the environment: %w", errors.Join(e.faults...))
	}
	return *e.config, nil
}

// environment is the variables, by plain name, and the configuration that is
// made of them.
type environment struct {
	config   *Config
	instance *Instance
	values   map[string]variable
	faults   []error
}

type variable struct{ name, value string }

// plainName takes from a name what makes no difference.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, strings.ToUpper(name))
}

func (e *environment) read() {
	c, i := e.config, e.instance
	e.text(&i.App, "SPRING_APPLICATION_NAME")
	e.text(&i.App, "EUREKA_INSTANCE_APPNAME")
	e.ports(i)
	e.text(&i.ID, "EUREKA_INSTANCE_INSTANCEID")
	e.text(&i.HostName, "EUREKA_INSTANCE_HOSTNAME")
	e.text(&i.IPAddr, "EUREKA_INSTANCE_IPADDRESS")
	e.boolean(&i.PreferIPAddr, "EUREKA_INSTANCE_PREFERIPADDRESS")
	e.text(&i.VIPAddress, "EUREKA_INSTANCE_VIRTUALHOSTNAME")
	e.text(&i.SecureVIPAddress, "EUREKA_INSTANCE_SECUREVIRTUALHOSTNAME")
	e.seconds(&i.RenewalInterval, "EUREKA_INSTANCE_LEASERENEWALINTERVALINSECONDS")
	e.seconds(&i.LeaseDuration, "EUREKA_INSTANCE_LEASEEXPIRATIONDURATIONINSECONDS")
	e.metadata(i)
	e.list(&c.ServiceURLs, "EUREKA_URL")
	e.list(&c.ServiceURLs, "EUREKA_CLIENT_SERVICEURL_DEFAULTZONE")
	e.text(&c.Region, "EUREKA_CLIENT_REGION")
	e.list(&c.Zones, "EUREKA_CLIENT_AVAILABILITYZONES")
	e.zoneURLs(c)
	e.list(&c.RemoteRegions, "EUREKA_CLIENT_FETCHREMOTEREGIONSREGISTRY")
	e.boolean(&c.RegisterAtStart, "EUREKA_CLIENT_SHOULDENFORCEREGISTRATIONATINIT")
	e.seconds(&c.InitialReplicationDelay, "EUREKA_CLIENT_INITIALINSTANCEINFOREPLICATIONINTERVALSECONDS")
	e.seconds(&c.ReplicationInterval, "EUREKA_CLIENT_INSTANCEINFOREPLICATIONINTERVALSECONDS")
	e.seconds(&c.FetchInterval, "EUREKA_CLIENT_REGISTRYFETCHINTERVALSECONDS")
	e.seconds(&c.RequestTimeout, "EUREKA_CLIENT_EUREKASERVERREADTIMEOUTSECONDS")
	e.boolean(&c.DisableDelta, "EUREKA_CLIENT_DISABLEDELTA")
	e.text(&c.OnlyVIP, "EUREKA_CLIENT_REGISTRYREFRESHSINGLEVIPADDRESS")
	c.DisableFetch = e.switchedOff("EUREKA_CLIENT_FETCHREGISTRY")
	c.DisableGzip = e.switchedOff("EUREKA_CLIENT_GZIPCONTENT")
	c.AllStatuses = e.switchedOff("EUREKA_CLIENT_FILTERONLYUPINSTANCES")
	if !e.switchedOff("EUREKA_CLIENT_REGISTERWITHEUREKA") && i.App != "" {
		c.Instance = i
	}
}

func (e *environment) ports(i *Instance) {
	e.integer(&i.Port, "PORT")
	e.integer(&i.Port, "SERVER_PORT")
	e.integer(&i.Port, "EUREKA_INSTANCE_NONSECUREPORT")
	e.integer(&i.SecurePort, "EUREKA_INSTANCE_SECUREPORT")
	if e.switchedOff("EUREKA_INSTANCE_NONSECUREPORTENABLED") {
		i.Port = 0
	}
	if e.switchedOff("EUREKA_INSTANCE_SECUREPORTENABLED") {
		i.SecurePort = 0
	}
}

func (e *environment) metadata(i *Instance) {
	const prefix = "EUREKA_INSTANCE_METADATAMAP_"
	for _, v := range e.values {
		name := strings.ToUpper(v.name)
		if key, ok := strings.CutPrefix(name, prefix); ok && key != "" {
			if i.Metadata == nil {
				i.Metadata = map[string]string{}
			}
			i.Metadata[strings.ToLower(key)] = v.value
		}
	}
}

// zoneURLs takes the servers of the zones that are known by name: names of
// variables cannot hold that of a zone as it is.
func (e *environment) zoneURLs(c *Config) {
	const prefix = "EUREKACLIENTSERVICEURL"
	for plain, v := range e.values {
		zone, ok := strings.CutPrefix(plain, prefix)
		if !ok || zone == "DEFAULTZONE" {
			continue
		}
		at := slices.IndexFunc(c.Zones, func(known string) bool { return plainName(known) == zone })
		if at < 0 {
			e.faults = append(e.faults, fmt.Errorf("%s names no zone of EUREKA_CLIENT_AVAILABILITYZONES", v.name))
			continue
		}
		if c.ZoneURLs == nil {
			c.ZoneURLs = map[string][]string{}
		}
		c.ZoneURLs[c.Zones[at]] = items(v.value)
	}
}

// get returns a variable, and whether it is set.
func (e *environment) get(name string) (string, bool) {
	v, ok := e.values[plainName(name)]
	return v.value, ok
}

func (e *environment) text(dst *string, name string) {
	if value, ok := e.get(name); ok {
		*dst = value
	}
}

func (e *environment) list(dst *[]string, name string) {
	if value, ok := e.get(name); ok {
		*dst = items(value)
	}
}

// items returns what is between the commas.
func items(list string) []string {
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// setting reads a variable. What cannot be parsed is a fault, of which kind is
// what it must be.
func setting[T any](e *environment, dst *T, name, kind string, parse func(string) (T, error)) {
	text, ok := e.get(name)
	if !ok {
		return
	}
	value, err := parse(text)
	if err != nil {
		e.faults = append(e.faults, fmt.Errorf("%s must be %s", name, kind))
		return
	}
	*dst = value
}

func (e *environment) integer(dst *int, name string) {
	setting(e, dst, name, "a whole number", strconv.Atoi)
}

// seconds reads a duration, which in Java is an int.
func (e *environment) seconds(dst *time.Duration, name string) {
	kind := fmt.Sprintf("a whole number of seconds, at most %d", math.MaxInt32)
	setting(e, dst, name, kind, func(text string) (time.Duration, error) {
		n, err := strconv.ParseInt(text, 10, 32)
		return time.Duration(n) * time.Second, err
	})
}

func (e *environment) boolean(dst *bool, name string) {
	setting(e, dst, name, "true or false", func(text string) (bool, error) { return strconv.ParseBool(strings.ToLower(text)) })
}

// switchedOff reports whether a variable is set to false.
func (e *environment) switchedOff(name string) bool {
	on := true
	e.boolean(&on, name)
	return !on
}
