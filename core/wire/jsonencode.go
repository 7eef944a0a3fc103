package wire

import (
	"strconv"
	"unicode/utf8"

	"github.com/eurekaless/registry/core/eureka"
)

func appendJSONVersion(dst []byte, version int64, hashCode string) []byte {
	dst = appendJSONName(dst, "versions__delta")
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, version, 10)
	dst = append(dst, '"')
	return appendJSONText(dst, "apps__hashcode", hashCode)
}

func appendJSONApplication(dst []byte, a *eureka.Application, compact bool) []byte {
	dst = append(dst, '{')
	dst = appendJSONText(dst, "name", a.Name)
	dst = appendJSONName(dst, "instance")
	dst = append(dst, '[')
	for n, i := range a.Instances {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONInstance(dst, i, compact)
	}
	return append(dst, "]}"...)
}

func appendJSONInstance(dst []byte, i *eureka.InstanceInfo, compact bool) []byte {
	if compact {
		return appendJSONCompactInstance(dst, i)
	}
	return appendJSONFullInstance(dst, i)
}

// appendJSONFullInstance and appendJSONCompactInstance keep the order of the
// stock server's members (TestGolden).
func appendJSONFullInstance(dst []byte, i *eureka.InstanceInfo) []byte {
	dst = append(dst, '{')
	dst = appendJSONOptional(dst, "instanceId", i.InstanceID)
	dst = appendJSONText(dst, "hostName", i.HostName)
	dst = appendJSONText(dst, "app", i.App)
	dst = appendJSONText(dst, "ipAddr", i.IPAddr)
	dst = appendJSONText(dst, "status", statusText(i.Status))
	dst = appendJSONText(dst, "overriddenStatus", statusText(i.OverriddenStatus))
	dst = appendJSONPort(dst, "port", i.Port)
	dst = appendJSONPort(dst, "securePort", i.SecurePort)
	dst = appendJSONNumber(dst, "countryId", int64(i.CountryID))
	dst = appendJSONDataCenter(dst, &i.DataCenter, false)
	dst = appendJSONLease(dst, &i.Lease)
	dst = appendJSONMetadata(dst, i.Metadata)
	dst = appendJSONOptional(dst, "appGroupName", i.AppGroup)
	dst = appendJSONOptional(dst, "homePageUrl", i.HomePageURL)
	dst = appendJSONOptional(dst, "statusPageUrl", i.StatusPageURL)
	dst = appendJSONOptional(dst, "healthCheckUrl", i.HealthCheckURL)
	dst = appendJSONOptional(dst, "secureHealthCheckUrl", i.SecureHealthCheckURL)
	dst = appendJSONOptional(dst, "vipAddress", i.VIPAddress)
	dst = appendJSONOptional(dst, "secureVipAddress", i.SecureVIPAddress)
	dst = appendJSONText(dst, "isCoordinatingDiscoveryServer", strconv.FormatBool(i.Coordinating))
	dst = appendJSONName(dst, "lastUpdatedTimestamp")
	dst = append(appendMillis(append(dst, '"'), i.LastUpdated), '"')
	dst = appendJSONName(dst, "lastDirtyTimestamp")
	dst = append(appendMillis(append(dst, '"'), i.LastDirty), '"')
	dst = appendJSONOptional(dst, "actionType", string(i.Action))
	dst = appendJSONOptional(dst, "asgName", i.ASGName)
	return append(dst, '}')
}

func appendJSONCompactInstance(dst []byte, i *eureka.InstanceInfo) []byte {
	dst = append(dst, '{')
	dst = appendJSONOptional(dst, "instanceId", i.InstanceID)
	dst = appendJSONText(dst, "app", i.App)
	dst = appendJSONText(dst, "ipAddr", i.IPAddr)
	dst = appendJSONOptional(dst, "vipAddress", i.VIPAddress)
	dst = appendJSONOptional(dst, "secureVipAddress", i.SecureVIPAddress)
	dst = appendJSONDataCenter(dst, &i.DataCenter, true)
	dst = appendJSONText(dst, "hostName", i.HostName)
	dst = appendJSONText(dst, "status", statusText(i.Status))
	dst = appendJSONNumber(dst, "lastUpdatedTimestamp", millis(i.LastUpdated))
	dst = appendJSONOptional(dst, "actionType", string(i.Action))
	dst = appendJSONOptional(dst, "asgName", i.ASGName)
	dst = appendJSONPort(dst, "port", i.Port)
	dst = appendJSONPort(dst, "securePort", i.SecurePort)
	return append(dst, '}')
}

