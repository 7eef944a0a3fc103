package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// The tables of this file are what clients in the field send. Each row is also
// a seed of the fuzz targets.

// metadataIDs are registrations by host name, id and the metadata's id.
// (Case H30.)
var metadataIDs = []struct {
	name           string
	host, id, meta any
	want           string
}{
	{"id in the metadata", "u24", nil, "svc:983d", "u24:svc:983d"},
	{"begins with the host name", "u24", nil, "u24:svc:983d", "u24:svc:983d"},
	{"is the host name", "u24", nil, "u24", "u24"},
	{"begins with a longer name", "u24", nil, "u240:svc", "u240:svc"},
	{"another case of the host name", "u24", nil, "U24:svc", "u24:U24:svc"},
	{"empty", "u24", nil, "", "u24"},
	{"blank", "u24", nil, " \t", "u24"},
	{"null", "u24", nil, json.RawMessage("null"), "u24"},
	{"none", "u24", nil, nil, "u24"},
	{"a number", "u24", nil, 8080, "u24:8080"},
	{"an id of its own", "u24", "own", "svc:983d", "own"},
	{"an empty id of its own", "u24", "", "svc:983d", "u24:svc:983d"},
	{"null for an id of its own", "u24", json.RawMessage("null"), "svc:983d", "u24:svc:983d"},
}

func (r object) withMetadataID(meta any) object {
	if r["metadata"] = nil; meta != nil {
		r["metadata"] = object{"instanceId": meta}
	}
	return r
}

func TestIDFromMetadata(t *testing.T) {
	for _, c := range metadataIDs {
		t.Run(c.name, func(t *testing.T) {
			instance := complete(object{"hostName": c.host, "instanceId": c.id}.withMetadataID(c.meta))
			i, err := register(t, instance)
			require.NoError(t, err)
			assert.Equal(t, c.want, i.ID())

			item, err := json.Marshal(object{"replicationList": []object{{"action": "Register", "instanceInfo": instance}}})
			require.NoError(t, err)
			items, err := wire.DecodeReplication(item, wire.Limits{})
			require.NoError(t, err)
			require.NoError(t, items[0].Err)
			assert.Equal(t, c.want, items[0].Instance.ID(), "from a peer")

			if meta, isText := c.meta.(string); isText && c.id == nil {
				i, err = wire.DecodeRegistration(wire.XML, []byte(strings.NewReplacer(
					"x-1", fmt.Sprint(c.host), "<leaseInfo/><metadata/>", "<metadata><instanceId>"+meta+"</instanceId></metadata>",
				).Replace(xmlRegistration)), wire.Limits{})
				require.NoError(t, err)
				assert.Equal(t, c.want, i.ID(), "in XML")
			}
		})
	}
	t.Run("within Amazon", func(t *testing.T) {
		amazon := object{"@class": eureka.AmazonDataCenterClass, "name": "Amazon", "metadata": object{"instance-id": "i-01"}}
		i, err := register(t, complete(object{"instanceId": nil, "dataCenterInfo": amazon}.withMetadataID("svc:1")))
		require.NoError(t, err)
		assert.Equal(t, "shop-1.example.org:svc:1", i.ID())
		i, err = register(t, complete(object{"instanceId": nil, "dataCenterInfo": amazon}.withMetadataID(" ")))
		require.NoError(t, err)
		assert.Equal(t, "i-01", i.ID())
	})
}

// cityXML is a registration whose metadata has a city.
func cityXML(declaration, city string) string {
	return declaration + `<instance><hostName>x-1</hostName><app>X</app><ipAddr>192.0.2.1</ipAddr>
		<dataCenterInfo><name>MyOwn</name></dataCenterInfo><metadata><city>` + city + `</city></metadata></instance>`
}

func declared(encoding string) string { return `<?xml version="1.0" encoding="` + encoding + `"?>` }

// inUTF16 returns a text as UTF-16 in big or little endian.
func inUTF16(text string, big bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		if big {
			b.WriteByte(byte(unit >> 8))
		}
		b.WriteByte(byte(unit))
		if !big {
			b.WriteByte(byte(unit >> 8))
		}
	}
	return b.String()
}

