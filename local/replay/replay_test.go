package replay

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func recording(t *testing.T) []Exchange {
	t.Helper()
	exchanges, err := load()
	require.NoError(t, err)
	require.Len(t, exchanges, 178)
	return exchanges
}

func find(t *testing.T, name string) Exchange {
	t.Helper()
	for _, ex := range recording(t) {
		if ex.Name == name {
			return ex
		}
	}
	require.Fail(t, "no exchange "+name)
	return Exchange{}
}

func TestTheRecordedAnswersAreRightButForTheDeviations(t *testing.T) {
	var c comparison
	for _, ex := range recording(t) {
		found := c.differences(ex, ex.Response)
		c.note(ex, ex.Response)
		if d, deviates := deviations[ex.Name]; deviates && !d.anything {
			assert.NotEmpty(t, found, ex.Name)
		} else {
			assert.Empty(t, found, ex.Name)
		}
	}
}

func TestEachDeviationNamesAnExchange(t *testing.T) {
	for name, d := range deviations {
		find(t, name)
		assert.NotEmpty(t, d.reason)
	}
}

func TestWhatIsDifferentIsFound(t *testing.T) {
	cases := []struct {
		name, exchange, old, new string
	}{
		{"a number for a text", "read: one instance as JSON", `"@enabled":"true"`, `"@enabled":true`},
		{"a text for a number", "read: one instance as JSON", `"$":8080`, `"$":"8080"`},
		{"another value", "read: one instance as JSON", `"status":"UP"`, `"status":"DOWN"`},
		{"a field is missing", "read: one instance as JSON", `"countryId":1,`, ``},
		{"a field too many", "read: one instance as JSON", `"countryId":1,`, `"countryId":1,"zone":"a",`},
		{"a time is not set", "read: one instance as JSON", `"lastUpdatedTimestamp":"1`, `"lastUpdatedTimestamp":"0","x":"1`},
		{"a time of another type", "read: one instance as JSON", `"lastUpdatedTimestamp":"`, `"lastUpdatedTimestamp":1,"x":"`},
		{"an instance is missing", "read: one application as JSON", `orders-2`, `orders-3`},
		{"the hash", "read: all as JSON", `"apps__hashcode":"`, `"apps__hashcode":"DOWN_9_`},
		{"the action in a delta", "cancel: the delta says DELETED", `"actionType":"DELETED"`, `"actionType":"MODIFIED"`},
		{"an XML element's text", "read: one instance as XML", `<status>UP</status>`, `<status>DOWN</status>`},
		{"an XML attribute", "read: one instance as XML", `enabled="true"`, `enabled="false"`},
		{"an XML element is missing", "read: one instance as XML", `<countryId>1</countryId>`, ``},
		{"half a document", "read: one instance as JSON", `}}`, ``},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ex := find(t, c.exchange)
			answer := ex.Response
			answer.Body = strings.Replace(answer.Body, c.old, c.new, 1)
			require.NotEqual(t, ex.Response.Body, answer.Body)

			assert.NotEmpty(t, new(comparison).differences(ex, answer))
		})
	}
}

func TestStatusTypeEncodingAndEmptinessAreCompared(t *testing.T) {
	read, renew := find(t, "read: all, gzip"), find(t, "renew: no parameters")
	change := func(ex Exchange, f func(*Answer)) []string {
		answer := ex.Response
		f(&answer)
		return new(comparison).differences(ex, answer)
	}
	assert.NotEmpty(t, change(read, func(a *Answer) { a.Status = 201 }))
	assert.NotEmpty(t, change(read, func(a *Answer) { a.ContentType = "text/json" }))
	assert.NotEmpty(t, change(read, func(a *Answer) { a.ContentEncoding = "" }))
	assert.NotEmpty(t, change(renew, func(a *Answer) { a.Body = "{}" }))
	assert.Empty(t, change(renew, func(a *Answer) { a.ContentType = "text/plain" }))
}

func TestOrderAndServerTimesAreNotCompared(t *testing.T) {
	ex := Exchange{Method: "GET", Path: "/apps/A", Response: Answer{Status: 200,
		Body: `{"list":[{"a":1},{"a":2}],"lastRenewalTimestamp":17,"versions__delta":"1"}`}}
	answer := Answer{Status: 200, Body: `{"versions__delta":"9","list":[{"a":2},{"a":1}],"lastRenewalTimestamp":18}`}
	assert.Empty(t, new(comparison).differences(ex, answer))
}

func TestTheExtraInstanceIsLeftOut(t *testing.T) {
	c := comparison{}
	c.note(Exchange{Name: extraName}, Answer{Status: 204})
	ex := Exchange{Method: "GET", Path: "/apps/?regions=x", Response: Answer{Status: 200,
		Body: `{"applications":{"apps__hashcode":"UP_1_","application":[{"name":"PLAIN","instance":[{"app":"PLAIN","instanceId":"plain-1"}]}]}}`}}
	answer := Answer{Status: 200,
		Body: `{"applications":{"apps__hashcode":"UP_2_","application":[{"name":"PLAIN","instance":[{"app":"PLAIN","instanceId":"plain-7"},{"app":"PLAIN","instanceId":"plain-1"}]}]}}`}
	assert.Empty(t, c.differences(ex, answer))
}

func TestAReadIsRepeatedUntilItAgrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ex := find(t, "read: all, gzip")
		tries := 0
		r := &replayer{base: "http://registry.test/eureka", wait: time.Second, do: func(req *http.Request) (*http.Response, error) {
			assert.Equal(t, "/eureka/apps", req.URL.Path)
			assert.Equal(t, "gzip", req.Header.Get("Accept-Encoding"))
			if tries++; tries < 3 {
				return response(req, Answer{Status: 200, ContentType: "application/json", ContentEncoding: "gzip", Body: "{}"}), nil
			}
			return response(req, ex.Response), nil
		}}
		assert.Empty(t, r.exchange(t, ex))
		assert.Equal(t, 3, tries)
	})
}

func TestAReadThatNeverAgreesIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := &replayer{wait: time.Second, do: func(req *http.Request) (*http.Response, error) {
			return response(req, Answer{Status: 500}), nil
		}}
		assert.NotEmpty(t, r.exchange(t, find(t, "read: all as JSON")))
		assert.InDelta(t, time.Second, time.Since(start), float64(2*again))
	})
}

func TestAWriteIsAskedOnce(t *testing.T) {
	tries := 0
	r := &replayer{wait: time.Hour, do: func(req *http.Request) (*http.Response, error) {
		tries++
		assert.Equal(t, "identity", req.Header.Get("Accept-Encoding"))
		return response(req, Answer{Status: 500}), nil
	}}
	assert.NotEmpty(t, r.exchange(t, find(t, "register: JSON")))
	assert.Equal(t, 1, tries)
}

func response(r *http.Request, a Answer) *http.Response {
	resp := &http.Response{StatusCode: a.Status, Header: http.Header{}, Request: r}
	resp.Header.Set("Content-Type", a.ContentType+";charset=UTF-8")
	body := []byte(a.Body)
	if a.ContentEncoding != "" {
		resp.Header.Set("Content-Encoding", a.ContentEncoding)
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body)
		_ = w.Close()
		body = packed.Bytes()
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}