func appendJSONPort(dst []byte, name string, p eureka.Port) []byte {
	dst = appendJSONName(dst, name)
	dst = append(dst, '{')
	dst = appendJSONNumber(dst, "$", int64(p.Number))
	dst = appendJSONText(dst, "@enabled", strconv.FormatBool(p.Enabled))
	return append(dst, '}')
}

func appendJSONDataCenter(dst []byte, d *eureka.DataCenterInfo, compact bool) []byte {
	name, class := dataCenterNames(d)
	dst = appendJSONName(dst, "dataCenterInfo")
	dst = append(dst, '{')
	dst = appendJSONText(dst, "@class", class)
	dst = appendJSONText(dst, "name", name)
	if name == eureka.DataCenterAmazon {
		var buffer keysBuffer
		dst = appendJSONName(dst, "metadata")
		dst = appendJSONMap(dst, appendDataCenterKeys(buffer[:0], d.Metadata, compact), d.Metadata)
	}
	return append(dst, '}')
}

func appendJSONLease(dst []byte, l *eureka.LeaseInfo) []byte {
	dst = appendJSONName(dst, "leaseInfo")
	dst = append(dst, '{')
	dst = appendJSONNumber(dst, "renewalIntervalInSecs", seconds(l.RenewalInterval, eureka.DefaultRenewalInterval))
	dst = appendJSONNumber(dst, "durationInSecs", seconds(l.Duration, eureka.DefaultLeaseDuration))
	dst = appendJSONNumber(dst, "registrationTimestamp", millis(l.Registered))
	dst = appendJSONNumber(dst, "lastRenewalTimestamp", millis(l.LastRenewed))
	dst = appendJSONNumber(dst, "evictionTimestamp", millis(l.Evicted))
	dst = appendJSONNumber(dst, "serviceUpTimestamp", millis(l.ServiceUp))
	return append(dst, '}')
}

func appendJSONMetadata(dst []byte, m map[string]string) []byte {
	dst = appendJSONName(dst, "metadata")
	if len(m) == 0 {
		dst = append(dst, '{')
		dst = appendJSONText(dst, "@class", emptyMapClass)
		return append(dst, '}')
	}
	var buffer keysBuffer
	return appendJSONMap(dst, appendSortedKeys(buffer[:0], m), m)
}

func appendJSONMap(dst []byte, keys []string, m map[string]string) []byte {
	dst = append(dst, '{')
	for n, key := range keys {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, key)
		dst = append(dst, ':')
		dst = appendJSONString(dst, m[key])
	}
	return append(dst, '}')
}

// appendJSONName appends a member's name, with a comma unless it is the first
// of its object. Names are the protocol's own and need no escaping.
func appendJSONName(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, `":`...)
}

func appendJSONText(dst []byte, name, value string) []byte {
	return appendJSONString(appendJSONName(dst, name), value)
}

// appendJSONOptional appends a member unless it is empty: the wire has no
// nulls.
func appendJSONOptional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendJSONText(dst, name, value)
}

func appendJSONNumber(dst []byte, name string, value int64) []byte {
	return strconv.AppendInt(appendJSONName(dst, name), value, 10)
}

// replacement stands for what cannot be written: bytes that are not UTF-8,
// and in XML the characters that it has no place for.
const replacement = "\uFFFD"

// appendJSONString appends a quoted text. Like the stock server it escapes
// only what it must.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	written := 0
	for n := 0; n < len(s); {
		b := s[n]
		if b >= ' ' && b < utf8.RuneSelf && b != '"' && b != '\\' {
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		invalid := r == utf8.RuneError && size == 1
		if b >= utf8.RuneSelf && !invalid {
			n += size
			continue
		}
		dst = append(dst, s[written:n]...)
		if invalid {
			dst = append(dst, replacement...)
		} else {
			dst = appendJSONEscape(dst, b)
		}
		n += size
		written = n
	}
	dst = append(dst, s[written:]...)
	return append(dst, '"')
}

func appendJSONEscape(dst []byte, b byte) []byte {
	const hex = "0123456789ABCDEF"
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&0xF])
}