// encodedXML are documents in an encoding of their own, and the city that they
// have. (Case H31.)
var encodedXML = []struct{ name, body, want string }{
	{"ISO-8859-1", cityXML(declared("ISO-8859-1"), "Z\xfcrich"), "Zürich"},
	{"lower case", cityXML(declared("iso-8859-1"), "Z\xfcrich"), "Zürich"},
	{"an alias", cityXML(declared("latin1"), "Z\xfcrich"), "Zürich"},
	{"single quotes", cityXML("<?xml version='1.0' encoding='ISO-8859-1' standalone='yes'?>", "Z\xfcrich"), "Zürich"},
	{"white space", cityXML("<?xml version = \"1.0\"\n\tencoding = \"ISO-8859-1\" ?>\n", "Z\xfcrich"), "Zürich"},
	{"ISO-8859-15", cityXML(declared("ISO-8859-15"), "\xa4 100"), "€ 100"},
	{"windows-1252", cityXML(declared("windows-1252"), "\x80 100"), "€ 100"},
	{"an alias of browsers", cityXML(declared("x-cp1252"), "\x80 100"), "€ 100"},
	{"windows-1251", cityXML(declared("windows-1251"), "\xcc\xee\xf1\xea\xe2\xe0"), "Москва"},
	{"KOI8-R", cityXML(declared("KOI8-R"), "\xed\xcf\xd3\xcb\xd7\xc1"), "Москва"},
	{"ISO_8859-2", cityXML(declared("ISO_8859-2"), "\xa3\xf3d\xbc"), "Łódź"},
	{"Latin-9", cityXML(declared("Latin-9"), "\xa4 100"), "€ 100"},
	{"cp850", cityXML(declared("cp850"), "Z\x81rich"), "Zürich"},
	{"IBM437", cityXML(declared("IBM437"), "Z\x81rich"), "Zürich"},
	{"macintosh", cityXML(declared("macintosh"), "Z\x9frich"), "Zürich"},
	{"US-ASCII", cityXML(declared("US-ASCII"), "Bern"), "Bern"},
	{"US-ASCII with a reference", cityXML(declared("US-ASCII"), "Z&#252;rich"), "Zürich"},
	{"UTF-8", cityXML(declared("UTF-8"), "Zürich"), "Zürich"},
	{"utf8", cityXML(declared("utf8"), "Zürich"), "Zürich"},
	{"no declaration", cityXML("", "Zürich"), "Zürich"},
	{"no encoding", cityXML(`<?xml version="1.0"?>`, "Zürich"), "Zürich"},
	{"UTF-8 mark", "\xEF\xBB\xBF" + cityXML(declared("UTF-8"), "Zürich"), "Zürich"},
	{"UTF-8 mark before another encoding", "\xEF\xBB\xBF" + cityXML(declared("ISO-8859-1"), "Zürich"), "Zürich"},
	{"UTF-16, big endian mark", "\xFE\xFF" + inUTF16(cityXML(declared("UTF-16"), "Zürich 東京 🗼"), true), "Zürich 東京 🗼"},
	{"UTF-16, little endian mark", "\xFF\xFE" + inUTF16(cityXML(declared("utf-16"), "Zürich 東京 🗼"), false), "Zürich 東京 🗼"},
	{"UTF-16, big endian without mark", inUTF16(cityXML(declared("UTF-16BE"), "Zürich"), true), "Zürich"},
	{"UTF-16, little endian without mark", inUTF16(cityXML("", "Zürich"), false), "Zürich"},
}

// misencodedXML are documents that are not in the encoding that they declare.
var misencodedXML = []struct{ name, body string }{
	{"unknown encoding", cityXML(declared("X-MYSTERY"), "Bern")},
	{"encoding without decoder", cityXML(declared("EBCDIC-US"), "Bern")},
	{"encoding of browsers for nothing", cityXML(declared("ISO-2022-KR"), "Bern")},
	{"undefined byte", cityXML(declared("windows-1253"), "\xd2")},
	{"not ASCII", cityXML(declared("US-ASCII"), "Z\xfcrich")},
	{"many bytes a character", cityXML(declared("Shift_JIS"), "\x93\x8c\x8b\x9e")},
	{"declared UTF-16, but is not", cityXML(declared("UTF-16"), "Bern")},
	{"half a UTF-16 character", inUTF16(cityXML("", "x"), true) + "\xd8\x00"},
	{"UTF-16 cut off", inUTF16(cityXML("", "x"), true) + "\x00"},
	{"no encoding declared", cityXML("", "Z\xfcrich")},
	{"document type", cityXML(declared("ISO-8859-1")+`<!DOCTYPE instance [<!ENTITY e "x">]>`, "Z\xfcrich")},
	{"document type in UTF-16", inUTF16(cityXML(`<!DOCTYPE instance>`, "Bern"), false)},
	{"undeclared entity", cityXML(declared("ISO-8859-1"), "&uuml;")},
}

