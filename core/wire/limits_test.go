package wire_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// serverLimits are a server's defaults.
var serverLimits = wire.Limits{MaxMetadata: 1000, MaxInstance: 100 << 10, MaxItems: 250}

const mebibyte = 1 << 20

// fill returns a body of a mebibyte that begins with opening and goes on with
// unit.
func fill(opening, unit, closing string) string {
	return opening + strings.Repeat(unit, (mebibyte-len(opening)-len(closing))/len(unit)) + closing
}

// numbered is fill with a number in place of each %d.
func numbered(opening, unit, closing string) string {
	var b strings.Builder
	b.WriteString(opening)
	for n := 0; b.Len() < mebibyte-len(closing)-32; n++ {
		fmt.Fprintf(&b, unit, n)
	}
	b.WriteString(closing)
	return b.String()
}

// hostile are bodies of a mebibyte that are made of as many parts as they can.
func hostile() map[string]struct {
	format wire.Format
	body   string
} {
	type hostileBody = struct {
		format wire.Format
		body   string
	}
	instance := `{"instance":{"hostName":"h","app":"A","ipAddr":"i","metadata":{`
	xml := `<instance><hostName>h</hostName><app>A</app><ipAddr>i</ipAddr>`
	return map[string]hostileBody{
		"numbers in a list":          {wire.JSON, fill(`{"instance":{"x":[0`, `,0`, `]}}`)},
		"objects in a list":          {wire.JSON, fill(`{"instance":{"x":[{}`, `,{}`, `]}}`)},
		"brackets":                   {wire.JSON, fill(`{"instance":`, `[`, ``)},
		"braces":                     {wire.JSON, fill(`{"instance":`, `{"a":`, ``)},
		"members":                    {wire.JSON, fill(`{"instance":{"a":0`, `,"a":0`, `}}`)},
		"members before the root":    {wire.JSON, fill(`{"a":0`, `,"a":0`, `,"instance":{}}`)},
		"metadata":                   {wire.JSON, numbered(instance+`"x":""`, `,"%d":""`, `}}}`)},
		"repeated metadata":          {wire.JSON, fill(instance+`"x":""`, `,"x":""`, `}}}`)},
		"metadata objects":           {wire.JSON, fill(`{"instance":{"a":1`, `,"metadata":{"a":"b"}`, `}}`)},
		"repeated members":           {wire.JSON, fill(`{"instance":{"a":1`, `,"dataCenterInfo":{"name":"MyOwn"}`, `}}`)},
		"escapes":                    {wire.JSON, fill(instance+`"x":"`, `\u0000`, `"}}}`)},
		"a long number":              {wire.JSON, fill(`{"instance":{"countryId":1`, `0`, `}}`)},
		"a text that never ends":     {wire.JSON, fill(`{"instance":"`, `a`, ``)},
		"elements":                   {wire.XML, fill(xml, `<a/>`, `</instance>`)},
		"elements in elements":       {wire.XML, fill(xml, `<a>`, ``)},
		"metadata elements":          {wire.XML, numbered(xml+`<metadata>`, `<k%d/>`, `</metadata></instance>`)},
		"attributes":                 {wire.XML, fill(`<instance`, ` a=""`, `/>`)},
		"namespaces":                 {wire.XML, fill(`<instance`, ` xmlns:a=""`, `/>`)},
		"comments":                   {wire.XML, fill(xml, `<!---->`, `</instance>`)},
		"processing instructions":    {wire.XML, fill(xml, `<?a?>`, `</instance>`)},
		"instructions before":        {wire.XML, fill(``, `<?a?>`, `<instance/>`)},
		"CDATA":                      {wire.XML, fill(xml+`<a>`, `<![CDATA[]]>`, `</a></instance>`)},
		"character references":       {wire.XML, fill(xml+`<a>`, `&#97;`, `</a></instance>`)},
		"a long comment":             {wire.XML, fill(xml+`<!--`, `a`, `--></instance>`)},
		"a document type":            {wire.XML, fill(`<!DOCTYPE instance [`, `<!ENTITY a "b">`, `]><instance/>`)},
		"a name of a mebibyte":       {wire.XML, fill(`<instance><`, `a`, `/></instance>`)},
		"an attribute of a mebibyte": {wire.XML, fill(`<instance a="`, `b`, `"/>`)},
	}
}

