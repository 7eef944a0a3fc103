package boot_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// The tests of this file hold what clients in the field send and ask, through
// every way in.

// client sends requests by one way in, to a registry of its own.
type client struct {
	t     *testing.T
	enter entrance
	clock *clock
}

// versions matches what is another one in each list, since the clock goes on.
var versions = regexp.MustCompile(`"versions__delta":"\d+"`)

// throughEveryWay runs a test for every way in, each with an empty registry.
func throughEveryWay(t *testing.T, run func(t *testing.T, c *client)) {
	t.Helper()
	names, _, _ := parts(t, boot.Local, nil)
	for form := range entrances(t, names) {
		t.Run(form, func(t *testing.T) {
			p, _, c := parts(t, boot.Local, map[string]string{"REGISTRY_CACHE_REFRESH": "0s"})
			run(t, &client{t, entrances(t, p)[form], c})
		})
	}
}

// send sends a request whose query, if any, is in the path.
func (c *client) send(method, path, contentType, body string) reply {
	c.t.Helper()
	c.clock.now = c.clock.now.Add(time.Second)
	path, query, hasQuery := strings.Cut(path, "?")
	if hasQuery {
		query = "?" + query
	}
	got, ok := c.enter(c.t, call{method: method, path: path, query: query, body: body, headers: map[string]string{
		"Content-Type": contentType, "Accept": "application/json",
	}})
	require.True(c.t, ok, "%s %s gets in", method, path)
	return got
}

// must sends a request and returns the body of the response, which must have
// the status.
func (c *client) must(status int, method, path, contentType, body string) string {
	c.t.Helper()
	got := c.send(method, path, contentType, body)
	require.Equal(c.t, status, got.status, "%s %s: %s", method, path, got.body)
	return got.body
}

// read returns an instance as a client sees it.
func (c *client) read(path string) map[string]any {
	c.t.Helper()
	var document struct{ Instance map[string]any }
	require.NoError(c.t, json.Unmarshal([]byte(c.must(200, "GET", path, "", "")), &document))
	return document.Instance
}

const (
	inJSON = "application/json"
	inXML  = "application/xml"
)

// completeXML is a complete registration of SHOP/shop-1 with the given
// declaration, status, metadata and data center.
func completeXML(declaration, status, metadata, dataCenter string) string {
	return declaration + `<instance><instanceId>shop-1</instanceId><hostName>shop-1.example.org</hostName><app>SHOP</app>
		<ipAddr>192.0.2.10</ipAddr><status>` + status + `</status><port enabled="true">8080</port>
		<vipAddress>shop</vipAddress><metadata>` + metadata + `</metadata>` + dataCenter + `</instance>`
}

const myOwnXML = `<dataCenterInfo class="com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"><name>MyOwn</name></dataCenterInfo>`

// TestIDFromMetadata: old Spring clients put their id into the metadata alone,
// and renew under it with the host name before it. (Case H30.)
func TestIDFromMetadata(t *testing.T) {
	throughEveryWay(t, func(t *testing.T, c *client) {
		for _, id := range []string{"983d", "12ab"} {
			c.must(204, "POST", "/eureka/apps/SVC", inJSON, `{"instance": {"hostName": "u24", "app": "SVC", "ipAddr": "192.0.2.10",
				"metadata": {"instanceId": "svc:`+id+`"},
				"dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`)
		}
		for _, id := range []string{"u24:svc:983d", "u24:svc:12ab"} {
			c.must(200, "PUT", "/eureka/apps/SVC/"+id, "", "")
			got := c.read("/eureka/apps/SVC/" + id)
			assert.Equal(t, id, got["instanceId"])
			assert.Equal(t, "u24", got["hostName"])
		}
		c.must(404, "PUT", "/eureka/apps/SVC/u24", "", "")
		c.must(200, "PUT", "/eureka/apps/SVC/u24:svc:983d/metadata?instanceId=other", "", "")
		c.must(200, "PUT", "/eureka/apps/SVC/u24:svc:983d", "", "")
		c.must(200, "DELETE", "/eureka/apps/SVC/u24:svc:983d", "", "")
	})
}

// TestXMLInItsOwnEncoding: a document is read in the encoding that it declares,
// or that its content type names. (Case H31.)
func TestXMLInItsOwnEncoding(t *testing.T) {
	throughEveryWay(t, func(t *testing.T, c *client) {
		for _, r := range []struct{ contentType, declaration, city string }{
			{inXML, `<?xml version="1.0" encoding="ISO-8859-1"?>`, "Z\xfcrich"},
			{inXML + "; charset=ISO-8859-1", "", "Z\xfcrich"},
			{inXML, `<?xml version="1.0" encoding="UTF-8"?>`, "Zürich"},
		} {
			c.must(204, "POST", "/eureka/apps/SHOP", r.contentType, completeXML(r.declaration, "UP", "<city>"+r.city+"</city>", myOwnXML))
			assert.Equal(t, map[string]any{"city": "Zürich"}, c.read("/eureka/apps/SHOP/shop-1")["metadata"])
			c.must(200, "DELETE", "/eureka/apps/SHOP/shop-1", "", "")
		}
		entity := `<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE instance [<!ENTITY e "x">]>`
		assert.Contains(t, c.must(400, "POST", "/eureka/apps/SHOP", inXML, completeXML(entity, "UP", "<a>&e;</a>", myOwnXML)), "document type")
		c.must(404, "GET", "/eureka/apps/SHOP/shop-1", "", "")
	})
}

