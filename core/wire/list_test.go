package wire_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// Lists as other servers and other times write them.
func TestListsOfOthers(t *testing.T) {
	minimal := func(app, host string) *eureka.InstanceInfo {
		i, err := wire.DecodeInstance(wire.JSON, []byte(`{"instance":{"app":"`+app+`","hostName":"`+host+`"}}`))
		require.NoError(t, err)
		return i
	}
	list := func(apps ...eureka.Application) *eureka.Applications {
		return &eureka.Applications{Version: 3, HashCode: "UP_1_", Applications: apps}
	}
	a := eureka.Application{Name: "A", Instances: []*eureka.InstanceInfo{minimal("A", "h")}}
	for _, c := range []struct {
		name   string
		format wire.Format
		body   string
		want   *eureka.Applications
	}{
		{"objects instead of lists of one", wire.JSON,
			`{"applications":{"versions__delta":3,"apps__hashcode":"UP_1_","application":{"name":"A","instance":{"app":"A","hostName":"h"}}}}`, list(a)},
		{"members of other names and types", wire.JSON,
			`{"x":[{}],"applications":{"more":{"a":[1,"]"]},"versions_delta":"3","apps_hashcode":"UP_1_","application":[null,5,{"name":"a","instance":["x",{"hostName":"h"}]}]}}`, list(a)},
		{"name only at the instance", wire.JSON,
			`{"applications":{"versions__delta":"3","apps__hashcode":"UP_1_","application":[{"instance":[{"hostName":"h","app":"a"}]}]}}`, list(a)},
		{"applications without instances", wire.JSON,
			`{"applications":{"versions__delta":"3","apps__hashcode":"UP_1_","application":[{"name":"B","instance":[]},{"name":"C"},{"name":"D","instance":null},{"name":"A","instance":[{"hostName":"h"}]}]}}`, list(a)},
		{"no list", wire.JSON, `{"applications":{"versions__delta":"3","apps__hashcode":"UP_1_","application":null}}`, list()},
		{"fields that make no sense", wire.JSON,
			`{"applications":{"versions__delta":"3","apps__hashcode":"UP_1_","application":[{"name":"A","instance":[{"hostName":"h","port":80,"securePort":{"$":"x","@enabled":"y"},
				"countryId":"x","leaseInfo":5,"metadata":"x","dataCenterInfo":null,"status":null,"lastUpdatedTimestamp":"x","actionType":"GONE","vipAddress":["a"]}]}]}}`, list(a)},
		{"white space and escapes", wire.JSON,
			" {\n\t\"applications\" : {\r\n \"versions__delta\" : \"\\u0033\" , \"apps__hashcode\":\"UP\\u005f1_\", \"app\\u006cication\" : [ { \"name\" : \"A\" , \"instance\" : [ { \"hostName\" : \"h\" } ] } ] } } \n", list(a)},
		{"XML", wire.XML, `<?xml version="1.0"?>
			<applications more="1"><other><deep/></other><versions__delta> 3 </versions__delta><apps__hashcode>UP_1_</apps__hashcode>
			<application><other/></application>
			<application><name>a</name><instance><hostName>h</hostName><port>x</port><dataCenterInfo/><leaseInfo>5</leaseInfo></instance></application></applications>`, list(a)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := wire.DecodeApplications(c.format, []byte(c.body))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestNoLists(t *testing.T) {
	for _, c := range []struct {
		format wire.Format
		body   string
	}{
		{wire.JSON, ``},
		{wire.JSON, `{"applications":{"application":[{"name":"A"`},
		{wire.JSON, `<html></html>`},
		{wire.JSON, `{"applications":[]}`},
		{wire.JSON, `{"applications":"none"}`},
		{wire.JSON, `{"message":"Not Found"}`},
		{wire.JSON, `null`},
		{wire.XML, ``},
		{wire.XML, `<html></html>`},
		{wire.XML, `<applications><application><instance>`},
		{wire.XML, `<applications><application><instance></application></applications>`},
		{wire.XML, `<applications/>trailing`},
		{wire.XML, `<applications><application></application>`},
		{wire.XML, `<applications></application>`},
		{wire.XML, `{"applications":{}}`},
	} {
		a, err := wire.DecodeApplications(c.format, []byte(c.body))
		assert.ErrorIs(t, err, eureka.ErrInvalid, c.body)
		assert.Nil(t, a)
	}
	for _, body := range []string{`{"application":[]}`, `{"instance":{}}`, `x`} {
		_, err := wire.DecodeApplication(wire.JSON, []byte(body))
		assert.ErrorIs(t, err, eureka.ErrInvalid, body)
	}
	for _, body := range []string{`<instance/>`, `<application>`, `x`} {
		_, err := wire.DecodeApplication(wire.XML, []byte(body))
		assert.ErrorIs(t, err, eureka.ErrInvalid, body)
	}
}

// Equal texts of a list are one string: they are most of its memory.
func TestListsShareTexts(t *testing.T) {
	e := wire.Encoding{Format: wire.JSON}
	body := e.AppendApplications(nil, fleet(1000))
	perInstance := testing.AllocsPerRun(3, func() {
		_, err := wire.DecodeApplications(wire.JSON, body)
		require.NoError(t, err)
	}) / 1000
	assert.Less(t, perInstance, 13.0, "one for the instance, six for texts of its own, two for its map, some that the cache missed")
}

func TestReplicationResultsOfOthers(t *testing.T) {
	got, err := wire.DecodeReplicationResults([]byte(`{"responseList":[{"statusCode":"200","responseEntity":null},7,{"more":[],"statusCode":409,"responseEntity":{"hostName":"h"}}]}`))
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, wire.ReplicationResult{StatusCode: 200}, got[0])
	assert.Equal(t, 409, got[1].StatusCode)
	assert.Equal(t, "h", got[1].Instance.HostName)
	_, err = wire.DecodeReplicationResults([]byte(`{}`))
	assert.ErrorIs(t, err, eureka.ErrInvalid)
}
