package memory

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// TestRowsOfLargeInstancesTakeLittle: rows are kept for an hour, and who may
// register can make very many.
func TestRowsOfLargeInstancesTakeLittle(t *testing.T) {
	const rows = 1000
	for name, metadata := range map[string]func(n int) map[string]string{
		"of a long value": func(int) map[string]string { return map[string]string{"more": strings.Repeat("x", 90_000)} },
		"of many entries": func(n int) map[string]string {
			m := map[string]string{}
			for i := range 200 {
				m[fmt.Sprint(n, " ", i)] = ""
			}
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{})
			written := time.UnixMilli(1_700_000_000_000)
			row := func(n int) delta.Row {
				i := &eureka.InstanceInfo{App: "SHOP", InstanceID: "shop", HostName: "h", Status: eureka.Up, Metadata: metadata(n)}
				return delta.Row{Key: i.Key(), Version: int64(n + 1), Sequence: fmt.Sprint(n + 1), Written: written, Instance: i}
			}
			before := inUse()
			for n := range rows {
				require.NoError(t, s.Put(t.Context(), []delta.Row{row(n)}))
			}
			assert.Less(t, inUse()-before, rows*3000)
			got, err := s.Deltas(t.Context(), written.Add(-time.Second), written)
			require.NoError(t, err)
			require.Len(t, got, rows)
			for _, r := range got[:100] {
				assert.Equal(t, row(int(r.Version-1)).Instance, r.Instance)
			}
		})
	}
}

func inUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
