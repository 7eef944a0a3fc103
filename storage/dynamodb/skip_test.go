package dynamodb_test

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/instancecodec"
)

// fatInstances is how many instances that are too large are stored beside one
// that is not.
const fatInstances = 300

// fatInstance is an instance of a megabyte that takes some KB as it is stored.
func fatInstance(n int) *eureka.InstanceInfo {
	i := *usualLease(n).Instance
	i.Metadata = map[string]string{"more": strings.Repeat("x", 1_000_000)}
	return &i
}

func binary(t *testing.T, i *eureka.InstanceInfo) types.AttributeValue {
	t.Helper()
	stored, err := instancecodec.Encode(i)
	require.NoError(t, err)
	require.Less(t, len(stored), 4<<10)
	return &types.AttributeValueMemberB{Value: stored}
}

// TestFatInstancesAreReportedAndLeftOut: instances that were stored before there
// was a limit are in nothing that a reader loads, nor do they stay in memory.
func TestFatInstancesAreReportedAndLeftOut(t *testing.T) {
	fat := binary(t, fatInstance(1))
	scan := func(in *awsdynamodb.ScanInput) (*awsdynamodb.ScanOutput, error) {
		if *in.Segment > 0 {
			return &awsdynamodb.ScanOutput{}, nil
		}
		out := &awsdynamodb.ScanOutput{}
		for n := range fatInstances + 1 {
			i := leaseItem(t, n)
			if n < fatInstances {
				i["info"] = fat
			}
			out.Items = append(out.Items, i)
		}
		return out, nil
	}
	query := func(*awsdynamodb.QueryInput) (*awsdynamodb.QueryOutput, error) {
		out := &awsdynamodb.QueryOutput{}
		for n := range fatInstances + 1 {
			i := item{"partition": text("p"), "position": text("1#A/a"), "instance": fat, "written": &types.AttributeValueMemberN{Value: "100001"}}
			if n == fatInstances {
				i["instance"] = leaseItem(t, 1)["info"]
			}
			out.Items = append(out.Items, i)
		}
		return out, nil
	}
	for name, c := range map[string]struct {
		logged string
		read   func(s *dynamodb.Store) (held any, n int, err error)
	}{
		"scan": {"lease skipped", func(s *dynamodb.Store) (any, int, error) {
			leases, err := s.Scan(t.Context())
			return leases, len(leases), err
		}},
		"deltas": {"delta row skipped", func(s *dynamodb.Store) (any, int, error) {
			rows, err := s.Deltas(t.Context(), time.UnixMilli(100_000), time.UnixMilli(100_002))
			return rows, len(rows), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			cfg := logTo(&logged)
			cfg.MaxInstance = 100 << 10
			before := heap()
			held, n, err := c.read(dynamodb.New(&reads{scan: scan, query: query}, cfg))
			require.NoError(t, err)
			assert.Equal(t, 1, n)
			assert.Less(t, heap()-before, 16<<20, "bytes that stay")
			runtime.KeepAlive(held)
			assert.Equal(t, 10, strings.Count(logged.String(), c.logged+`"`), "not a line for each")
			assert.Contains(t, logged.String(), "count=300")
			assert.Contains(t, logged.String(), "instance takes more than 102400 bytes")
		})
	}
}

// heap returns how many bytes are in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestFatEntriesOfASnapshotAreLeftOut: the same of a snapshot that an eviction
// pass published before there was the limit.
func TestFatEntriesOfASnapshotAreLeftOut(t *testing.T) {
	s := usualSnapshot(2 * fatInstances)
	for n := 0; n < len(s.Entries); n += 2 {
		s.Entries[n].Instance = fatInstance(n)
		s.Entries[n].Key = s.Entries[n].Instance.Key()
	}
	published := &puts{items: map[string]item{}}
	require.NoError(t, dynamodb.New(published, dynamodb.Config{}).PutSnapshot(t.Context(), s))
	s = nil

	var logged bytes.Buffer
	cfg := logTo(&logged)
	cfg.MaxInstance = 100 << 10
	before := heap()
	got, err := dynamodb.New(published, cfg).Snapshot(t.Context())
	require.NoError(t, err)
	require.Len(t, got.Entries, fatInstances)
	assert.Less(t, heap()-before, 16<<20, "bytes that stay")
	for _, e := range got.Entries {
		assert.Equal(t, e.Key, e.Instance.Key())
	}
	assert.Contains(t, logged.String(), "count=300")
}

// puts is a database that has what was put.
type puts struct {
	dynamodb.API
	mu    sync.Mutex
	items map[string]item
}

func putKey(in item) string { return partition(in["partition"]) + "/" + partition(in["position"]) }

func (p *puts) PutItem(_ context.Context, in *awsdynamodb.PutItemInput, _ ...func(*awsdynamodb.Options)) (*awsdynamodb.PutItemOutput, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items[putKey(in.Item)] = in.Item
	return &awsdynamodb.PutItemOutput{}, nil
}

func (p *puts) GetItem(_ context.Context, in *awsdynamodb.GetItemInput, _ ...func(*awsdynamodb.Options)) (*awsdynamodb.GetItemOutput, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &awsdynamodb.GetItemOutput{Item: p.items[putKey(in.Key)]}, nil
}
