package instancecodec

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Bits of a record's first field.
const (
	flagPortEnabled = 1 << iota
	flagSecurePortEnabled
	flagCoordinating
)

// wellKnown are texts that most records hold; one byte stands for each. The
// order is part of the format: append only.
var wellKnown = [...]string{
	"",
	string(eureka.Up), string(eureka.Down), string(eureka.Starting), string(eureka.OutOfService), string(eureka.Unknown),
	string(eureka.Added), string(eureka.Modified), string(eureka.Deleted),
	eureka.DefaultDataCenterClass, eureka.AmazonDataCenterClass,
	eureka.DataCenterMyOwn, eureka.DataCenterAmazon, eureka.DataCenterNetflix,
}

// literal stands before a text that is not well known.
const literal = 0xff

// appendRecord appends the record of an instance: the format's field order.
func appendRecord(b []byte, i *eureka.InstanceInfo) []byte {
	b = binary.AppendUvarint(b, flags(i))
	b = appendText(b, i.InstanceID)
	b = appendText(b, i.HostName)
	b = appendText(b, i.App)
	b = appendText(b, i.AppGroup)
	b = appendText(b, i.IPAddr)
	b = appendWord(b, string(i.Status))
	b = appendWord(b, string(i.OverriddenStatus))
	b = appendWord(b, string(i.Action))
	b = binary.AppendVarint(b, int64(i.Port.Number))
	b = binary.AppendVarint(b, int64(i.SecurePort.Number))
	b = binary.AppendVarint(b, int64(i.CountryID))
	b = appendWord(b, i.DataCenter.Class)
	b = appendWord(b, i.DataCenter.Name)
	b = appendMap(b, i.DataCenter.Metadata)
	b = appendMap(b, i.Metadata)
	b = appendText(b, i.HomePageURL)
	b = appendText(b, i.StatusPageURL)
	b = appendText(b, i.HealthCheckURL)
	b = appendText(b, i.SecureHealthCheckURL)
	b = appendText(b, i.VIPAddress)
	b = appendText(b, i.SecureVIPAddress)
	b = appendText(b, i.ASGName)
	b = binary.AppendVarint(b, i.Lease.RenewalInterval.Milliseconds())
	b = binary.AppendVarint(b, i.Lease.Duration.Milliseconds())
	b = appendTime(b, i.Lease.Registered)
	b = appendTime(b, i.Lease.LastRenewed)
	b = appendTime(b, i.Lease.Evicted)
	b = appendTime(b, i.Lease.ServiceUp)
	b = appendTime(b, i.LastUpdated)
	return appendTime(b, i.LastDirty)
}

// instance reads a record; the order is appendRecord's.
func (c *cursor) instance() *eureka.InstanceInfo {
	flags := c.uvarint()
	i := &eureka.InstanceInfo{
		InstanceID:       c.text(),
		HostName:         c.text(),
		App:              c.text(),
		AppGroup:         c.text(),
		IPAddr:           c.text(),
		Status:           eureka.Status(c.word()),
		OverriddenStatus: eureka.Status(c.word()),
		Action:           eureka.ActionType(c.word()),
		Port:             eureka.Port{Number: c.int(), Enabled: flags&flagPortEnabled != 0},
		SecurePort:       eureka.Port{Number: c.int(), Enabled: flags&flagSecurePortEnabled != 0},
		CountryID:        c.int(),
		Coordinating:     flags&flagCoordinating != 0,
	}
	i.DataCenter = eureka.DataCenterInfo{Class: c.word(), Name: c.word(), Metadata: c.stringMap()}
	i.Metadata = c.stringMap()
	i.HomePageURL = c.text()
	i.StatusPageURL = c.text()
	i.HealthCheckURL = c.text()
	i.SecureHealthCheckURL = c.text()
	i.VIPAddress = c.text()
	i.SecureVIPAddress = c.text()
	i.ASGName = c.text()
	i.Lease = eureka.LeaseInfo{
		RenewalInterval: c.duration(),
		Duration:        c.duration(),
		Registered:      c.time(),
		LastRenewed:     c.time(),
		Evicted:         c.time(),
		ServiceUp:       c.time(),
	}
	i.LastUpdated = c.time()
	i.LastDirty = c.time()
	return i
}

func flags(i *eureka.InstanceInfo) uint64 {
	var f uint64
	if i.Port.Enabled {
		f |= flagPortEnabled
	}
	if i.SecurePort.Enabled {
		f |= flagSecurePortEnabled
	}
	if i.Coordinating {
		f |= flagCoordinating
	}
	return f
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendWord(b []byte, s string) []byte {
	if n := slices.Index(wellKnown[:], s); n >= 0 {
		return append(b, byte(n))
	}
	return appendText(append(b, literal), s)
}

// appendMap appends a map in the order of its keys, so that equal instances
// have equal bytes.
func appendMap(b []byte, m map[string]string) []byte {
	b = binary.AppendUvarint(b, uint64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = appendText(appendText(b, k), m[k])
	}
	return b
}

// appendTime appends epoch milliseconds; 0 is the zero time, as on the wire.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(b, t.UnixMilli())
}
