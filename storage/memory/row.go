package memory

import (
	"bytes"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/instancecodec"
)

// keptRow is a row as it is kept for an hour, by which somebody can have written
// very many: a large instance is kept compressed, without its maps.
type keptRow struct {
	row delta.Row
	// stored is the row's instance; nil when the row has it.
	stored []byte
}

// Instances above either are large. Usual ones are below both.
const (
	largeEntries = 32
	largeBytes   = 4 << 10
)

// keep returns a row to be kept.
func keep(r delta.Row) keptRow {
	if !large(r.Instance) {
		return keptRow{row: r}
	}
	stored, err := instancecodec.Encode(r.Instance)
	if err != nil {
		return keptRow{row: r} // too large to be stored, which the registry prevents
	}
	r.Instance = nil
	return keptRow{row: r, stored: bytes.Clone(stored)} // without room to spare
}

// whole returns the row as it was written.
func (k *keptRow) whole() delta.Row {
	if k.stored == nil {
		return k.row
	}
	out := k.row
	out.Instance, _ = instancecodec.Decode(k.stored) // what was encoded decodes
	return out
}

func large(i *eureka.InstanceInfo) bool {
	n := len(i.VIPAddress) + len(i.SecureVIPAddress) + len(i.HomePageURL) + len(i.StatusPageURL) +
		len(i.HealthCheckURL) + len(i.SecureHealthCheckURL) + len(i.HostName) + len(i.ASGName) + len(i.AppGroup) + len(i.IPAddr)
	entries := 0
	for _, m := range []map[string]string{i.Metadata, i.DataCenter.Metadata} {
		entries += len(m)
		for key, value := range m {
			n += len(key) + len(value)
		}
	}
	return entries > largeEntries || n > largeBytes
}