// hostileBatches are batches of a mebibyte.
func hostileBatches() map[string]string {
	item := `,{"appName":"A","id":"i","action":"Register","instanceInfo":{"hostName":"h","app":"A","ipAddr":"i","metadata":{"a":"b"}}}`
	return map[string]string{
		"numbers":          fill(`{"replicationList":[0`, `,0`, `]}`),
		"objects":          fill(`{"replicationList":[{}`, `,{}`, `]}`),
		"heartbeats":       fill(`{"replicationList":[{}`, `,{"appName":"A","id":"i","action":"Heartbeat"}`, `]}`),
		"registrations":    fill(`{"replicationList":[{}`, item, `]}`),
		"members":          fill(`{"replicationList":[{"a":0`, `,"a":0`, `}]}`),
		"instances":        fill(`{"replicationList":[{"a":0`, `,"instanceInfo":{}`, `}]}`),
		"metadata":         numbered(`{"replicationList":[{"instanceInfo":{"metadata":{"x":""`, `,"%d":""`, `}}}]}`),
		"lists in lists":   fill(`{"replicationList":[`, `[`, ``),
		"a list elsewhere": fill(`{"a":[0`, `,0`, `],"replicationList":[]}`),
	}
}

// allocated returns how many bytes a call allocates in all: no less than what
// it has at any moment.
func allocated(call func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestHostileBodiesCostLittle: whatever a body of a mebibyte is made of, the
// decoders allocate no more than some times its size in all.
func TestHostileBodiesCostLittle(t *testing.T) {
	const most = 8 * mebibyte
	for name, h := range hostile() {
		t.Run(fmt.Sprint(h.format, " ", name), func(t *testing.T) {
			body := []byte(h.body)
			used := allocated(func() {
				_, err := wire.DecodeRegistration(h.format, body, serverLimits)
				assert.Error(t, err)
			})
			assert.Less(t, used, most)
		})
	}
	for name, text := range hostileBatches() {
		t.Run("batch of "+name, func(t *testing.T) {
			body := []byte(text)
			used := allocated(func() { _, _ = wire.DecodeReplication(body, serverLimits) })
			assert.Less(t, used, most)
		})
	}
}

// TestLimitsNameWhatIsTooMuch: a limit is eureka.ErrTooLarge and names the field.
func TestLimitsNameWhatIsTooMuch(t *testing.T) {
	heartbeats := func(n int) string {
		return `{"replicationList":[` + strings.TrimSuffix(strings.Repeat(`{"appName":"A","id":"i","action":"Heartbeat"},`, n), ",") + `]}`
	}
	for name, c := range map[string]struct {
		field  string
		decode func() error
	}{
		"items":              {"replicationList", func() error { return decodeBatch(heartbeats(251)) }},
		"values of a batch":  {"body", func() error { return decodeBatch(fill(`{"replicationList":[{"a":[0`, `,0`, `]}]}`)) }},
		"values in JSON":     {"body", func() error { return decode(wire.JSON, hostile()["members"].body) }},
		"elements in XML":    {"body", func() error { return decode(wire.XML, hostile()["elements"].body) }},
		"attributes in XML":  {"body", func() error { return decode(wire.XML, hostile()["attributes"].body) }},
		"depth in XML":       {"body", func() error { return decode(wire.XML, "<instance>"+strings.Repeat("<a>", 40)) }},
		"entries in JSON":    {"metadata", func() error { return decode(wire.JSON, entries(1001)) }},
		"VIPs":               {"vipAddress", func() error { return decode(wire.JSON, vips("vipAddress", 101)) }},
		"secure VIPs":        {"secureVipAddress", func() error { return decode(wire.JSON, vips("secureVipAddress", 101)) }},
		"VIPs as allowed":    {"", func() error { return decode(wire.JSON, vips("vipAddress", 100)) }},
		"a batch as allowed": {"", func() error { return decodeBatch(heartbeats(250)) }},
		"entries as allowed": {"", func() error { return decode(wire.JSON, entries(1000)) }},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.decode()
			if c.field == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, eureka.ErrTooLarge)
			var invalid *eureka.InvalidError
			require.ErrorAs(t, err, &invalid)
			assert.Equal(t, c.field, invalid.Field)
		})
	}
}

// TestDeepDocumentsAreRefused, well-formed or not.
func TestDeepDocumentsAreRefused(t *testing.T) {
	deep := strings.Repeat("[", 33) + strings.Repeat("]", 33)
	assert.ErrorContains(t, decode(wire.JSON, `{"instance":{"a":`+deep+`}}`), "body: has values more than 32 deep")
	assert.ErrorContains(t, decodeBatch(`{"replicationList":[{"a":`+deep+`}]}`), "body: has values more than 32 deep")
}

