package wire

import (
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Exceeds reports whether an instance takes more than limit bytes in a list,
// in the larger of the two full encodings; never with a limit of 0. Fields that
// the registry sets, such as times and statuses, do not count: whatever becomes
// of an instance that was accepted, it still fits (TestSizeIgnoresRegistryFields).
func Exceeds(i *eureka.InstanceInfo, limit int) bool {
	return limit > 0 && mostSize(i) > limit && Size(i) > limit
}

// Size returns how many bytes an instance takes in the larger of the two full
// encodings, without what the registry sets.
func Size(i *eureka.InstanceInfo) int {
	scratch := sizeBuffers.Get().(*[]byte)
	defer sizeBuffers.Put(scratch)
	own := *i
	own.Status, own.OverriddenStatus, own.Action, own.Coordinating = "", "", "", false
	own.Lease = eureka.LeaseInfo{}
	own.LastUpdated, own.LastDirty = time.Time{}, time.Time{}
	size := 0
	for _, f := range []Format{JSON, XML} {
		document := Encoding{Format: f}.AppendInstanceDocument((*scratch)[:0], &own)
		if cap(document) <= maxSizeBuffer {
			*scratch = document[:0]
		}
		size = max(size, len(document))
	}
	return size
}

// sizeBuffers are scratch buffers; larger ones than maxSizeBuffer are not kept.
var sizeBuffers = sync.Pool{New: func() any { return new([]byte) }}

const maxSizeBuffer = 256 << 10

const (
	// mostFixed is more than the names of all fields and their numbers take.
	mostFixed = 4 << 10
	// mostOfByte is the most that a byte of a text takes: in an XML name, which
	// stands in the document twice, an escape of six bytes.
	mostOfByte = 12
	// mostOfEntry is more than what surrounds key and value of an entry.
	mostOfEntry = 32
)

// mostSize returns an upper bound of an instance's size, which is all that has
// to be known of nearly every instance and costs no encoding.
func mostSize(i *eureka.InstanceInfo) int {
	n := 0
	for _, text := range []string{
		i.InstanceID, i.HostName, i.App, i.AppGroup, i.IPAddr,
		i.HomePageURL, i.StatusPageURL, i.HealthCheckURL, i.SecureHealthCheckURL,
		i.VIPAddress, i.SecureVIPAddress, i.ASGName,
		i.DataCenter.Class, i.DataCenter.Name,
	} {
		n += len(text)
	}
	entries := len(i.Metadata) + len(i.DataCenter.Metadata)
	for _, m := range []map[string]string{i.Metadata, i.DataCenter.Metadata} {
		for key, value := range m {
			n += len(key) + len(value)
		}
	}
	return mostFixed + mostOfEntry*entries + mostOfByte*n
}
