package dynamodb_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

var update = flag.Bool("update", false, "write the golden items if there are none; existing ones are never changed")

// goldenFolder has an item of each kind as the first version wrote it. Every
// later version must read them: an upgrade meets such items.
const goldenFolder = "testdata/format-1"

var (
	goldenTombstone  = eureka.Lease{Key: usualLease(2).Key, Overridden: eureka.OutOfService, Gone: began}
	goldenRow        = row{Key: usualLease(1).Key, Version: 7, Instance: ptr(usualLease(1)).Effective(), Sequence: "4421584500000000017450439091", Written: began}
	goldenStatistics = delta.Statistics{
		Pass: began.UTC(), Leases: 20, Expected: 19, Seen: 18, Threshold: 17, SelfPreservation: true, Enabled: true, Evicted: 1, HashCode: "UP_20_",
	}
	goldenRecent = delta.Recent{
		Registered: []delta.Event{{Time: began.UTC(), Key: usualLease(1).Key}},
		Cancelled:  []delta.Event{{Time: began.UTC(), Key: usualLease(2).Key}},
	}
)

func ptr[T any](v T) *T { return &v }

// onGolden returns a store whose every read finds a golden item.
func onGolden(t *testing.T, name string) *dynamodb.Store {
	t.Helper()
	image, err := os.ReadFile(filepath.Join(goldenFolder, name+".json"))
	require.NoError(t, err)
	return dynamodb.New(clientOn(t, transport(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "GetItem") {
			return answer(200, `{"Item":`+string(image)+`}`), nil
		}
		return answer(200, `{"Items":[`+string(image)+`]}`), nil
	})), dynamodb.Config{ScanSegments: 1})
}

func TestStoredItemsStayReadable(t *testing.T) {
	if *update {
		writeGolden(t)
	}
	ctx := t.Context()

	l, err := onGolden(t, "lease").Get(ctx, usualLease(1).Key)
	require.NoError(t, err)
	want := usualLease(1)
	want.Version = began.UnixMilli() + 1
	assert.Equal(t, inJSON(want), inJSON(l))

	l, err = onGolden(t, "tombstone").Get(ctx, goldenTombstone.Key)
	require.NoError(t, err)
	want = goldenTombstone
	want.Version = began.UnixMilli() + 2
	assert.Equal(t, inJSON(want), inJSON(l))

	rows, err := onGolden(t, "row").Deltas(ctx, began.Add(-time.Millisecond), began)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	assert.Equal(t, inJSON(goldenRow), inJSON(rows[0]))

	s, err := onGolden(t, "snapshot").Snapshot(ctx)
	require.NoError(t, err)
	assert.Equal(t, inJSON(usualSnapshot(20)), inJSON(s))

	statistics, err := onGolden(t, "statistics").Statistics(ctx)
	require.NoError(t, err)
	assert.Equal(t, goldenStatistics, statistics)

	recent, err := onGolden(t, "recent").Recent(ctx)
	require.NoError(t, err)
	assert.Equal(t, goldenRecent, recent)
}

// inJSON is a value's text: equal times are the same in it.
func inJSON(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// writeGolden writes what the store of now stores.
func writeGolden(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(goldenFolder); err == nil {
		return
	}
	require.NoError(t, os.MkdirAll(goldenFolder, 0o755))
	e := enginetest.Kumo(t)
	client, cfg := e.Client(t), e.Tables(t)
	s := dynamodb.New(client, cfg)
	overridden := usualLease(2)
	overridden.Overridden = eureka.OutOfService
	for _, err := range []error{
		s.Register(t.Context(), registry.Registration{Lease: usualLease(1)}),
		s.Register(t.Context(), registry.Registration{Lease: overridden}),
		s.Evict(t.Context(), overridden.Key, began, began),
		s.Put(t.Context(), []row{goldenRow}),
		s.PutSnapshot(t.Context(), usualSnapshot(20)),
		s.PutStatistics(t.Context(), goldenStatistics),
		s.PutRecent(t.Context(), goldenRecent),
	} {
		require.NoError(t, err)
	}
	for _, table := range []string{cfg.LeaseTable, cfg.DeltaTable} {
		out, err := client.Scan(t.Context(), &awsdynamodb.ScanInput{TableName: &table})
		require.NoError(t, err)
		for _, in := range out.Items {
			var b bytes.Buffer
			require.NoError(t, json.Indent(&b, []byte(imageOf(t, in)), "", "\t"))
			b.WriteByte('\n')
			require.NoError(t, os.WriteFile(filepath.Join(goldenFolder, kindOf(t, in)+".json"), b.Bytes(), 0o644))
		}
	}
}

func kindOf(t *testing.T, in item) string {
	t.Helper()
	switch {
	case in[dynamodb.AttrGone] != nil:
		return "tombstone"
	case in[dynamodb.AttrInfo] != nil:
		return "lease"
	case in[dynamodb.AttrInstance] != nil:
		return "row"
	}
	name, ok := in[dynamodb.AttrPartition].(*types.AttributeValueMemberS)
	require.True(t, ok)
	return name.Value
}