func TestXMLInItsOwnEncoding(t *testing.T) {
	for _, c := range encodedXML {
		t.Run(c.name, func(t *testing.T) {
			i, err := wire.DecodeRegistration(wire.XML, []byte(c.body), wire.Limits{})
			require.NoError(t, err)
			assert.Equal(t, map[string]string{"city": c.want}, i.Metadata)
			i, err = wire.DecodeInstance(wire.XML, []byte(c.body))
			require.NoError(t, err)
			assert.Equal(t, map[string]string{"city": c.want}, i.Metadata)
		})
	}
	for _, c := range misencodedXML {
		t.Run(c.name, func(t *testing.T) {
			_, err := wire.DecodeRegistration(wire.XML, []byte(c.body), wire.Limits{})
			assert.Equal(t, "body", refusedField(t, err))
		})
	}
}

// TestCharsetOfContentType: a charset in the content type is more than what a
// document says of itself, but less than a byte order mark.
func TestCharsetOfContentType(t *testing.T) {
	for _, c := range []struct{ contentType, body, want string }{
		{"application/xml", cityXML(declared("ISO-8859-1"), "Z\xfcrich"), "Zürich"},
		{"application/xml; charset=utf-8", cityXML("", "Zürich"), "Zürich"},
		{"application/xml; charset=ISO-8859-1", cityXML("", "Z\xfcrich"), "Zürich"},
		{`application/xml; charset="ISO-8859-1"`, cityXML(declared("UTF-8"), "Z\xfcrich"), "Zürich"},
		{"application/xml; charset=windows-1251", cityXML(declared("ISO-8859-1"), "\xcc"), "М"},
		{"application/xml; charset=ISO-8859-1", "\xEF\xBB\xBF" + cityXML("", "Zürich"), "Zürich"},
		{"application/xml; charset=UTF-16", "\xFF\xFE" + inUTF16(cityXML("", "Zürich"), false), "Zürich"},
		{"application/xml; charset=UTF-16LE", inUTF16(cityXML("", "Zürich"), false), "Zürich"},
		{"no media type", cityXML("", "Zürich"), "Zürich"},
	} {
		converted, err := wire.ToUTF8(c.contentType, []byte(c.body))
		require.NoError(t, err, c)
		i, err := wire.DecodeRegistration(wire.XML, converted, wire.Limits{})
		require.NoError(t, err, c)
		assert.Equal(t, map[string]string{"city": c.want}, i.Metadata, c)
	}
	for _, charset := range []string{"x-mystery", "us-ascii", "utf-16"} {
		_, err := wire.ToUTF8("application/json; charset="+charset, []byte("Z\xfcric"))
		assert.Equal(t, "body", refusedField(t, err), charset)
	}
}

