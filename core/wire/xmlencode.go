package wire

import (
	"strconv"
	"unicode/utf8"

	"github.com/eurekaless/registry/core/eureka"
)

// xmlWriter appends elements, each on a line of its own if indent is set.
type xmlWriter struct {
	dst []byte
	// depth is that of the next element; 0 is a document's root.
	depth  int
	indent bool
}

func (e Encoding) xmlWriter(dst []byte, depth int) xmlWriter {
	return xmlWriter{dst: dst, depth: depth, indent: !e.Compact}
}

func (w *xmlWriter) version(version int64, hashCode string) {
	w.number("versions__delta", version)
	w.text("apps__hashcode", hashCode)
}

func (w *xmlWriter) application(a *eureka.Application, compact bool) {
	w.open("application")
	w.text("name", a.Name)
	for _, i := range a.Instances {
		w.instance(i, compact)
	}
	w.close("application")
}

func (w *xmlWriter) instance(i *eureka.InstanceInfo, compact bool) {
	w.open("instance")
	if compact {
		w.compactFields(i)
	} else {
		w.fullFields(i)
	}
	w.close("instance")
}

// fullFields and compactFields keep the order of the stock server's elements
// (TestGolden).
func (w *xmlWriter) fullFields(i *eureka.InstanceInfo) {
	w.optional("instanceId", i.InstanceID)
	w.text("hostName", i.HostName)
	w.text("app", i.App)
	w.text("ipAddr", i.IPAddr)
	w.text("status", statusText(i.Status))
	w.text("overriddenstatus", statusText(i.OverriddenStatus))
	w.port("port", i.Port)
	w.port("securePort", i.SecurePort)
	w.number("countryId", int64(i.CountryID))
	w.dataCenter(&i.DataCenter, false)
	w.lease(&i.Lease)
	w.metadata(i.Metadata)
	w.optional("appGroupName", i.AppGroup)
	w.optional("homePageUrl", i.HomePageURL)
	w.optional("statusPageUrl", i.StatusPageURL)
	w.optional("healthCheckUrl", i.HealthCheckURL)
	w.optional("secureHealthCheckUrl", i.SecureHealthCheckURL)
	w.optional("vipAddress", i.VIPAddress)
	w.optional("secureVipAddress", i.SecureVIPAddress)
	w.text("isCoordinatingDiscoveryServer", strconv.FormatBool(i.Coordinating))
	w.number("lastUpdatedTimestamp", millis(i.LastUpdated))
	w.number("lastDirtyTimestamp", millis(i.LastDirty))
	w.optional("actionType", string(i.Action))
	w.optional("asgName", i.ASGName)
}

func (w *xmlWriter) compactFields(i *eureka.InstanceInfo) {
	w.optional("instanceId", i.InstanceID)
	w.text("app", i.App)
	w.text("ipAddr", i.IPAddr)
	w.optional("vipAddress", i.VIPAddress)
	w.optional("secureVipAddress", i.SecureVIPAddress)
	w.dataCenter(&i.DataCenter, true)
	w.text("hostName", i.HostName)
	w.text("status", statusText(i.Status))
	w.number("lastUpdatedTimestamp", millis(i.LastUpdated))
	w.optional("actionType", string(i.Action))
	w.optional("asgName", i.ASGName)
	w.port("port", i.Port)
	w.port("securePort", i.SecurePort)
}

func (w *xmlWriter) port(name string, p eureka.Port) {
	w.openWith(name, "enabled", strconv.FormatBool(p.Enabled))
	w.dst = strconv.AppendInt(w.dst, int64(p.Number), 10)
	w.closeInline(name)
}

func (w *xmlWriter) dataCenter(d *eureka.DataCenterInfo, compact bool) {
	name, class := dataCenterNames(d)
	w.openWith("dataCenterInfo", "class", class)
	w.depth++
	w.text("name", name)
	if name == eureka.DataCenterAmazon {
		var buffer keysBuffer
		w.open("metadata")
		w.entries(appendDataCenterKeys(buffer[:0], d.Metadata, compact), d.Metadata)
		w.close("metadata")
	}
	w.close("dataCenterInfo")
}