func decode(f wire.Format, body string) error {
	_, err := wire.DecodeRegistration(f, []byte(body), serverLimits)
	return err
}

func decodeBatch(body string) error {
	_, err := wire.DecodeReplication([]byte(body), serverLimits)
	return err
}

// entries returns a registration with so many entries of metadata.
func entries(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":"v",`, i)
	}
	return `{"instance":{"hostName":"h","app":"A","ipAddr":"i",` +
		`"dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},` +
		`"metadata":{` + strings.TrimSuffix(b.String(), ",") + `}}}`
}

// vips returns a registration with so many names in a list of VIPs.
func vips(field string, n int) string {
	list := strings.TrimSuffix(strings.Repeat("v,", n), ",")
	return strings.Replace(entries(1), `"hostName"`, `"`+field+`":"`+list+`","hostName"`, 1)
}

// fat are instances that take little room in one encoding, or stored, and much
// in another.
func fat(n int) map[string]*eureka.InstanceInfo {
	with := func(change func(*eureka.InstanceInfo)) *eureka.InstanceInfo {
		i := &eureka.InstanceInfo{InstanceID: "i", HostName: "h", App: "A", IPAddr: "192.0.2.1"}
		change(i)
		return i
	}
	return map[string]*eureka.InstanceInfo{
		"a value":            with(func(i *eureka.InstanceInfo) { i.Metadata = map[string]string{"k": strings.Repeat("x", n)} }),
		"a key":              with(func(i *eureka.InstanceInfo) { i.Metadata = map[string]string{strings.Repeat("x", n/2): ""} }),
		"a key of colons":    with(func(i *eureka.InstanceInfo) { i.Metadata = map[string]string{strings.Repeat(":", n/12): ""} }),
		"a key of emoji":     with(func(i *eureka.InstanceInfo) { i.Metadata = map[string]string{strings.Repeat("🙂", n/24): ""} }),
		"control characters": with(func(i *eureka.InstanceInfo) { i.HostName = strings.Repeat("\x01", n/6) }),
		"ampersands":         with(func(i *eureka.InstanceInfo) { i.HomePageURL = strings.Repeat("&", n/5) }),
		"a VIP":              with(func(i *eureka.InstanceInfo) { i.VIPAddress = strings.Repeat("v", n) }),
		"an application":     with(func(i *eureka.InstanceInfo) { i.App = strings.Repeat("A", n) }),
		"data center entries": with(func(i *eureka.InstanceInfo) {
			i.DataCenter = eureka.DataCenterInfo{Class: eureka.AmazonDataCenterClass, Name: eureka.DataCenterAmazon,
				Metadata: map[string]string{"instance-id": strings.Repeat("x", n)}}
		}),
	}
}

// TestExceeds compares the verdict with what the encoders write.
func TestExceeds(t *testing.T) {
	const limit = 100 << 10
	for name, i := range fat(limit + limit/10) {
		t.Run(name, func(t *testing.T) {
			assert.True(t, wire.Exceeds(i, limit))
			assert.False(t, wire.Exceeds(i, 0), "any size")
			assert.False(t, wire.Exceeds(i, 16*limit))
		})
	}
	for name, i := range fat(limit - limit/10) {
		t.Run("just below, "+name, func(t *testing.T) {
			assert.False(t, wire.Exceeds(i, limit))
			for _, f := range []wire.Format{wire.JSON, wire.XML} {
				assert.LessOrEqual(t, len(wire.Encoding{Format: f}.AppendInstanceDocument(nil, i)), limit, f.String())
			}
		})
	}
}

// TestSizeIgnoresRegistryFields: what the registry sets later, such as times,
// does not make an accepted instance too large.
func TestSizeIgnoresRegistryFields(t *testing.T) {
	i := fat(50_000)["a value"]
	size := 0
	for limit := 50_000; size == 0; limit++ {
		if !wire.Exceeds(i, limit) {
			size = limit
		}
	}
	now := time.UnixMilli(1_700_000_000_000)
	later := *i
	later.Status, later.OverriddenStatus, later.Action = eureka.OutOfService, eureka.OutOfService, eureka.Modified
	later.Lease = eureka.LeaseInfo{RenewalInterval: time.Hour, Duration: time.Hour, Registered: now, LastRenewed: now, ServiceUp: now, Evicted: now}
	later.LastUpdated, later.LastDirty, later.Coordinating = now, now, true
	assert.False(t, wire.Exceeds(&later, size))
	assert.True(t, wire.Exceeds(&later, size-1))
}
