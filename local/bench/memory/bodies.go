package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
)

// maxBody is the default of REGISTRY_MAX_BODY.
const maxBody = 1 << 20

// fill returns a body of the largest size that begins with opening and goes on
// with unit; a %d in it is a number.
func fill(opening, unit, closing string) []byte {
	var b bytes.Buffer
	b.WriteString(opening)
	numbered := strings.Contains(unit, "%d")
	for n := 0; b.Len() < maxBody-len(closing)-len(unit)-16; n++ {
		if numbered {
			fmt.Fprintf(&b, unit, n)
		} else {
			b.WriteString(unit)
		}
	}
	b.WriteString(closing)
	return b.Bytes()
}

// zipped returns a body in gzip.
func zipped(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// jsonBodies and xmlBodies are registrations of the largest size, made of as
// many parts as they can.
func jsonBodies() map[string][]byte {
	instance := `{"instance":{"hostName":"h","app":"SHOP","ipAddr":"i","metadata":{"x":""`
	return map[string][]byte{
		"numbers":  fill(`{"instance":{"x":[0`, `,0`, `]}}`),
		"objects":  fill(`{"instance":{"x":[{}`, `,{}`, `]}}`),
		"brackets": fill(`{"instance":`, `[`, ``),
		"members":  fill(`{"instance":{"a":0`, `,"a":0`, `}}`),
		"metadata": fill(instance, `,"%d":""`, `}}}`),
		"escapes":  fill(instance+`,"y":"`, `\u0000`, `"}}}`),
		"invalid":  fill(instance+`,"y":"`, "\xff", `"}}}`),
		"a number": fill(`{"instance":{"countryId":1`, `0`, `}}`),
	}
}

func xmlBodies() map[string][]byte {
	instance := `<instance><hostName>h</hostName><app>SHOP</app><ipAddr>i</ipAddr>`
	return map[string][]byte{
		"elements":   fill(instance, `<a/>`, `</instance>`),
		"deep":       fill(instance, `<a>`, ``),
		"metadata":   fill(instance+`<metadata>`, `<k%d/>`, `</metadata></instance>`),
		"attributes": fill(`<instance`, ` a=""`, `/>`),
		"comments":   fill(instance, `<!---->`, `</instance>`),
		"processing": fill(instance, `<?a?>`, `</instance>`),
		"CDATA":      fill(instance+`<a>`, `<![CDATA[]]>`, `</a></instance>`),
		"a name":     fill(instance+`<`, `a`, `/></instance>`),
	}
}

// batches are those of a peer.
func batches() map[string][]byte {
	return map[string][]byte{
		"numbers":       fill(`{"replicationList":[0`, `,0`, `]}`),
		"objects":       fill(`{"replicationList":[{}`, `,{}`, `]}`),
		"metadata":      fill(`{"replicationList":[{"instanceInfo":{"metadata":{"x":""`, `,"%d":""`, `}}}]}`),
		"registrations": registrations(),
		"heartbeats":    heartbeats(),
	}
}

// registrations is a batch as large and as full as one may be.
func registrations() []byte {
	const items = 250
	var b bytes.Buffer
	b.WriteString(`{"replicationList":[`)
	for n := range items {
		if n > 0 {
			b.WriteByte(',')
		}
		id := fmt.Sprintf("peer-%d", n)
		fmt.Fprintf(&b, `{"appName":"SHOP","id":"%s","action":"Register","instanceInfo":%s}`, id,
			instanceJSON(id, entries(200)))
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// heartbeats is a batch of heartbeats of a peer that is behind in all of the
// registry that [fatRegistry] made.
func heartbeats() []byte {
	var items []string
	for n := range 250 {
		items = append(items, fmt.Sprintf(`{"appName":"SHOP","id":"fat-%d","action":"Heartbeat","lastDirtyTimestamp":1}`, n%fatInstances))
	}
	return []byte(`{"replicationList":[` + strings.Join(items, ",") + `]}`)
}

// entries returns so many entries of metadata, in JSON.
func entries(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":"",`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// instanceJSON returns an instance with metadata.
func instanceJSON(id, metadata string) string { return instanceUnder("shop", id, metadata) }

func instanceUnder(vips, id, metadata string) string {
	return fmt.Sprintf(`{"instanceId":"%s","hostName":"%s.example.org","app":"SHOP","ipAddr":"192.0.2.1","status":"UP",`+
		`"port":{"$":8080,"@enabled":"true"},"securePort":{"$":443,"@enabled":"false"},"vipAddress":"%s","secureVipAddress":"%s",`+
		`"dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},`+
		`"lastDirtyTimestamp":"1700000000000","metadata":{%s}}`, id, id, vips, vips, metadata)
}

// fatInstances is how many instances the registry holds for readers, each as
// large as one may be.
const fatInstances = 100

// vips are as many names as an instance may have.
func vips() string {
	var names []string
	for n := range 100 {
		names = append(names, fmt.Sprintf("vip-%d", n))
	}
	return strings.Join(names, ",")
}

// fatRegistration is an instance that is just small enough, in both encodings.
func fatRegistration(n int) []byte {
	return []byte(`{"instance":` + instanceUnder(vips(), fmt.Sprintf("fat-%d", n), `"more":"`+strings.Repeat("x", 95_000)+`"`) + `}`)
}

// gigabyte is a body that would be a gigabyte.
func gigabyte() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	block := make([]byte, 1<<20)
	for range 1 << 10 {
		_, _ = w.Write(block) // a buffer takes everything
	}
	_ = w.Close()
	return b.Bytes()
}

// basic returns Basic credentials.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}
