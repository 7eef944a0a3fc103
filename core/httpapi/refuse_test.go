package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/httpapi"
)

// TestRefusals: bad input is 4xx with a JSON error that names the field, and
// nothing is stored by it.
func TestRefusals(t *testing.T) {
	many := object{}
	for i := range 1001 {
		many[fmt.Sprint("key-", i)] = "x"
	}
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		names                    string
	}{
		{"no JSON", "POST", "/apps/SHOP", `{"instance": {`, 400, "body"},
		{"empty body", "POST", "/apps/SHOP", "", 400, "body"},
		{"null", "POST", "/apps/SHOP", "null", 400, "instance"},
		{"a list", "POST", "/apps/SHOP", "[]", 400, "instance"},
		{"no instance", "POST", "/apps/SHOP", "{}", 400, "instance"},
		{"instance is text", "POST", "/apps/SHOP", `{"instance": "x"}`, 400, "instance"},
		{"deep", "POST", "/apps/SHOP", strings.Repeat(`{"instance":`, 20000), 400, "body"},
		{"another application", "POST", "/apps/OTHER", shop(nil), 400, "app"},
		{"status is an object", "POST", "/apps/SHOP", shop(object{"status": object{}}), 400, "status"},
		{"host name is a number", "POST", "/apps/SHOP", shop(object{"hostName": object{}}), 400, "hostName"},
		{"port out of range", "POST", "/apps/SHOP", shop(object{"port": object{"$": 70000, "@enabled": "true"}}), 400, "port"},
		{"port is no number", "POST", "/apps/SHOP", shop(object{"port": object{"$": "x", "@enabled": "true"}}), 400, "port"},
		{"enabled is no boolean", "POST", "/apps/SHOP", shop(object{"port": object{"$": 1, "@enabled": "perhaps"}}), 400, "port"},
		{"lease is text", "POST", "/apps/SHOP", shop(object{"leaseInfo": "x"}), 400, "leaseInfo"},
		{"duration is text", "POST", "/apps/SHOP", shop(object{"leaseInfo": object{"durationInSecs": "soon"}}), 400, "durationInSecs"},
		{"metadata is a list", "POST", "/apps/SHOP", shop(object{"metadata": []string{"x"}}), 400, "metadata"},
		{"dirty is no number", "POST", "/apps/SHOP", shop(object{"lastDirtyTimestamp": "soon"}), 400, "lastDirtyTimestamp"},
		{"too much metadata", "POST", "/apps/SHOP", shop(object{"metadata": many}), 413, "metadata"},
		{"long id", "POST", "/apps/SHOP", shop(object{"instanceId": strings.Repeat("x", 1025)}), 413, "instanceId"},
		{"long name", "POST", "/apps/" + strings.Repeat("S", 2049), shop(object{"app": strings.Repeat("S", 2049)}), 413, "app"},
		{"id ends in a slash", "POST", "/apps/SHOP", shop(object{"instanceId": "shop/"}), 400, "instanceId"},
		{"id ends like a path", "POST", "/apps/SHOP", shop(object{"instanceId": "shop/status"}), 400, "instanceId"},
		{"large body", "POST", "/apps/SHOP", shop(object{"metadata": object{"a": strings.Repeat("x", 1<<20)}}), 413, "body"},
		{"status without value", "PUT", "/apps/SHOP/shop-1/status", "", 400, "value"},
		{"status that is none", "PUT", "/apps/SHOP/shop-1/status?value=up", "", 400, "value"},
		{"removal to no status", "DELETE", "/apps/SHOP/shop-1/status?value=SLEEPING", "", 400, "value"},
		{"status with odd dirty", "PUT", "/apps/SHOP/shop-1/status?value=UP&lastDirtyTimestamp=x", "", 400, "lastDirtyTimestamp"},
		{"heartbeat with odd dirty", "PUT", "/apps/SHOP/shop-1?lastDirtyTimestamp=1.5", "", 400, "lastDirtyTimestamp"},
		{"query not decodable", "PUT", "/apps/SHOP/shop-1/metadata?a=%zz", "", 400, "metadata"},
		{"query not UTF-8", "PUT", "/apps/SHOP/shop-1/metadata?city=Z%FCrich", "", 400, "metadata.city"},
		{"name in the query not UTF-8", "PUT", "/apps/SHOP/shop-1/metadata?%FC=a", "", 400, "metadata"},
		{"path not UTF-8", "PUT", "/apps/SHOP/z%FCrich/status?value=DOWN", "", 400, "id"},
		{"body not UTF-8", "POST", "/apps/SHOP", strings.Replace(shop(nil), "shop-1.example", "z\xfcrich.example", 1), 400, "hostName"},
		{"id that ends as a session", "POST", "/apps/SHOP", shop(object{"instanceId": "shop-1;jsessionid=1A"}), 400, "instanceId"},
		{"batch is no JSON", "POST", "/peerreplication/batch", "[", 400, "body"},
		{"POST on all", "POST", "/apps", "{}", 405, ""},
		{"PATCH", "PATCH", "/apps/SHOP/shop-1", "{}", 405, ""},
		{"no such path", "GET", "/nothing/here", "", 404, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			w := s.must(c.status, s.do(c.method, "/eureka"+c.path, c.body, "Content-Type", "application/json"))
			assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
			text, ok := decode(t, w)["error"].(string)
			require.True(t, ok, "an error text")
			assert.Contains(t, text, c.names)
			apps := decode(t, s.must(200, s.do("GET", "/eureka/apps", "")))["applications"].(object)
			assert.Empty(t, apps["application"])
			assert.Empty(t, s.store.Records(0), "nothing is stored")
		})
	}
}

