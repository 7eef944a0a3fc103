package wire

import (
	"slices"
	"strconv"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// A list is AppendOpening, then AppendApplication for each application with
// AppendSeparator between any two, then AppendClosing. What AppendApplication
// writes for one application does not depend on its neighbours nor on its
// place, so encoded (and compressed) pieces can be kept and joined in any
// order, with a separator between two pieces.

// AppendOpening appends the beginning of a list, up to where the first
// application goes. Compact lists have version and hash code at the end, so
// they ignore both here.
func (e Encoding) AppendOpening(dst []byte, version int64, hashCode string) []byte {
	if e.Format == XML {
		w := e.xmlWriter(dst, 0)
		w.open("applications")
		if !e.Compact {
			w.version(version, hashCode)
		}
		return w.dst
	}
	dst = append(dst, `{"applications":{`...)
	if !e.Compact {
		dst = appendJSONVersion(dst, version, hashCode)
	}
	dst = appendJSONName(dst, "application")
	return append(dst, '[')
}

// AppendSeparator appends what stands between two applications of a list: a
// comma in JSON, nothing in XML.
func (e Encoding) AppendSeparator(dst []byte) []byte {
	if e.Format == XML {
		return dst
	}
	return append(dst, ',')
}

// AppendApplication appends one application as it stands in a list. Unless it
// is the first, the separator goes before it; so with first the piece is free
// of separators and can be reused anywhere.
func (e Encoding) AppendApplication(dst []byte, a *eureka.Application, first bool) []byte {
	if !first {
		dst = e.AppendSeparator(dst)
	}
	if e.Format == XML {
		w := e.xmlWriter(dst, 1)
		w.application(a, e.Compact)
		return w.dst
	}
	return appendJSONApplication(dst, a, e.Compact)
}

// AppendClosing appends the end of a list. Full lists ignore version and hash
// code here.
func (e Encoding) AppendClosing(dst []byte, version int64, hashCode string) []byte {
	if e.Format == XML {
		w := e.xmlWriter(dst, 1)
		if e.Compact {
			w.version(version, hashCode)
		}
		w.close("applications")
		return w.dst
	}
	dst = append(dst, ']')
	if e.Compact {
		dst = appendJSONVersion(dst, version, hashCode)
	}
	return append(dst, "}}"...)
}

// AppendApplications appends a whole list.
func (e Encoding) AppendApplications(dst []byte, a *eureka.Applications) []byte {
	dst = e.AppendOpening(dst, a.Version, a.HashCode)
	for n := range a.Applications {
		dst = e.AppendApplication(dst, &a.Applications[n], n == 0)
	}
	return e.AppendClosing(dst, a.Version, a.HashCode)
}

// AppendApplicationDocument appends the document of one application.
func (e Encoding) AppendApplicationDocument(dst []byte, a *eureka.Application) []byte {
	if e.Format == XML {
		w := e.xmlWriter(dst, 0)
		w.application(a, e.Compact)
		return w.dst
	}
	dst = append(dst, `{"application":`...)
	dst = appendJSONApplication(dst, a, e.Compact)
	return append(dst, '}')
}

// AppendInstanceDocument appends the document of one instance. The stock
// server sends it full whatever was asked for.
func (e Encoding) AppendInstanceDocument(dst []byte, i *eureka.InstanceInfo) []byte {
	if e.Format == XML {
		w := e.xmlWriter(dst, 0)
		w.instance(i, e.Compact)
		return w.dst
	}
	dst = append(dst, `{"instance":`...)
	dst = appendJSONInstance(dst, i, e.Compact)
	return append(dst, '}')
}

// AppendRegistration appends what a client sends to register an instance.
func AppendRegistration(dst []byte, f Format, i *eureka.InstanceInfo) []byte {
	return Encoding{Format: f}.AppendInstanceDocument(dst, i)
}

// emptyMapClass marks empty metadata, for Java's sake.
const emptyMapClass = "java.util.Collections$EmptyMap"

// compactDataCenterKeys are the entries of an Amazon data centre's metadata
// that compact bodies keep, in order.
var compactDataCenterKeys = [...]string{
	"availability-zone", "instance-id", "local-ipv4", "public-hostname", "public-ipv4",
}

// keysBuffer is room on the stack for the keys of usual metadata.
type keysBuffer [16]string

// appendSortedKeys appends the keys of m in order, so that equal instances
// have equal bodies.
func appendSortedKeys(keys []string, m map[string]string) []string {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// appendDataCenterKeys appends the keys of an Amazon data centre's metadata
// that a body holds, in order.
func appendDataCenterKeys(keys []string, m map[string]string, compact bool) []string {
	if !compact {
		return appendSortedKeys(keys, m)
	}
	for _, k := range compactDataCenterKeys {
		if _, ok := m[k]; ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// appendMillis appends a time as the wire has it: epoch milliseconds, 0 for
// none.
func appendMillis(dst []byte, t time.Time) []byte {
	return strconv.AppendInt(dst, millis(t), 10)
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// seconds returns whole seconds, rounded up so that no lease becomes shorter,
// or those of otherwise when there is no positive duration.
func seconds(d, otherwise time.Duration) int64 {
	if d <= 0 {
		d = otherwise
	}
	return int64((d + time.Second - 1) / time.Second)
}

// statusText returns what stands for a status: none is UNKNOWN.
func statusText(s eureka.Status) string {
	if s == "" {
		return string(eureka.Unknown)
	}
	return string(s)
}

// dataCenterNames returns name and class, each with its default: Java clients
// cannot read an instance that lacks one.
func dataCenterNames(d *eureka.DataCenterInfo) (name, class string) {
	name, class = d.Name, d.Class
	if name == "" {
		name = eureka.DataCenterMyOwn
	}
	if class == "" {
		class = dataCenterClass(name)
	}
	return name, class
}

// dataCenterClass returns the class that belongs to a data centre's name.
func dataCenterClass(name string) string {
	if name == eureka.DataCenterAmazon {
		return eureka.AmazonDataCenterClass
	}
	return eureka.DefaultDataCenterClass
}
