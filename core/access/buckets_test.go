package access

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var opened = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func TestABucketForEachName(t *testing.T) {
	b := NewBuckets(Limits{PerSecond: 2, Burst: 3, MaxNames: 10})
	for range 3 {
		_, ok := b.Take("a", opened)
		assert.True(t, ok)
	}
	after, ok := b.Take("a", opened)
	assert.False(t, ok)
	assert.Equal(t, time.Second/2, after)
	_, ok = b.Take("b", opened)
	assert.True(t, ok, "another name has a bucket of its own")

	_, ok = b.Take("a", opened.Add(after))
	assert.True(t, ok, "after the time that was told")
	_, ok = b.Take("a", opened.Add(after))
	assert.False(t, ok)
}

// TestNamesAreBounded: names beyond the bound share a bucket, and those that
// were quiet for a while make room.
func TestNamesAreBounded(t *testing.T) {
	b := NewBuckets(Limits{PerSecond: 1, Burst: 1, MaxNames: 100})
	let := 0
	for i := range 10_000 {
		if _, ok := b.Take(fmt.Sprint("name-", i), opened); ok {
			let++
		}
	}
	assert.Equal(t, 101, let, "a hundred names, and one token for all others")
	assert.Len(t, b.buckets, 100)

	later := opened.Add(time.Second)
	_, ok := b.Take("name-5000", later)
	require.True(t, ok)
	assert.Len(t, b.buckets, 1, "full buckets are as good as none")
}

// TestSweepsAreRare: a flood of names does not walk over all buckets each time.
func TestSweepsAreRare(t *testing.T) {
	b := NewBuckets(Limits{PerSecond: 1, Burst: 10, MaxNames: 1})
	b.Take("a", opened)
	b.Take("b", opened)
	assert.Equal(t, opened, b.swept)
	b.Take("c", opened.Add(9*time.Second))
	assert.Equal(t, opened, b.swept)
	b.Take("c", opened.Add(10*time.Second))
	assert.Equal(t, opened.Add(10*time.Second), b.swept)
	assert.Contains(t, b.buckets, "c")
}

func BenchmarkTake(b *testing.B) {
	buckets := NewBuckets(Limits{PerSecond: 1e9, Burst: 1e9, MaxNames: 10_000})
	b.ReportAllocs()
	for b.Loop() {
		buckets.Take("DefaultClient", opened)
	}
}
