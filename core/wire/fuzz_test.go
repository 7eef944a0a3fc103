package wire_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// seed adds the recorded requests, or answers, of a format.
func seed(f *testing.F, format wire.Format, requests bool) {
	for _, e := range recorded(f) {
		body, isXML := e.Response.Body, e.encoding().Format == wire.XML
		if requests {
			body, isXML = e.Body, e.Headers["Content-Type"] == "application/xml"
		}
		if isXML == (format == wire.XML) && (requests || documentRoot(body) == "applications") {
			f.Add([]byte(body))
		}
	}
}

// checkRegistration holds that what was understood of a registration is
// written and read back the same; that faults name a field; and that a client
// reads what a registry takes.
func checkRegistration(t *testing.T, f wire.Format, body []byte) {
	i, err := wire.DecodeRegistration(f, body, wire.Limits{MaxMetadata: 100})
	if err != nil {
		var invalid *eureka.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.NotEmpty(t, invalid.Field)
		require.LessOrEqual(t, len(err.Error()), 1000)
		return
	}
	again, err := wire.DecodeRegistration(f, wire.AppendRegistration(nil, f, i), wire.Limits{MaxMetadata: 100})
	require.NoError(t, err)
	require.Equal(t, i, again)
	for _, e := range allEncodings {
		document := e.AppendInstanceDocument(nil, i)
		assertWellFormed(t, e.Format, document)
		read, err := wire.DecodeInstance(e.Format, document)
		require.NoError(t, err)
		if e.Format == f {
			require.Equal(t, i.Key(), read.Key())
		}
	}
}

// checkApplications holds that what was understood of a list is written and
// read back the same, and written again the same.
func checkApplications(t *testing.T, f wire.Format, body []byte) {
	a, err := wire.DecodeApplications(f, body)
	if err != nil {
		require.ErrorIs(t, err, eureka.ErrInvalid, "%v", err)
		return
	}
	e := wire.Encoding{Format: f}
	document := e.AppendApplications(nil, a)
	again, err := wire.DecodeApplications(f, document)
	require.NoError(t, err)
	require.Equal(t, a, again)
	assert.Equal(t, string(document), string(e.AppendApplications(nil, again)))
	for _, e := range allEncodings {
		assertWellFormed(t, e.Format, e.AppendApplications(nil, a))
	}
}

func FuzzDecodeRegistrationJSON(f *testing.F) {
	seed(f, wire.JSON, true)
	for _, c := range metadataIDs {
		f.Add(body(f, complete(object{"hostName": c.host, "instanceId": c.id}.withMetadataID(c.meta))))
	}
	for _, c := range damagedJSON {
		f.Add(replacing(f, c.member))
	}
	for _, member := range unicodeJSON {
		f.Add(replacing(f, member))
	}
	f.Add([]byte(inUTF16(string(body(f, complete(nil))), true)))
	f.Fuzz(func(t *testing.T, body []byte) { checkRegistration(t, wire.JSON, body) })
}

func FuzzDecodeRegistrationXML(f *testing.F) {
	seed(f, wire.XML, true)
	f.Add([]byte(xmlRegistration))
	for _, c := range encodedXML {
		f.Add([]byte(c.body))
	}
	for _, c := range misencodedXML {
		f.Add([]byte(c.body))
	}
	for _, c := range dataCentersXML {
		f.Add([]byte(dataCenterXML(c.class, c.name)))
	}
	for text := range statusesXML {
		f.Add([]byte(statusXML("status", text)))
		f.Add([]byte(statusXML("overriddenstatus", text)))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkRegistration(t, wire.XML, body) })
}

func FuzzDecodeApplicationsJSON(f *testing.F) {
	seed(f, wire.JSON, false)
	f.Fuzz(func(t *testing.T, body []byte) { checkApplications(t, wire.JSON, body) })
}

func FuzzDecodeApplicationsXML(f *testing.F) {
	seed(f, wire.XML, false)
	f.Fuzz(func(t *testing.T, body []byte) { checkApplications(t, wire.XML, body) })
}

// FuzzToUTF8: whatever charset a body is said to have, what comes of it is
// UTF-8, or the body is as it was, or it is refused.
func FuzzToUTF8(f *testing.F) {
	for _, c := range encodedXML {
		f.Add("application/xml; charset="+c.name, []byte(c.body))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		converted, err := wire.ToUTF8(contentType, body)
		if err != nil {
			require.ErrorIs(t, err, eureka.ErrInvalid)
			return
		}
		if !bytes.Equal(body, converted) {
			require.True(t, utf8.Valid(converted))
		}
	})
}

func FuzzDecodeReplication(f *testing.F) {
	seed(f, wire.JSON, true)
	for _, c := range damagedJSON {
		f.Add([]byte(`{"replicationList": [{"appName": "SHOP", "id": "shop-1", "instanceInfo": {` + c.member + `}}]}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		items, err := wire.DecodeReplication(body, wire.Limits{MaxMetadata: 100})
		if err != nil {
			require.ErrorIs(t, err, eureka.ErrInvalid)
			return
		}
		for n := range items {
			items[n].Err = nil
		}
		again, err := wire.DecodeReplication(wire.AppendReplication(nil, items), wire.Limits{MaxMetadata: 100})
		require.NoError(t, err)
		require.Equal(t, items, again)
	})
}
