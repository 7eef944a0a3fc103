package instancecodec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// FuzzRecord and FuzzEntries give what is stored the right checksum, which
// keeps FuzzDecode and FuzzDecodeChunk from nearly all that lies behind it.
func FuzzRecord(f *testing.F) {
	f.Add(appendRecord(nil, &eureka.InstanceInfo{}))
	f.Add(appendRecord(nil, &eureka.InstanceInfo{
		App: "SHOP", InstanceID: "shop-1", Status: eureka.Up, Metadata: map[string]string{"zone": "a"},
		DataCenter: eureka.DataCenterInfo{Name: eureka.DataCenterMyOwn, Metadata: map[string]string{"ami-id": "1"}},
	}))
	f.Fuzz(func(t *testing.T, record []byte) {
		first, err := Decode(seal(record, methodDictionary))
		if err != nil {
			require.ErrorIs(t, err, eureka.ErrCorrupt)
			return
		}
		again, err := Decode(seal(appendRecord(nil, first), methodDictionary))
		require.NoError(t, err)
		require.Equal(t, first, again)
	})
}

func FuzzEntries(f *testing.F) {
	info := &eureka.InstanceInfo{App: "SHOP", InstanceID: "shop-1"}
	for _, entries := range [][]delta.Entry{
		{{Key: info.Key(), Version: 7, Instance: info}},
		{{Key: eureka.Key{App: "OTHER", ID: "x"}, Version: 7, Instance: info}, {Key: info.Key(), Version: 8}},
	} {
		body, _ := appendEntries(nil, entries, maxChunk)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := DecodeChunk(seal(body, methodDeflate))
		if err != nil {
			require.ErrorIs(t, err, eureka.ErrCorrupt)
			return
		}
		body, _ = appendEntries(nil, first, maxChunk)
		again, err := DecodeChunk(seal(body, methodDeflate))
		require.NoError(t, err)
		require.Equal(t, first, again)
	})
}