// damagedJSON are members of a registration that are not Unicode, and the
// field that a refusal names. (Case H32.)
var damagedJSON = []struct{ field, member string }{
	{"hostName", "\"hostName\": \"z\xfcrich\""},
	{"hostName", "\"hostName\": \"z\xc3\""},
	{"hostName", "\"hostName\": \"\\t\xfc\""},
	{"hostName", `"hostName": "\ud83d"`},
	{"hostName", `"hostName": "\uDE00\ud83d"`},
	{"hostName", `"hostName": "\ud83dx\ude00"`},
	{"hostName", "\"hostName\": \"\xed\xa0\xbd\xed\xb8\x80\""},
	{"hostName", "\"hostName\": \"\xc0\xae\""},
	{"instanceId", "\"instanceId\": \"\xff\""},
	{"app", "\"app\": \"SH\xd6P\""},
	{"appGroupName", "\"appGroupName\": \"\xd6\""},
	{"ipAddr", "\"ipAddr\": \"\xfc\""},
	{"status", "\"status\": \"UP\xfc\""},
	{"overriddenStatus", "\"overriddenstatus\": \"\xfc\""},
	{"vipAddress", "\"vipAddress\": \"\xfc\""},
	{"secureVipAddress", "\"secureVipAddress\": \"\xfc\""},
	{"homePageUrl", "\"homePageUrl\": \"\xfc\""},
	{"statusPageUrl", "\"statusPageUrl\": \"\xfc\""},
	{"healthCheckUrl", "\"healthCheckUrl\": \"\xfc\""},
	{"secureHealthCheckUrl", "\"secureHealthCheckUrl\": \"\xfc\""},
	{"asgName", "\"asgName\": \"\xfc\""},
	{"port.$", "\"port\": {\"$\": \"80\xfc\"}"},
	{"dataCenterInfo.name", "\"dataCenterInfo\": {\"@class\": \"com.netflix.appinfo.AmazonInfo\", \"name\": \"\xfc\"}"},
	{"dataCenterInfo.metadata.zone", "\"dataCenterInfo\": {\"@class\": \"com.netflix.appinfo.AmazonInfo\", \"name\": \"Amazon\", \"metadata\": {\"zone\": \"\xfc\"}}"},
	{"metadata.city", "\"metadata\": {\"city\": \"Z\xfcrich\"}"},
	{"metadata.city", `"metadata": {"city": "\udc00"}`},
	{"metadata.z\uFFFD", "\"metadata\": {\"z\xfc\": \"a\"}"},
	{"metadata.\uFFFD", `"metadata": {"\ud800": "a"}`},
}

// unicodeJSON are members that are Unicode though they look as if not.
var unicodeJSON = []string{
	`"hostName": "zürich 東京 🗼"`, `"hostName": "\ud83d\uDDFC"`, `"hostName": "\ufffd"`, "\"hostName\": \"\uFFFD\"",
	`"hostName": "\\ud83d"`, `"hostName": "\\\\ud83d\""`, `"metadata": {"\u00fc": "\n\ud83d\ude00"}`,
	"\"someday\": \"\xfc\"", "\"some\xfc\": 1",
}

// replacing returns a registration that ends with another member; of members
// of one name the last counts.
func replacing(t testing.TB, member string) []byte {
	return []byte(strings.TrimSuffix(string(body(t, complete(nil))), "}}") + ", " + member + "}}")
}

func TestJSONThatIsNotUTF8IsRefused(t *testing.T) {
	for _, c := range damagedJSON {
		i, err := wire.DecodeRegistration(wire.JSON, replacing(t, c.member), wire.Limits{})
		assert.Equal(t, c.field, refusedField(t, err), "%q", c.member)
		assert.Nil(t, i)
		_, err = wire.DecodeInstance(wire.JSON, replacing(t, c.member))
		assert.NoError(t, err, "a client reads what a server sends: %q", c.member)
	}
	for _, member := range unicodeJSON {
		_, err := wire.DecodeRegistration(wire.JSON, replacing(t, member), wire.Limits{})
		assert.NoError(t, err, "%q", member)
	}
	for _, c := range []struct{ field, item string }{
		{"appName", "\"appName\": \"\xfc\""}, {"id", "\"id\": \"\xfc\""}, {"action", "\"action\": \"\xfc\""},
		{"status", "\"status\": \"\xfc\""},
		{"instanceInfo.hostName", "\"instanceInfo\": {\"hostName\": \"\xfc\"}"},
	} {
		items, err := wire.DecodeReplication([]byte(`{"replicationList": [{`+c.item+`}, {"id": "shop-1"}]}`), wire.Limits{})
		require.NoError(t, err)
		assert.Equal(t, c.field, refusedField(t, items[0].Err))
		assert.NoError(t, items[1].Err, "the rest of the batch stands")
	}
}

// TestJSONInUTF16: Java's decoder reads it too.
func TestJSONInUTF16(t *testing.T) {
	text := string(body(t, complete(object{"hostName": "zürich 🗼"})))
	for _, document := range []string{
		inUTF16(text, true), inUTF16(text, false), "\xFE\xFF" + inUTF16(text, true), "\xFF\xFE" + inUTF16(text, false), "\xEF\xBB\xBF" + text,
	} {
		i, err := wire.DecodeRegistration(wire.JSON, []byte(document), wire.Limits{})
		require.NoError(t, err)
		assert.Equal(t, "zürich 🗼", i.HostName)
	}
	_, err := wire.DecodeRegistration(wire.JSON, []byte(inUTF16(text, true)+"\xd8"), wire.Limits{})
	assert.Equal(t, "body", refusedField(t, err))
}