func (w *xmlWriter) lease(l *eureka.LeaseInfo) {
	w.open("leaseInfo")
	w.number("renewalIntervalInSecs", seconds(l.RenewalInterval, eureka.DefaultRenewalInterval))
	w.number("durationInSecs", seconds(l.Duration, eureka.DefaultLeaseDuration))
	w.number("registrationTimestamp", millis(l.Registered))
	w.number("lastRenewalTimestamp", millis(l.LastRenewed))
	w.number("evictionTimestamp", millis(l.Evicted))
	w.number("serviceUpTimestamp", millis(l.ServiceUp))
	w.close("leaseInfo")
}

func (w *xmlWriter) metadata(m map[string]string) {
	if len(m) == 0 {
		w.line()
		w.dst = append(w.dst, `<metadata class="`+emptyMapClass+`"/>`...)
		return
	}
	var buffer keysBuffer
	w.open("metadata")
	w.entries(appendSortedKeys(buffer[:0], m), m)
	w.close("metadata")
}

// entries appends an element for each key, whose name is the coded key.
func (w *xmlWriter) entries(keys []string, m map[string]string) {
	for _, key := range keys {
		w.line()
		w.dst = append(w.dst, '<')
		w.dst = appendXMLName(w.dst, key)
		w.dst = append(w.dst, '>')
		w.dst = appendXMLText(w.dst, m[key])
		w.dst = append(w.dst, "</"...)
		w.dst = appendXMLName(w.dst, key)
		w.dst = append(w.dst, '>')
	}
}

// line begins a new line, unless at the beginning of a document.
func (w *xmlWriter) line() {
	if !w.indent || w.depth == 0 {
		return
	}
	w.newline()
}

func (w *xmlWriter) newline() {
	w.dst = append(w.dst, '\n')
	for range w.depth {
		w.dst = append(w.dst, "  "...)
	}
}

// open begins an element that holds others, close ends it.
func (w *xmlWriter) open(name string) {
	w.openInline(name)
	w.depth++
}

func (w *xmlWriter) close(name string) {
	w.depth--
	if w.indent {
		w.newline()
	}
	w.closeInline(name)
}

func (w *xmlWriter) text(name, value string) {
	w.openInline(name)
	w.dst = appendXMLText(w.dst, value)
	w.closeInline(name)
}

// optional appends an element unless it is empty.
func (w *xmlWriter) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *xmlWriter) number(name string, value int64) {
	w.openInline(name)
	w.dst = strconv.AppendInt(w.dst, value, 10)
	w.closeInline(name)
}

func (w *xmlWriter) openInline(name string) {
	w.line()
	w.dst = append(w.dst, '<')
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, '>')
}

// openWith begins an element with an attribute.
func (w *xmlWriter) openWith(name, attribute, value string) {
	w.line()
	w.dst = append(w.dst, '<')
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, ' ')
	w.dst = append(w.dst, attribute...)
	w.dst = append(w.dst, `="`...)
	w.dst = appendXMLText(w.dst, value)
	w.dst = append(w.dst, `">`...)
}

func (w *xmlWriter) closeInline(name string) {
	w.dst = append(w.dst, "</"...)
	w.dst = append(w.dst, name...)
	w.dst = append(w.dst, '>')
}

// appendXMLText appends a text, escaped for elements and attributes alike. A
// character that XML 1.0 has no place for becomes U+FFFD: the stock server
// writes a reference to it, which no parser but its own takes
// (TestXMLControlCharacters).
func appendXMLText(dst []byte, s string) []byte {
	written := 0
	for n := 0; n < len(s); {
		if isPlainXML(s[n]) {
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if escape := xmlEscape(r); escape != "" {
			dst = append(dst, s[written:n]...)
			dst = append(dst, escape...)
			written = n + size
		}
		n += size
	}
	return append(dst, s[written:]...)
}

// isPlainXML reports whether a byte stands for itself; most do.
func isPlainXML(b byte) bool {
	if b > '>' {
		return b < utf8.RuneSelf
	}
	return b >= ' ' && b != '<' && b != '>' && b != '&' && b != '"' && b != '\''
}

// xmlEscape returns what stands for r in a text, or "" for r itself.
func xmlEscape(r rune) string {
	switch r {
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '&':
		return "&amp;"
	case '"':
		return "&quot;"
	case '\'':
		return "&apos;"
	case '\r':
		return "&#xd;"
	case '\t', '\n':
		return ""
	case 0xFFFE, 0xFFFF, utf8.RuneError:
		return replacement
	}
	if r < ' ' {
		return replacement
	}
	return ""
}
