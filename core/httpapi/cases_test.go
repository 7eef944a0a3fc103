package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eviction"
)

// The tests of this file bear the numbers of cases from trouble in the field.

// TestH1: the members of the data centre come in any order.
func TestH1(t *testing.T) {
	members := map[string]string{
		"metadata": `"metadata": {"instance-id": "i-01", "instance-type": "m5.large"}`,
		"name":     `"name": "Amazon"`,
		"@class":   `"@class": "com.netflix.appinfo.AmazonInfo"`,
	}
	for _, order := range [][3]string{
		{"metadata", "name", "@class"}, {"metadata", "@class", "name"}, {"name", "metadata", "@class"},
		{"name", "@class", "metadata"}, {"@class", "name", "metadata"}, {"@class", "metadata", "name"},
	} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			s := newServer(t)
			center := json.RawMessage(fmt.Sprintf("{%s, %s, %s}", members[order[0]], members[order[1]], members[order[2]]))
			s.must(204, s.post("SHOP", shop(object{"dataCenterInfo": center})))
			assert.Equal(t, object{
				"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon",
				"metadata": object{"instance-id": "i-01", "instance-type": "m5.large"},
			}, s.read("/apps/SHOP/shop-1")["dataCenterInfo"])
		})
	}
}

// TestH2: old and thin shapes are refused with a reason that names the field.
func TestH2(t *testing.T) {
	for _, c := range []struct {
		field string
		value any
	}{
		{"port", 8080},
		{"port", "8080"},
		{"port", object{"$": 8080, "enabled": "true"}},
		{"securePort", object{"$": 8080, "enabled": "true"}},
		{"dataCenterInfo", object{"name": "MyOwn"}},
		{"dataCenterInfo", object{"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "Elsewhere"}},
		{"dataCenterInfo", object{"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn", "rack": "7"}},
	} {
		t.Run(fmt.Sprint(c.field, c.value), func(t *testing.T) {
			s := newServer(t)
			s.must(204, s.post("OTHER", shop(object{"app": "OTHER", "instanceId": "other-1"})))
			paths := []string{"/apps", "/apps/delta", "/apps/OTHER", "/apps/OTHER/other-1"}
			before := s.everyReading(paths...)
			w := s.must(400, s.post("SHOP", shop(object{c.field: c.value})))
			assert.Equal(t, c.field, faultyField(t, w))
			s.must(404, s.do("GET", "/eureka/apps/SHOP", ""))
			assert.Equal(t, before, s.everyReading(paths...))
		})
	}
}

// faultyField returns the name that an error begins with, up to the first
// colon, without the members below it.
func faultyField(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	name, _, found := strings.Cut(decode(t, w)["error"].(string), ":")
	require.True(t, found, "an error that names a field: %s", w.Body)
	field, _, _ := strings.Cut(name, ".")
	return field
}

// reading is what a client gets, but for the delta's version, which is the time.
type reading struct {
	status            int
	contentType, body string
}

var versionDigits = regexp.MustCompile(`(versions__delta(?:":"|>))\d+`)

func readingOf(w *httptest.ResponseRecorder) reading {
	return reading{w.Code, w.Header().Get("Content-Type"), versionDigits.ReplaceAllString(w.Body.String(), "${1}")}
}

// everyReading reads paths in JSON and XML, each of which must answer.
func (s *server) everyReading(paths ...string) map[string]reading {
	s.t.Helper()
	out := map[string]reading{}
	for _, path := range paths {
		for _, accept := range []string{"application/json", "application/xml"} {
			out[path+" as "+accept] = readingOf(s.must(200, s.do("GET", "/eureka"+path, "", "Accept", accept)))
		}
	}
	return out
}

// TestH3: the least that is taken can be read everywhere.
func TestH3(t *testing.T) {
	thin := object{
		"hostName": "thin-1.example.org", "app": "THIN", "ipAddr": "192.0.2.11",
		"dataCenterInfo": object{"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
	}
	encode := func(o object) string {
		body, err := json.Marshal(object{"instance": o})
		require.NoError(t, err)
		return string(body)
	}
	s := newServer(t)
	s.must(204, s.post("THIN", encode(thin)))
	paths := []string{"/apps", "/apps/THIN", "/apps/THIN/thin-1.example.org", "/apps/delta"}
	before := s.everyReading(paths...)
	for path, got := range before {
		assert.Contains(t, got.body, "thin-1.example.org", path)
		assert.NotContains(t, got.body, "null", path)
	}
	for _, page := range []string{"/", "/?app=THIN&id=thin-1.example.org"} {
		assert.Contains(t, s.browse(page), "thin-1.example.org")
	}
	got := s.read("/apps/THIN/thin-1.example.org")
	assert.Equal(t, object{"$": 7001.0, "@enabled": "true"}, got["port"])
	assert.Equal(t, object{"$": 7002.0, "@enabled": "false"}, got["securePort"])
	assert.Equal(t, "UP", got["status"])
	assert.Equal(t, object{"@class": "java.util.Collections$EmptyMap"}, got["metadata"])
	assert.Regexp(t, `^\d{13}$`, got["lastUpdatedTimestamp"])
	assert.Regexp(t, `^\d{13}$`, got["lastDirtyTimestamp"])

	for _, field := range []string{"hostName", "ipAddr", "app", "dataCenterInfo"} {
		without := object{}
		for k, v := range thin {
			if k != field {
				without[k] = v
			}
		}
		w := s.must(400, s.post("THIN", encode(without)))
		assert.Equal(t, field, faultyField(t, w))
	}
	assert.Equal(t, before, s.everyReading(paths...), "no view has changed")
	assert.Contains(t, s.browse("/"), ">1 instance.<")
	apps := decode(t, s.must(200, s.do("GET", "/eureka/apps", "")))["applications"].(object)
	assert.Equal(t, "UP_1_", apps["apps__hashcode"])
}

// TestH4: the override's field in both spellings, or absent.
func TestH4(t *testing.T) {
	for _, c := range []struct {
		name             string
		parts            object
		status, override string
	}{
		{"absent", object{"overriddenStatus": nil}, "UP", "UNKNOWN"},
		{"lower case", object{"overriddenStatus": nil, "overriddenstatus": "OUT_OF_SERVICE"}, "OUT_OF_SERVICE", "OUT_OF_SERVICE"},
		{"camel case", object{"overriddenStatus": "OUT_OF_SERVICE"}, "OUT_OF_SERVICE", "OUT_OF_SERVICE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			s.must(204, s.post("SHOP", shop(c.parts)))
			got := s.read("/apps/SHOP/shop-1")
			assert.Equal(t, c.status, got["status"])
			assert.Equal(t, c.override, got["overriddenStatus"])
			assert.NotContains(t, got, "overriddenstatus")
			xml := s.must(200, s.do("GET", "/eureka/apps/SHOP/shop-1", "", "Accept", "application/xml")).Body.String()
			assert.Contains(t, xml, "<status>"+c.status+"</status>")
			assert.Contains(t, xml, "<overriddenstatus>"+c.override+"</overriddenstatus>")
		})
	}
}

// TestH5: a status in the heartbeat's query changes nothing.
func TestH5(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	w := s.must(200, s.do("PUT", "/eureka/apps/SHOP/shop-1?status=DOWN&lastDirtyTimestamp=1700000000000", ""))
	assert.Empty(t, w.Body.String())
	assert.Empty(t, w.Header().Get("Content-Type"))
	got := s.read("/apps/SHOP/shop-1")
	assert.Equal(t, "UP", got["status"])
	assert.Equal(t, "UNKNOWN", got["overriddenStatus"])

	s.must(200, s.do("PUT", "/eureka/apps/SHOP/shop-1/status?value=DOWN", ""))
	got = s.read("/apps/SHOP/shop-1")
	assert.Equal(t, "DOWN", got["status"])
	assert.Equal(t, "DOWN", got["overriddenStatus"])
}

// TestH6: a heartbeat for nobody is 404, with an empty body.
func TestH6(t *testing.T) {
	s := newServer(t)
	w := s.must(404, s.do("PUT", "/eureka/apps/SHOP/never-seen?status=UP&lastDirtyTimestamp=1", ""))
	assert.Empty(t, w.Body.String())
	s.must(204, s.post("SHOP", shop(nil)))
	w = s.must(404, s.do("PUT", "/eureka/apps/SHOP/shop-1?lastDirtyTimestamp=1700000000001", ""))
	assert.Empty(t, w.Body.String())
}

// TestH7: lease information that is absent or useless.
func TestH7(t *testing.T) {
	for _, c := range []struct {
		given              any
		interval, duration float64
	}{
		{nil, 30, 90},
		{object{}, 30, 90},
		{object{"durationInSecs": 0}, 30, 90},
		{object{"durationInSecs": -5, "renewalIntervalInSecs": -1}, 30, 90},
		{object{"renewalIntervalInSecs": 5}, 5, 90},
		{object{"durationInSecs": "45", "renewalIntervalInSecs": "15"}, 15, 45},
		{json.RawMessage(`{"durationInSecs": null}`), 30, 90},
	} {
		t.Run(fmt.Sprint(c.given), func(t *testing.T) {
			s := newServer(t)
			s.must(204, s.post("SHOP", shop(object{"leaseInfo": c.given})))
			got := s.read("/apps/SHOP/shop-1")["leaseInfo"].(object)
			assert.Equal(t, c.interval, got["renewalIntervalInSecs"])
			assert.Equal(t, c.duration, got["durationInSecs"])
		})
	}
}

// TestH8: media types, and text that is not ASCII.
func TestH8(t *testing.T) {
	s := newServer(t)
	body := shop(object{"metadata": object{"city": "Zürich 東京"}})
	for _, media := range []string{"application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"} {
		s.must(204, s.do("POST", "/eureka/apps/SHOP", body, "Content-Type", media))
	}
	assert.Equal(t, object{"city": "Zürich 東京"}, s.read("/apps/SHOP/shop-1")["metadata"])
	xml := s.must(200, s.do("GET", "/eureka/apps/SHOP/shop-1", "", "Accept", "application/xml")).Body.String()
	assert.Contains(t, xml, "<city>Zürich 東京</city>")
	for _, media := range []string{"", "application/x-www-form-urlencoded"} {
		s.must(200, s.do("PUT", "/eureka/apps/SHOP/shop-1", "", "Content-Type", media))
		s.must(200, s.do("PUT", "/eureka/apps/SHOP/shop-1/status?value=DOWN", "", "Content-Type", media, "Content-Length", "0"))
		s.must(200, s.do("DELETE", "/eureka/apps/SHOP/shop-1/status?value=UP", "", "Content-Type", media))
	}
	s.must(200, s.do("DELETE", "/eureka/apps/SHOP/shop-1", "", "Content-Type", "application/x-www-form-urlencoded"))
	for _, media := range []string{"", "text/json"} {
		w := s.must(415, s.do("POST", "/eureka/apps/SHOP", body, "Content-Type", media))
		assert.NotEmpty(t, decode(t, w)["error"])
	}
}

// TestH9: doubled and trailing slashes answer as the clean path does, for every
// method, and never by a redirect.
func TestH9(t *testing.T) {
	const shop1 = "/eureka/apps/SHOP/shop-1"
	for _, c := range []struct {
		method, clean, query string
		others               []string
	}{
		{"GET", "/eureka/apps", "", []string{"/eureka/apps/", "/eureka//apps", "//eureka//apps//"}},
		{"GET", "/eureka/apps/delta", "", []string{"/eureka/apps/delta/", "/eureka//apps/delta"}},
		{"GET", "/eureka/apps/SHOP", "", []string{"/eureka/apps/SHOP/", "/eureka//apps/SHOP"}},
		{"GET", "/eureka/apps/NONE", "", []string{"/eureka/apps/NONE/", "/eureka//apps/NONE"}},
		{"GET", shop1, "", []string{shop1 + "/", "/eureka//apps/SHOP/shop-1", "/eureka/apps//SHOP//shop-1//"}},
		{"POST", "/eureka/apps/SHOP", "", []string{"/eureka/apps/SHOP/", "/eureka//apps/SHOP", "//eureka/apps//SHOP"}},
		{"PUT", shop1, "", []string{shop1 + "/", "/eureka//apps/SHOP/shop-1"}},
		{"PUT", "/eureka/apps/SHOP/none", "", []string{"/eureka/apps/SHOP/none/", "/eureka//apps/SHOP/none"}},
		{"PUT", shop1 + "/status", "?value=DOWN", []string{shop1 + "/status/", "/eureka//apps/SHOP/shop-1/status"}},
		{"PUT", shop1 + "/metadata", "?zone=b", []string{shop1 + "/metadata/", "/eureka//apps/SHOP/shop-1/metadata"}},
		{"DELETE", shop1 + "/status", "?value=UP", []string{shop1 + "/status/", "/eureka//apps/SHOP/shop-1/status"}},
		{"DELETE", shop1, "", []string{shop1 + "/", "/eureka//apps/SHOP/shop-1"}},
	} {
		t.Run(c.method+" "+c.clean, func(t *testing.T) {
			want := answerOf(t, c.method, c.clean+c.query)
			assert.Less(t, want.status, 500)
			for _, other := range c.others {
				assert.Equal(t, want, answerOf(t, c.method, other+c.query), other)
			}
		})
	}
}

// answerOf returns what a server of its own answers, which has shop-1.
func answerOf(t *testing.T, method, path string) reading {
	t.Helper()
	s, body := newServer(t), ""
	s.must(204, s.post("SHOP", shop(nil)))
	if method == "POST" {
		body = shop(nil)
	}
	return readingOf(s.do(method, path, body, "Content-Type", "application/json"))
}

// TestH10: two prefixes, one registry, the same answers.
func TestH10(t *testing.T) {
	s := newServer(t)
	s.must(204, s.post("SHOP", shop(nil)))
	s.must(204, s.do("POST", "/eureka/v2/apps/SHOP", shop(object{"instanceId": "shop-2"}), "Content-Type", "application/json"))
	for _, path := range []string{"/apps", "/apps/delta", "/apps/SHOP", "/apps/SHOP/shop-1", "/apps/SHOP/shop-2", "/vips/shop", "/instances/shop-2"} {
		clean := s.everyReading(path)
		for name, got := range s.everyReading("/v2" + path) {
			assert.Equal(t, clean[strings.TrimPrefix(name, "/v2")], got, name)
		}
	}
	for _, path := range []string{"/apps/SHOP/shop-1", "/apps/SHOP/shop-2"} {
		clean := readingOf(s.must(200, s.do("PUT", "/eureka"+path, "")))
		assert.Equal(t, clean, readingOf(s.do("PUT", "/eureka/v2"+path, "")), path)
	}
	s.must(404, s.do("GET", "/apps", ""))
	s.must(404, s.do("GET", "/EUREKA/apps", ""))
}

// TestH11: without an instance id the host name identifies the instance.
func TestH11(t *testing.T) {
	s := newServer(t)
	hosts := []string{"shop-a.example.org", "shop-b.example.org"}
	for _, host := range hosts {
		s.must(204, s.post("SHOP", shop(object{"instanceId": nil, "hostName": host})))
	}
	app := decode(t, s.must(200, s.do("GET", "/eureka/apps/SHOP", "")))["application"].(object)
	assert.Len(t, app["instance"], 2)
	for _, host := range hosts {
		assert.NotContains(t, s.read("/apps/SHOP/"+host), "instanceId")
		s.must(200, s.do("GET", "/eureka/instances/"+host, ""))
		s.must(200, s.do("PUT", "/eureka/apps/SHOP/"+host, ""))
		s.must(200, s.do("DELETE", "/eureka/apps/SHOP/"+host, ""))
		s.must(404, s.do("GET", "/eureka/apps/SHOP/"+host, ""))
	}
}

// TestH28: without an override the newest registration's status counts.
func TestH28(t *testing.T) {
	register := func(s *server, status string, dirty int) {
		t.Helper()
		s.must(204, s.post("SHOP", shop(object{"status": status, "lastDirtyTimestamp": fmt.Sprint(1700000000000 + dirty)})))
	}
	t.Run("out of service, then up", func(t *testing.T) {
		s := newServer(t)
		register(s, "OUT_OF_SERVICE", 0)
		register(s, "UP", 1)
		requireStatus(t, s, "UP")
	})
	t.Run("up, then out of service", func(t *testing.T) {
		s := newServer(t)
		register(s, "UP", 0)
		register(s, "OUT_OF_SERVICE", 1)
		requireStatus(t, s, "OUT_OF_SERVICE")
	})
	t.Run("an override removed, then up", func(t *testing.T) {
		s := newServer(t)
		register(s, "UP", 0)
		s.must(200, s.do("PUT", "/eureka/apps/SHOP/shop-1/status?value=OUT_OF_SERVICE", ""))
		s.must(200, s.do("DELETE", "/eureka/apps/SHOP/shop-1/status?value=OUT_OF_SERVICE", ""))
		register(s, "UP", 1)
		requireStatus(t, s, "UP")
	})
}

// requireStatus fails unless shop-1 has the status in its own reading, in the
// list of everything and in the delta.
func requireStatus(t *testing.T, s *server, status string) {
	t.Helper()
	assert.Equal(t, status, s.read("/apps/SHOP/shop-1")["status"])
	s.now = s.now.Add(31 * time.Second) // lists show it with their next turn
	for _, path := range []string{"/apps", "/apps/delta"} {
		apps := decode(t, s.must(200, s.do("GET", "/eureka"+path, "")))["applications"].(object)
		assert.Equal(t, status+"_1_", apps["apps__hashcode"], path)
		shops := apps["application"].([]any)
		require.Len(t, shops, 1, path)
		instances := shops[0].(object)["instance"].([]any)
		require.Len(t, instances, 1, path)
		assert.Equal(t, status, instances[0].(object)["status"], path)
	}
}

// TestH25: an instance that stopped renewing is in no answer one pass after its
// lease ended, though no TTL ever takes its item away; its heartbeat is 404, and
// a registration starts anew.
func TestH25(t *testing.T) {
	f := newFleet(t, 1, 1, eviction.DefaultPolicy())
	silent := "/apps/SHOP/" + f.silent[0]
	registered := func() float64 {
		return f.read(silent)["leaseInfo"].(object)["registrationTimestamp"].(float64)
	}
	before := registered()
	f.minute()
	f.minute()
	assert.Equal(t, f.living, f.listed())
	f.must(404, f.do("GET", "/eureka"+silent, ""))
	assert.Empty(t, f.must(404, f.do("PUT", "/eureka"+silent, "")).Body.String())

	f.must(204, f.post("SHOP", shop(object{"instanceId": f.silent[0]})))
	assert.InDelta(t, float64(f.now.UnixMilli()), registered(), 5)
	assert.Greater(t, registered(), before)
	f.must(200, f.do("PUT", "/eureka"+silent, ""))
	f.now = f.now.Add(31 * time.Second)
	assert.ElementsMatch(t, []string{f.living[0], f.silent[0]}, f.listed())
}