// dataCentersXML are data centers by class and name, and what a registry makes
// of them; no class: refused. (Case H33.)
var dataCentersXML = []struct{ class, name, want string }{
	{eureka.DefaultDataCenterClass, "Amazon", eureka.AmazonDataCenterClass},
	{eureka.AmazonDataCenterClass, "Amazon", eureka.AmazonDataCenterClass},
	{"com.netflix.appinfo.MyDataCenterInfo", "Amazon", eureka.AmazonDataCenterClass},
	{"", "Amazon", eureka.AmazonDataCenterClass},
	{"AmazonInfo", "Amazon", eureka.AmazonDataCenterClass},
	{eureka.AmazonDataCenterClass, "MyOwn", eureka.DefaultDataCenterClass},
	{eureka.AmazonDataCenterClass, "Netflix", eureka.DefaultDataCenterClass},
	{"com.netflix.appinfo.MyDataCenterInfo", "MyOwn", eureka.DefaultDataCenterClass},
	{"org.example.Elsewhere", "MyOwn", eureka.DefaultDataCenterClass},
	{"", "Netflix", eureka.DefaultDataCenterClass},
	{eureka.AmazonDataCenterClass, "amazon", ""},
	{eureka.AmazonDataCenterClass, "Elsewhere", ""},
	{eureka.AmazonDataCenterClass, "", ""},
}

// dataCenterXML is a registration with a data center.
func dataCenterXML(class, name string) string {
	if class != "" {
		class = ` class="` + class + `"`
	}
	return `<instance><hostName>x-1</hostName><app>X</app><ipAddr>192.0.2.1</ipAddr><dataCenterInfo` + class + `><name>` + name +
		`</name><metadata><instance-id>i-01</instance-id></metadata></dataCenterInfo></instance>`
}

func TestXMLDataCenterNameDecides(t *testing.T) {
	for _, c := range dataCentersXML {
		i, err := wire.DecodeRegistration(wire.XML, []byte(dataCenterXML(c.class, c.name)), wire.Limits{})
		if c.want == "" {
			assert.Equal(t, "dataCenterInfo.name", refusedField(t, err), "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		want := eureka.DataCenterInfo{Class: c.want, Name: c.name}
		if c.name == eureka.DataCenterAmazon {
			want.Metadata = map[string]string{"instance-id": "i-01"}
		}
		assert.Equal(t, want, i.DataCenter, "%+v", c)
	}
}

// statusesXML are statuses as clients write them in XML. (Case H34.)
var statusesXML = map[string]eureka.Status{
	"up": eureka.Up, "Up": eureka.Up, "uP": eureka.Up, " up\n": eureka.Up, "UP": eureka.Up, "": eureka.Up,
	"down": eureka.Down, "Down": eureka.Down, "starting": eureka.Starting,
	"out_of_service": eureka.OutOfService, "Out_Of_Service": eureka.OutOfService,
	"unknown": eureka.Unknown, "sleeping": eureka.Unknown, "out of service": eureka.Unknown, "\u0131p": eureka.Unknown,
}

// statusXML is a registration with a status in the given element.
func statusXML(element, status string) string {
	return `<instance><hostName>x-1</hostName><app>X</app><ipAddr>192.0.2.1</ipAddr>
		<dataCenterInfo><name>MyOwn</name></dataCenterInfo><` + element + `>` + status + `</` + element + `></instance>`
}

func TestXMLStatusInAnyCase(t *testing.T) {
	for text, want := range statusesXML {
		i, err := wire.DecodeRegistration(wire.XML, []byte(statusXML("status", text)), wire.Limits{})
		require.NoError(t, err)
		assert.Equal(t, want, i.Status, "%q", text)
		if text == "" {
			want = eureka.Unknown // no override
		}
		for _, element := range []string{"overriddenstatus", "overriddenStatus"} {
			i, err = wire.DecodeRegistration(wire.XML, []byte(statusXML(element, text)), wire.Limits{})
			require.NoError(t, err)
			assert.Equal(t, want, i.OverriddenStatus, "%s %q", element, text)
		}
		i, err = wire.DecodeInstance(wire.XML, []byte(statusXML("overriddenstatus", text)))
		require.NoError(t, err)
		assert.Equal(t, want, i.OverriddenStatus, "read by a client: %q", text)
	}
}