// TestJSONThatIsNotUTF8IsRefused: otherwise the id that is registered would not
// be the client's own. (Case H32.)
func TestJSONThatIsNotUTF8IsRefused(t *testing.T) {
	throughEveryWay(t, func(t *testing.T, c *client) {
		body := strings.Replace(registration, "shop-1.example.org", "z\xfcrich-1", 1)
		assert.Contains(t, c.must(400, "POST", "/eureka/apps/SHOP", inJSON, body), "hostName: ")
		c.must(404, "GET", "/eureka/apps/SHOP", "", "")
		c.must(204, "POST", "/eureka/apps/SHOP", inJSON+"; charset=ISO-8859-1", body)
		assert.Equal(t, "zürich-1", c.read("/eureka/apps/SHOP/shop-1")["hostName"])
	})
}

// TestXMLDataCenterNameDecides: clients send the default class with any name.
// JSON is still refused, as the reference server does. (Case H33.)
func TestXMLDataCenterNameDecides(t *testing.T) {
	const defaultClass = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"
	throughEveryWay(t, func(t *testing.T, c *client) {
		c.must(204, "POST", "/eureka/apps/SHOP", inXML, completeXML("", "UP", "", `<dataCenterInfo class="`+defaultClass+`"><name>Amazon</name>
			<metadata><instance-id>i-01</instance-id></metadata></dataCenterInfo>`))
		assert.Equal(t, map[string]any{
			"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": map[string]any{"instance-id": "i-01"},
		}, c.read("/eureka/apps/SHOP/shop-1")["dataCenterInfo"])
		c.must(200, "PUT", "/eureka/apps/SHOP/shop-1", "", "")
		refused := strings.Replace(registration, "MyOwn", "Amazon", 1)
		assert.Contains(t, c.must(400, "POST", "/eureka/apps/SHOP", inJSON, refused), "dataCenterInfo.@class: ")
	})
}

// TestXMLStatusInAnyCase: a status in XML may have any case, otherwise the
// client would register for ever. (Case H34.)
func TestXMLStatusInAnyCase(t *testing.T) {
	throughEveryWay(t, func(t *testing.T, c *client) {
		for text, want := range map[string]string{"up": "UP", "Down": "DOWN", " starting\n": "STARTING", "out_Of_service": "OUT_OF_SERVICE"} {
			c.must(204, "POST", "/eureka/apps/SHOP", inXML, completeXML("", text, "", myOwnXML))
			assert.Equal(t, want, c.read("/eureka/apps/SHOP/shop-1")["status"])
			c.must(200, "PUT", "/eureka/apps/SHOP/shop-1", "", "")
			c.must(200, "DELETE", "/eureka/apps/SHOP/shop-1", "", "")
		}
	})
}

// TestRemovalAfterUnknown: the removal of an override that is UNKNOWN leaves
// the status that it names. (Case H35.)
func TestRemovalAfterUnknown(t *testing.T) {
	const status = "/eureka/apps/SHOP/shop-1/status"
	throughEveryWay(t, func(t *testing.T, c *client) {
		c.must(204, "POST", "/eureka/apps/SHOP", inJSON, registration)
		c.must(200, "PUT", status+"?value=UNKNOWN", "", "")
		assert.Equal(t, "UNKNOWN", c.read("/eureka/apps/SHOP/shop-1")["status"])
		c.must(404, "PUT", "/eureka/apps/SHOP/shop-1", "", "")
		c.must(200, "DELETE", status+"?value=UP", "", "")
		assert.Equal(t, "UP", c.read("/eureka/apps/SHOP/shop-1")["status"])
		c.must(200, "PUT", "/eureka/apps/SHOP/shop-1", "", "")
	})
}

// TestMigratingHealthChecks: a health check of a Spring Boot server need not
// be changed. (Case H36.)
func TestMigratingHealthChecks(t *testing.T) {
	throughEveryWay(t, func(t *testing.T, c *client) {
		for _, prefix := range []string{"", "/eureka", "/eureka/v2"} {
			health := c.send("GET", prefix+"/health", "", "")
			require.Equal(t, http.StatusOK, health.status)
			for _, path := range []string{
				"/actuator/health", "/actuator/health/", "/actuator/health/readiness", "/actuator/health/liveness",
				"/actuator/health;jsessionid=1A", "//actuator//health",
			} {
				got := c.send("GET", prefix+path, "", "")
				assert.Equal(t, health, got, path)
				assert.Equal(t, http.StatusOK, c.send("HEAD", prefix+path, "", "").status, path)
			}
			for _, path := range []string{"/actuator", "/actuator/env", "/actuator/health/env", "/actuator/health/liveness/x"} {
				c.must(404, "GET", prefix+path, "", "")
			}
		}
	})
}

