package wire_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/wire"
)

func encodingName(e wire.Encoding) string {
	if e.Compact {
		return e.Format.String() + "-compact"
	}
	return e.Format.String()
}

func BenchmarkEncode(b *testing.B) {
	for _, e := range allEncodings {
		for _, n := range []int{1, 1000} {
			b.Run(fmt.Sprintf("%s/%d", encodingName(e), n), func(b *testing.B) {
				a := fleet(n)
				buffer := e.AppendApplications(nil, a)
				b.SetBytes(int64(len(buffer)))
				b.ReportAllocs()
				for b.Loop() {
					buffer = e.AppendApplications(buffer[:0], a)
				}
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, e := range allEncodings {
		for _, n := range []int{1, 1000} {
			b.Run(fmt.Sprintf("%s/%d", encodingName(e), n), func(b *testing.B) {
				body := e.AppendApplications(nil, fleet(n))
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					_, err := wire.DecodeApplications(e.Format, body)
					require.NoError(b, err)
				}
			})
		}
	}
}

func BenchmarkDecodeRegistration(b *testing.B) {
	for _, f := range []wire.Format{wire.JSON, wire.XML} {
		b.Run(f.String(), func(b *testing.B) {
			body := wire.AppendRegistration(nil, f, fleet(1).Applications[0].Instances[0])
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				_, err := wire.DecodeRegistration(f, body, wire.Limits{MaxMetadata: 1000})
				require.NoError(b, err)
			}
		})
	}
}
