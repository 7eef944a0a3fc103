package wire_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

func listOf(instances string) []byte {
	return []byte(`{"applications":{"application":[{"name":"A","instance":[` + instances + `]}]}}`)
}

// TestListDecoderKeepsItsBudget whatever a list is made of: it fails, and has
// made little of it by then.
func TestListDecoderKeepsItsBudget(t *testing.T) {
	const limit = 1 << 20
	numbered := func(n int, format string) string {
		var b strings.Builder
		for k := range n {
			fmt.Fprintf(&b, format, k)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	cases := map[string][]byte{
		"instances":    listOf(numbered(100_000, `{"hostName":"%d"},`)),
		"metadata":     listOf(`{"hostName":"a","metadata":{` + numbered(100_000, `"%d":"",`) + `}}`),
		"data centre":  listOf(`{"hostName":"a","dataCenterInfo":{"name":"Amazon","metadata":{` + numbered(100_000, `"%d":"",`) + `}}}`),
		"no name":      listOf(numbered(20_000, `{"metadata":{"%d":""}},`)),
		"VIPs":         listOf(`{"hostName":"a","vipAddress":"` + numbered(100_000, "%d,") + `"}`),
		"secure VIPs":  listOf(`{"hostName":"a","secureVipAddress":"` + numbered(100_000, "%d,") + `"}`),
		"keys in XML":  listOf(`{"hostName":"a","metadata":{"` + strings.Repeat(" ", 100_000) + `":""}}`),
		"values":       listOf(`{"hostName":"a","metadata":{"a":"` + strings.Repeat("&", 200_000) + `"}}`),
		"applications": []byte(`{"applications":{"application":[` + numbered(100_000, `{"name":"%d","instance":{"hostName":"a"}},`) + `]}}`),
	}
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			var err error
			used := allocated(func() { _, err = wire.ListDecoder{MaxBytes: limit}.Applications(t.Context(), body) })
			require.ErrorIs(t, err, eureka.ErrTooLarge)
			assert.Less(t, used, 8*limit)
			_, err = wire.ListDecoder{}.Applications(t.Context(), body)
			require.NoError(t, err, "without a limit")
		})
	}
	decoder := wire.ListDecoder{MaxBytes: limit}
	for name, c := range map[string]struct {
		body   string
		decode func(body []byte) error
	}{
		"application": {`{"application":{"name":"A","instance":[` + numbered(100_000, `{"hostName":"%d"},`) + `]}}`, func(body []byte) error {
			_, err := decoder.Application(t.Context(), body)
			return err
		}},
		"instance": {`{"instance":{"hostName":"a","app":"A","metadata":{` + numbered(100_000, `"%d":"",`) + `}}}`, func(body []byte) error {
			_, err := decoder.Instance(t.Context(), body)
			return err
		}},
		"results": {`{"responseList":[` + numbered(100_000, `{"statusCode":%d},`) + `]}`, func(body []byte) error {
			_, err := decoder.ReplicationResults(t.Context(), body, 100)
			return err
		}},
		"instances in results": {`{"responseList":[` + numbered(100_000, `{"responseEntity":{"hostName":"%d"}},`) + `]}`, func(body []byte) error {
			_, err := decoder.ReplicationResults(t.Context(), body, 1_000_000)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(c.body)
			var err error
			assert.Less(t, allocated(func() { err = c.decode(body) }), 8*limit)
			require.ErrorIs(t, err, eureka.ErrTooLarge)
		})
	}
}

// TestListDecoderLeavesOutTheNameless, which cost nothing.
func TestListDecoderLeavesOutTheNameless(t *testing.T) {
	body := listOf(strings.Repeat(`{},{"app":"B","ipAddr":"192.0.2.1"},`, 100_000) + `{"hostName":"a"}`)
	var all *eureka.Applications
	used := allocated(func() {
		var err error
		all, err = wire.ListDecoder{MaxBytes: 1 << 20}.Applications(t.Context(), body)
		require.NoError(t, err)
	})
	require.Len(t, all.Applications, 1)
	assert.Len(t, all.Applications[0].Instances, 1)
	assert.Less(t, used, 20<<20)
}

// TestListDecoderEndsWithItsContext in the middle of a list.
func TestListDecoderEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := wire.ListDecoder{MaxBytes: 1 << 30}.Applications(ctx, listOf(strings.Repeat(`{"hostName":"a"},`, 10_000)+"{}"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = wire.ListDecoder{MaxBytes: 1 << 30}.Applications(ctx, listOf(strings.Repeat("{},", 10_000)+"{}"))
	require.ErrorIs(t, err, context.Canceled)
}
