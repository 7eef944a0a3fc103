package instancecodec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/instancecodec"
)

const limit = 380_000

func mustChunks(t testing.TB, entries []delta.Entry) []instancecodec.Chunk {
	t.Helper()
	chunks, err := instancecodec.EncodeChunks(entries, limit)
	require.NoError(t, err)
	return chunks
}

func decodeAll(t testing.TB, chunks []instancecodec.Chunk) []delta.Entry {
	t.Helper()
	var out []delta.Entry
	for _, c := range chunks {
		require.LessOrEqual(t, len(c.Stored), limit)
		entries, err := instancecodec.DecodeChunk(c.Stored)
		require.NoError(t, err)
		require.Len(t, entries, c.Entries)
		out = append(out, entries...)
	}
	return out
}

func TestAFleetSurvivesBeingStoredInChunks(t *testing.T) {
	want := fleet(10_000)
	want[4711].Key = eureka.Key{App: "OTHER", ID: "than the instance says"}
	want[4712].Instance = nil // a tombstone

	chunks := mustChunks(t, want)

	assert.Greater(t, len(chunks), 1)
	assert.Equal(t, want, decodeAll(t, chunks))
}

func TestChunksOfAnythingStayBelowTheLimit(t *testing.T) {
	want := fleet(40)
	for i := range want {
		want[i].Instance.ASGName = noise(90_000)
	}

	assert.Equal(t, want, decodeAll(t, mustChunks(t, want)))
}

func TestNoEntriesMakeNoChunks(t *testing.T) {
	assert.Empty(t, mustChunks(t, nil))
}

func TestAnEntryBeyondTheLimitIsRefused(t *testing.T) {
	entries := fleet(3)
	entries[1].Instance.ASGName = noise(limit + 1)

	_, err := instancecodec.EncodeChunks(entries, limit)

	require.ErrorIs(t, err, eureka.ErrTooLarge)
	assert.ErrorContains(t, err, entries[1].Key.ID)
}

func TestUnreadableChunksAreCorrupt(t *testing.T) {
	stored := mustChunks(t, fleet(100))[0].Stored
	for name, b := range map[string][]byte{
		"nothing":        nil,
		"cut short":      stored[:len(stored)/2],
		"unknown format": append([]byte{9}, stored[1:]...),
		"an instance":    encode(t, springCloud(1)),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := instancecodec.DecodeChunk(b)
			assert.ErrorIs(t, err, eureka.ErrCorrupt)
			assert.Nil(t, got)
		})
	}
}

func TestAFleetTakesLessThan80BytesAnInstance(t *testing.T) {
	size := 0
	for _, c := range mustChunks(t, fleet(20_000)) {
		size += len(c.Stored)
	}
	assert.Less(t, size/20_000, 80)
}

func TestTextsThatCompressBeyondBelief(t *testing.T) {
	want := fleet(4)
	for i := range want {
		want[i].Instance.ASGName = strings.Repeat("x", instancecodec.MaxInstance/2)
	}

	assert.Equal(t, want, decodeAll(t, mustChunks(t, want)))
}
