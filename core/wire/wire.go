// Package wire is Eureka's JSON and XML, both directions, full and compact. It
// is the only place that knows their oddities:
//
//   - A port is an object of a number and a text, {"$": 8080, "@enabled":
//     "true"}; in XML a number with an attribute. Both members are read as
//     number, text or boolean.
//   - lastUpdatedTimestamp and lastDirtyTimestamp are texts in full JSON;
//     lastUpdatedTimestamp is a number in compact JSON. A time that was never
//     set is 0.
//   - Empty metadata is Java's marker of an empty map, as a member in JSON and
//     as an attribute in XML (TestEmptyMetadata).
//   - The override is overriddenStatus in JSON and overriddenstatus in XML;
//     either is read in both (TestH4).
//   - dataCenterInfo is written class, name, metadata, in this order, since
//     Java clients need the name before the metadata (TestH1).
//   - XML names are coded as XStream codes them, "_" as "__" and "$" as "_-",
//     metadata keys too; see names.go.
//   - Full XML is indented by two spaces; compact XML is one line. Compact
//     bodies have the version and the hash code behind the applications.
//   - appGroupName, asgName and secureHealthCheckUrl are written when they are
//     there, each at its own place; sid is neither kept nor written.
//
// There are two ways to read. [DecodeRegistration] is for a registry: it
// refuses what is wrong and names the field, and ignores what only a registry
// may set. [DecodeApplications], [DecodeApplication] and [DecodeInstance] are
// for clients: they take what any Eureka server sends and give a field that
// makes no sense its default.
//
// Functions are safe for concurrent use. The appenders use no reflection and
// allocate nothing but dst (and a sorted list of keys for metadata of more
// than 16 entries).
package wire

// Format is a media type that Eureka speaks.
type Format int

// The formats.
const (
	JSON Format = iota
	XML
)

// ContentType returns the media type of bodies in this format, always without
// a charset: both are UTF-8.
func (f Format) ContentType() string {
	if f == XML {
		return "application/xml"
	}
	return "application/json"
}

// String returns "JSON" or "XML".
func (f Format) String() string {
	if f == XML {
		return "XML"
	}
	return "JSON"
}

// Encoding is a shape of answer. It is comparable, so it can be part of a
// cache's key.
type Encoding struct {
	Format Format
	// Compact leaves out what a client that only calls instances does not
	// need: metadata, lease, URLs and override among them.
	Compact bool
}