// TestOptionsAnswersAllow: OPTIONS names the methods of a path. (Case H36.)
func TestOptionsAnswersAllow(t *testing.T) {
	throughEveryWay(t, func(t *testing.T, c *client) {
		for path, allow := range map[string]string{
			"/eureka/apps":                      "GET, HEAD, OPTIONS",
			"/eureka/apps/":                     "GET, HEAD, OPTIONS",
			"/eureka/v2/apps/delta":             "GET, HEAD, OPTIONS",
			"/eureka/apps/SHOP":                 "POST, GET, HEAD, OPTIONS",
			"/eureka/apps/SHOP/shop-1":          "PUT, DELETE, GET, HEAD, OPTIONS",
			"/eureka/apps/SHOP/shop-1/status":   "PUT, DELETE, OPTIONS",
			"/eureka/apps/SHOP/shop-1/metadata": "PUT, OPTIONS",
			"/eureka/instances/shop-1":          "GET, HEAD, OPTIONS",
			"/eureka/vips/shop":                 "GET, HEAD, OPTIONS",
			"/eureka/peerreplication/batch":     "POST, OPTIONS",
			"/":                                 "GET, HEAD, OPTIONS",
			"/action":                           "POST, OPTIONS",
			"/health":                           "GET, HEAD, OPTIONS",
			"/actuator/health":                  "GET, HEAD, OPTIONS",
			"/status;jsessionid=1A":             "GET, HEAD, OPTIONS",
		} {
			got := c.send("OPTIONS", path, "", "")
			assert.Equal(t, http.StatusOK, got.status, path)
			assert.Equal(t, allow, got.header.Get("Allow"), path)
			assert.Empty(t, got.body, path)
			assert.Empty(t, got.header.Get("Access-Control-Allow-Origin"), path)
		}
		c.must(404, "OPTIONS", "/nothing/here", "", "")
	})
}

// TestSessionIDInPathIsIgnored: servlet clients append one to any path. A
// semicolon of an id's own is part of the id. (Case H36.)
func TestSessionIDInPathIsIgnored(t *testing.T) {
	const session = ";jsessionid=0A1B2C.node1"
	throughEveryWay(t, func(t *testing.T, c *client) {
		own := strings.Replace(registration, `"instanceId": "shop-1"`, `"instanceId": "shop;1;x=y"`, 1)
		c.must(204, "POST", "/eureka/apps/SHOP"+session, inJSON, registration)
		c.must(204, "POST", "/eureka/apps/SHOP", inJSON, own)
		for _, path := range []string{
			"/eureka/apps", "/eureka/apps/", "/eureka/apps/delta", "/eureka/apps/SHOP", "/eureka/apps/SHOP/shop-1",
			"/eureka/apps/SHOP/shop;1;x=y", "/eureka/instances/shop-1", "/eureka/vips/shop", "/health",
		} {
			want := c.send("GET", path, "", "")
			require.Equal(t, http.StatusOK, want.status, path)
			got := c.send("GET", path+session, "", "")
			assert.Equal(t, http.StatusOK, got.status, path)
			assert.Equal(t, versions.ReplaceAllString(want.body, ""), versions.ReplaceAllString(got.body, ""), path)
		}
		c.must(200, "PUT", "/eureka/apps/SHOP/shop-1"+session+"?status=UP", "", "")
		c.must(200, "PUT", "/eureka/apps/SHOP/shop;1;x=y"+session, "", "")
		c.must(200, "PUT", "/eureka/apps/SHOP/shop-1/metadata"+session+"?a=b", "", "")
		c.must(200, "PUT", "/eureka/apps/SHOP/shop-1/status"+session+"?value=DOWN", "", "")
		c.must(404, "PUT", "/eureka/apps/SHOP/shop", "", "")
		c.must(404, "PUT", "/eureka/apps/SHOP/shop;1", "", "")
		c.must(200, "DELETE", "/eureka/apps/SHOP/shop;1;x=y"+session, "", "")
		c.must(200, "DELETE", "/eureka/apps/SHOP/shop-1"+session+"/", "", "")
		unreachable := strings.Replace(registration, `"instanceId": "shop-1"`, `"instanceId": "shop-1;jsessionid=x"`, 1)
		assert.Contains(t, c.must(400, "POST", "/eureka/apps/SHOP", inJSON, unreachable), "instanceId: ")
	})
}
