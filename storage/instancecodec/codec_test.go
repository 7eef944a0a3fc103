package instancecodec_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/instancecodec"
)

var update = flag.Bool("update", false, "write the golden files that are missing; an existing one is never changed")

func encode(t testing.TB, i *eureka.InstanceInfo) []byte {
	t.Helper()
	stored, err := instancecodec.Encode(i)
	require.NoError(t, err)
	return stored
}

func TestAnInstanceSurvivesBeingStored(t *testing.T) {
	long := springCloud(3)
	long.Metadata["long"] = strings.Repeat("text that compresses well, ", 10_000)
	strange := springCloud(4)
	strange.Status, strange.DataCenter.Name, strange.InstanceID = "WEIRD", "\x00\xff", ""
	strange.Port.Number, strange.CountryID = -1, 1<<40
	for name, instance := range map[string]*eureka.InstanceInfo{
		"empty":       {},
		"SpringCloud": springCloud(17),
		"everything":  amazon(),
		"long":        long,
		"strange":     strange,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := instancecodec.Decode(encode(t, instance))
			require.NoError(t, err)
			assert.Equal(t, instance, got)
		})
	}
}

func TestAUsualRegistrationTakesLessThan150Bytes(t *testing.T) {
	for n := range 1000 {
		assert.Less(t, len(encode(t, springCloud(n*7919))), 150)
	}
}

func TestAnInstanceThatCompressesBadlyIsStoredPlain(t *testing.T) {
	instance := &eureka.InstanceInfo{ASGName: noise(5000)}

	stored := encode(t, instance)

	assert.Less(t, len(stored), 5100)
	got, err := instancecodec.Decode(stored)
	require.NoError(t, err)
	assert.Equal(t, instance, got)
}

func TestAnInstanceBeyondTheLimitIsRefused(t *testing.T) {
	_, err := instancecodec.Encode(&eureka.InstanceInfo{ASGName: strings.Repeat("x", instancecodec.MaxInstance)})

	assert.ErrorIs(t, err, eureka.ErrTooLarge)
}

func TestUnreadableBytesAreCorrupt(t *testing.T) {
	stored := encode(t, springCloud(17))
	changed := func(at int, to byte) []byte {
		out := append([]byte(nil), stored...)
		out[at] = to
		return out
	}
	for name, b := range map[string][]byte{
		"nothing":           nil,
		"one byte":          {instancecodec.Format},
		"only a header":     stored[:8],
		"unknown format":    changed(0, instancecodec.Format+1),
		"unknown method":    changed(1, 200),
		"a chunk":           mustChunks(t, fleet(1))[0].Stored,
		"wrong length":      changed(2, stored[2]+1),
		"wrong checksum":    changed(4, stored[4]+1),
		"cut short":         stored[:len(stored)-1],
		"followed by more":  append(append([]byte(nil), stored...), 0),
		"promises too much": append([]byte{instancecodec.Format, 1, 0xff, 0xff, 0xff, 0x01, 0, 0, 0, 0}, stored[8:]...),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := instancecodec.Decode(b)
			assert.ErrorIs(t, err, eureka.ErrCorrupt)
			assert.Nil(t, got)
		})
	}
}

// TestEveryFlippedBitIsNoticed: DEFLATE alone would decode most of them to
// another instance. (A bit of padding after the last code means nothing.)
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	stored := encode(t, amazon())
	for bit := range len(stored) * 8 {
		flipped := append([]byte(nil), stored...)
		flipped[bit/8] ^= 1 << (bit % 8)
		got, err := instancecodec.Decode(flipped)
		if err == nil {
			require.Equal(t, amazon(), got, "bit %d", bit)
			continue
		}
		require.ErrorIs(t, err, eureka.ErrCorrupt, "bit %d", bit)
	}
}

// golden are the files that every later version must read.
var golden = map[string]*eureka.InstanceInfo{
	"format-1-spring-cloud.bin": springCloud(17),
	"format-1-everything.bin":   amazon(),
}

const goldenChunk = "format-1-chunk.bin"

func TestStoredInstancesStayReadable(t *testing.T) {
	for name, want := range golden {
		t.Run(name, func(t *testing.T) {
			stored := readGolden(t, name, encode(t, want))
			got, err := instancecodec.Decode(stored)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestStoredChunksStayReadable(t *testing.T) {
	want := append(fleet(20), delta.Entry{Key: eureka.Key{App: "GONE", ID: "gone-1"}, Version: 1_700_000_000_017})

	got, err := instancecodec.DecodeChunk(readGolden(t, goldenChunk, mustChunks(t, want)[0].Stored))

	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func readGolden(t *testing.T, name string, now []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", name)
	stored, err := os.ReadFile(path)
	if os.IsNotExist(err) && *update {
		require.NoError(t, os.WriteFile(path, now, 0o600))
		stored, err = now, nil
	}
	require.NoError(t, err)
	return stored
}
