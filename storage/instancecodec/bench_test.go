package instancecodec_test

import (
	"fmt"
	"testing"

	"github.com/eurekaless/registry/storage/instancecodec"
)

func BenchmarkInstance(b *testing.B) {
	instance := springCloud(17)
	stored := encode(b, instance)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := instancecodec.Encode(instance); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(stored)), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := instancecodec.Decode(stored); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkChunk(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		entries := fleet(n)
		chunks := mustChunks(b, entries)
		size := 0
		for _, c := range chunks {
			size += len(c.Stored)
		}
		b.Run(fmt.Sprintf("encode/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustChunks(b, entries)
			}
			b.ReportMetric(float64(size)/float64(n), "bytes/instance")
		})
		b.Run(fmt.Sprintf("decode/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range chunks {
					if _, err := instancecodec.DecodeChunk(c.Stored); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
