package instancecodec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/instancecodec"
)

func FuzzDecode(f *testing.F) {
	for _, i := range golden {
		f.Add(encode(f, i))
	}
	f.Add(encode(f, &eureka.InstanceInfo{ASGName: noise(300)})) // stored plain
	f.Fuzz(func(t *testing.T, stored []byte) {
		first, err := instancecodec.Decode(stored)
		if err != nil {
			require.ErrorIs(t, err, eureka.ErrCorrupt)
			return
		}
		again, err := instancecodec.Decode(encode(t, first))
		require.NoError(t, err)
		require.Equal(t, encode(t, first), encode(t, again))
	})
}

func FuzzDecodeChunk(f *testing.F) {
	f.Add(mustChunks(f, fleet(3))[0].Stored)
	f.Fuzz(func(t *testing.T, stored []byte) {
		first, err := instancecodec.DecodeChunk(stored)
		if err != nil {
			require.ErrorIs(t, err, eureka.ErrCorrupt)
			return
		}
		require.Equal(t, len(first), len(decodeAll(t, mustChunks(t, first))))
	})
}