// TestRefusedXML: the XML decoder takes no document types, entities or
// truncated documents.
func TestRefusedXML(t *testing.T) {
	for name, body := range map[string]string{
		"empty":         "",
		"truncated":     "<instance><hostName>a",
		"not XML":       "{}",
		"document type": `<!DOCTYPE instance [<!ENTITY a "aaaa">]><instance><hostName>&a;</hostName></instance>`,
		"no fields":     "<instance/>",
		"another root":  "<shop><hostName>a</hostName></shop>",
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			w := s.must(400, s.do("POST", "/eureka/apps/SHOP", body, "Content-Type", "application/xml"))
			assert.NotEmpty(t, decode(t, w)["error"])
			assert.Empty(t, s.store.Records(0), "nothing is stored")
		})
	}
}

func zip(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// TestCompressedBodies are taken, and bounded after decompression too.
func TestCompressedBodies(t *testing.T) {
	s := newServer(t)
	headers := []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}
	s.must(204, s.do("POST", "/eureka/apps/SHOP", zip(t, shop(nil)), headers...))
	s.must(413, s.do("POST", "/eureka/apps/SHOP", zip(t, strings.Repeat(" ", 2<<20)), headers...))
	s.must(400, s.do("POST", "/eureka/apps/SHOP", shop(nil), headers...))
	s.must(415, s.do("POST", "/eureka/apps/SHOP", shop(nil), "Content-Type", "application/json", "Content-Encoding", "br"))
}

// TestReplicatedHeartbeat answers a peer that is behind with what is stored.
func TestReplicatedHeartbeat(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	peer := []string{"x-netflix-discovery-replication", "true"}
	s.must(200, s.do("PUT", "/eureka/apps/SHOP/shop-1?lastDirtyTimestamp=1700000000000", "", peer...))
	w := s.must(409, s.do("PUT", "/eureka/apps/SHOP/shop-1?lastDirtyTimestamp=1600000000000", "", peer...))
	assert.Equal(t, "shop-1", decode(t, w)["instance"].(object)["instanceId"])
	s.must(404, s.do("PUT", "/eureka/apps/SHOP/shop-1?lastDirtyTimestamp=1800000000000", "", peer...))
}

// TestNamesThatNoPathLeadsTo are refused at the registration, also a peer's.
func TestNamesThatNoPathLeadsTo(t *testing.T) {
	for field, parts := range map[string]object{
		"app: must not hold a slash":              {"app": "A/B"},
		"instanceId: must not end in /":           {"instanceId": "x/"},
		"instanceId: must not end in /status":     {"instanceId": "x/status"},
		"instanceId: must not end in /metadata":   {"instanceId": "x/metadata"},
		"instanceId: must not begin with a slash": {"instanceId": "/x"},
	} {
		s := newServer(t)
		app := "SHOP"
		if parts["app"] != nil {
			app = "A%2FB"
		}
		w := s.must(400, s.post(app, shop(parts)))
		assert.Equal(t, field, decode(t, w)["error"])
	}
}

// TestBatchNamesTheInstance: an item is about the instance that it names.
func TestBatchNamesTheInstance(t *testing.T) {
	s := newServer(t)
	item := `{"replicationList": [{"appName": "OTHER", "id": "shop-1", "action": "Register", "instanceInfo": ` +
		strings.TrimSuffix(strings.TrimPrefix(shop(nil), `{"instance":`), "}") + `}]}`
	w := s.must(200, s.do("POST", "/eureka/peerreplication/batch", item, "Content-Type", "application/json"))
	assert.Equal(t, []any{object{"statusCode": 400.0}}, decode(t, w)["responseList"])
	assert.Empty(t, s.store.Records(0))
}

