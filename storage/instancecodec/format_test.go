package instancecodec

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

func TestDictionaryIsFrozen(t *testing.T) {
	sum := sha256.Sum256(dictionary)
	assert.Equal(t, "1f3e09eb7c5599226c9efa9481fa816120475ed79692ee065612f0ff53b0204b", hex.EncodeToString(sum[:]),
		"items that were stored with another dictionary cannot be read any more")
}

func TestFieldsOfALaterVersionAreSkipped(t *testing.T) {
	want := &eureka.InstanceInfo{App: "SHOP", HostName: "shop-1.example.org", Metadata: map[string]string{"zone": "a"}}
	later := appendText(appendRecord(nil, want), "a field that this version does not know")

	got, err := Decode(seal(later, methodDictionary))

	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestFieldsOfALaterVersionAreSkippedInChunks(t *testing.T) {
	want := []delta.Entry{
		{Key: eureka.Key{App: "SHOP", ID: "shop-1"}, Version: 7, Instance: &eureka.InstanceInfo{App: "SHOP", InstanceID: "shop-1"}},
		{Key: eureka.Key{App: "SHOP", ID: "shop-2"}, Version: 8},
	}
	var body []byte
	for i := range want {
		entry := appendText(appendEntry(nil, &want[i]), "later")
		body = appendText(body, string(entry))
	}

	got, err := DecodeChunk(seal(body, methodDeflate))

	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// TestGarbledRecordsAreCorrupt: records that pass the checksum and are wrong
// all the same, as another writer's fault would make them.
func TestGarbledRecordsAreCorrupt(t *testing.T) {
	record := appendRecord(nil, &eureka.InstanceInfo{App: "SHOP", Status: eureka.Up, Metadata: map[string]string{"zone": "a"}})
	for n := range record {
		_, err := Decode(seal(record[:n], methodDictionary))
		assert.ErrorIs(t, err, eureka.ErrCorrupt, "cut to %d bytes", n)
	}
	for name, body := range map[string]string{
		"more entries than bytes": "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x0f",
		"an unknown word":         "\x00\x00\x00\x00\x00\x00\x50",
		"a number without end":    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"more than 64 bits":       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(seal([]byte(body), methodDictionary))
			assert.ErrorIs(t, err, eureka.ErrCorrupt)
		})
	}
}