// TestClassMarkerIsNoMetadata: Java's mark of a map's class comes in by no
// way.
func TestClassMarkerIsNoMetadata(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(object{"metadata": object{"@class": "java.util.Collections$EmptyMap", "a": "1"}})))
	s.must(200, s.do("PUT", "/eureka/apps/SHOP/shop-1/metadata?@class=java.util.Collections$EmptyMap&b=2", ""))
	assert.Equal(t, object{"a": "1", "b": "2"}, s.read("/apps/SHOP/shop-1")["metadata"])
}

// TestBatchWithABadItem refuses that item and does the others.
func TestBatchWithABadItem(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	w := s.must(200, s.do("POST", "/eureka/peerreplication/batch/", `{"replicationList": [
		{"appName": "SHOP", "id": "shop-1", "action": "Heartbeat", "lastDirtyTimestamp": "soon"},
		{"appName": "SHOP", "id": "shop-1", "action": "Heartbeat", "lastDirtyTimestamp": 1700000000000},
		{"appName": "SHOP", "id": "shop-2", "action": "Register", "instanceInfo": {"app": "SHOP"}},
		{"appName": "SHOP", "id": "shop-1", "action": "StatusUpdate", "status": "UP"}]}`, "Content-Type", "application/json"))
	var codes []any
	for _, result := range decode(t, w)["responseList"].([]any) {
		codes = append(codes, result.(object)["statusCode"])
	}
	assert.Equal(t, []any{400.0, 200.0, 400.0, 200.0}, codes)
}

// TestStoreFailures answer 503 and ask to try again.
func TestStoreFailures(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	failing := newServer(t, func(c *httpapi.Config) { c.Registry = unavailable() })
	for _, r := range [][2]string{
		{"PUT", "/apps/SHOP/shop-1"}, {"DELETE", "/apps/SHOP/shop-1"}, {"GET", "/apps/SHOP/shop-1"},
		{"PUT", "/apps/SHOP/shop-1/status?value=DOWN"}, {"DELETE", "/apps/SHOP/shop-1/status"}, {"PUT", "/apps/SHOP/shop-1/metadata?a=b"},
	} {
		w := failing.must(503, failing.do(r[0], "/eureka"+r[1], ""))
		assert.Equal(t, "1", w.Header().Get("Retry-After"))
		assert.NotContains(t, w.Body.String(), "secret inside")
	}
	w := failing.must(503, failing.post("SHOP", shop(nil)))
	assert.NotEmpty(t, decode(t, w)["error"])
}

func FuzzRequest(f *testing.F) {
	f.Add("POST", "/eureka/apps/SHOP", "application/json", shop(nil))
	f.Add("PUT", "/eureka/apps/SHOP/shop-1/metadata?a=b&c", "", "")
	f.Add("GET", "/eureka/vips/a,b", "", "")
	f.Add("OPTIONS", "/eureka/apps/SHOP;jsessionid=1A", "", "")
	f.Add("GET", "/actuator/health/liveness", "", "")
	f.Add("PUT", "/eureka/apps/SHOP/z%FCrich/metadata?a=%FC", "", "")
	f.Add("POST", "/eureka/apps/SHOP", "application/json", strings.Replace(shop(object{"instanceId": nil}), "zone", "instanceId", 1))
	f.Add("POST", "/eureka/apps/SHOP", "application/json; charset=ISO-8859-1", strings.Replace(shop(nil), "zone", "z\xfcrich", 1))
	f.Add("POST", "/eureka/apps/SHOP", "application/xml", `<?xml version="1.0" encoding="ISO-8859-1"?><instance><hostName>z`+"\xfc"+`</hostName></instance>`)
	f.Add("POST", "/eureka/peerreplication/batch", "application/json", `{"replicationList":[{"appName":"A","id":"1","action":"Heartbeat"}]}`)
	f.Fuzz(func(t *testing.T, method, path, media, body string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \r\n\t\x00") || method == "" {
			return
		}
		s := newServer(t)
		w := s.fuzz(method, path, media, body)
		if w == nil {
			return
		}
		assert.Less(t, w.Code, 500, "%s %s: %s", method, path, w.Body)
		if w.Code >= 400 && w.Body.Len() > 0 {
			assert.True(t, json.Valid(w.Body.Bytes()))
		}
	})
}
