package dynamodb_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
)

// sizeOf is the size of an item as DynamoDB counts it: names and values, a
// number as half its significant digits and one.
func sizeOf(t *testing.T, in item) int {
	t.Helper()
	size := 0
	for name, value := range in {
		size += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberB:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += (len(strings.TrimRight(v.Value, "0"))+1)/2 + 1
		default:
			t.Fatalf("attribute %q is a %T", name, value)
		}
	}
	return size
}

// getItem reads a lease's item as it is stored.
func getItem(t *testing.T, client *awsdynamodb.Client, table string, key eureka.Key) item {
	t.Helper()
	out, err := client.GetItem(t.Context(), &awsdynamodb.GetItemInput{TableName: &table, Key: leaseKey(key), ConsistentRead: aws.Bool(true)})
	require.NoError(t, err)
	return out.Item
}

func TestAUsualRegistrationIsAnItemOfAtMost1KB(t *testing.T) {
	e := enginetest.Kumo(t)
	client, cfg := e.Client(t), e.Tables(t)
	s := dynamodb.New(client, cfg)
	largest := 0
	for n := range 200 {
		l := usualLease(n * 7919)
		l.Overridden, l.Status = eureka.OutOfService, eureka.OutOfService
		require.NoError(t, s.Register(t.Context(), registry.Registration{Lease: l}))
		largest = max(largest, sizeOf(t, getItem(t, client, cfg.LeaseTable, l.Key)))
	}
	t.Logf("the largest of 200 usual leases is %d bytes", largest)
	assert.LessOrEqual(t, largest, 1024)
}

func attributes(in item) []string {
	var names []string
	for n := range in {
		names = append(names, n)
	}
	return names
}

// TestAttributes holds the attribute list of the design, state by state, and
// that readers' changes are marked and renewals are not.
func TestAttributes(t *testing.T) {
	live := []string{
		"app", "id", "info", "version", "status", "action", "dirty", "updated", "registered", "renewed", "up", "interval", "duration", "ttl",
	}
	with := func(more ...string) []string { return append(more, live...) }
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		client, cfg := e.Client(t), e.Tables(t)
		s := dynamodb.New(client, cfg)
		l := usualLease(1)
		stored := func() item { return getItem(t, client, cfg.LeaseTable, l.Key) }

		require.NoError(t, s.Register(t.Context(), registry.Registration{Lease: l}))
		assert.ElementsMatch(t, with("change"), attributes(stored()), "registered")

		require.NoError(t, errorOf(s.Renew(t.Context(), registry.Renewal{Key: l.Key, Now: began})))
		assert.ElementsMatch(t, live, attributes(stored()), "renewed")

		version := number(t, stored(), "version")
		require.NoError(t, s.Update(t.Context(), registry.Update{
			Key: l.Key, IfVersion: version, Status: eureka.OutOfService, Overridden: eureka.OutOfService,
			Action: eureka.Modified, Dirty: l.Dirty, Updated: began, ServiceUp: began,
		}))
		assert.ElementsMatch(t, with("change", "overridden"), attributes(stored()), "overridden")

		require.NoError(t, s.Evict(t.Context(), l.Key, began, began))
		assert.ElementsMatch(t, []string{"app", "id", "version", "overridden", "change", "gone", "ttl"}, attributes(stored()), "evicted")

		l.Overridden, l.ServiceUp = eureka.OutOfService, l.ServiceUp.AddDate(-3000, 0, 0)
		require.NoError(t, s.Register(t.Context(), registry.Registration{Lease: l, Stored: eureka.OutOfService}))
		require.NoError(t, s.Cancel(t.Context(), l.Key, began))
		assert.ElementsMatch(t, []string{"app", "id", "version", "change", "gone", "ttl"}, attributes(stored()), "cancelled")
	})
}

func number(t *testing.T, in item, name string) int64 {
	t.Helper()
	v, ok := in[name].(*types.AttributeValueMemberN)
	require.True(t, ok, "%s is no number", name)
	n, err := parseInt(v.Value)
	require.NoError(t, err)
	return n
}

// TestH25TTLIsWholeSecondsPastTheEnd: milliseconds would lie tens of thousands
// of years ahead.
func TestH25TTLIsWholeSecondsPastTheEnd(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		client, cfg := e.Client(t), e.Tables(t)
		s := dynamodb.New(client, cfg)
		l := usualLease(1)
		end := l.End().Unix()
		require.NoError(t, s.Register(t.Context(), registry.Registration{Lease: l}))
		assert.EqualValues(t, end+1+24*3600, number(t, getItem(t, client, cfg.LeaseTable, l.Key), "ttl"))

		require.NoError(t, errorOf(s.Renew(t.Context(), registry.Renewal{Key: l.Key, Now: began.Truncate(1e9)})))
		assert.EqualValues(t, end+24*3600, number(t, getItem(t, client, cfg.LeaseTable, l.Key), "ttl"))
	})
}

// TestUnknownAttributesSurviveARenewal: those of a later version, and those of
// somebody's hand.
func TestUnknownAttributesSurviveARenewal(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		client, cfg := e.Client(t), e.Tables(t)
		s := dynamodb.New(client, cfg)
		l := usualLease(1)
		require.NoError(t, s.Register(t.Context(), registry.Registration{Lease: l}))
		_, err := client.UpdateItem(t.Context(), &awsdynamodb.UpdateItemInput{
			TableName: &cfg.LeaseTable, Key: leaseKey(l.Key),
			UpdateExpression:          aws.String("SET later = :v"),
			ExpressionAttributeValues: item{":v": text("kept")},
		})
		require.NoError(t, err)

		require.NoError(t, errorOf(s.Renew(t.Context(), registry.Renewal{Key: l.Key, Now: began})))

		assert.Equal(t, text("kept"), getItem(t, client, cfg.LeaseTable, l.Key)["later"])
		_, err = s.Get(t.Context(), l.Key)
		assert.NoError(t, err)
	})
}

// TestAnInstanceThatIsTooLargeIsRefused before it is sent, in words for its
// developer.
func TestAnInstanceThatIsTooLargeIsRefused(t *testing.T) {
	a := &answers{steps: []transport{status(500)}}
	s := dynamodb.New(clientOn(t, a), dynamodb.Config{})
	l := usualLease(1)
	l.Instance.Metadata = map[string]string{"text": incompressible(500_000)}

	err := s.Register(t.Context(), registry.Registration{Lease: l})
	require.ErrorIs(t, err, eureka.ErrTooLarge)
	err = s.Update(t.Context(), registry.Update{Key: l.Key, Instance: l.Instance})
	require.ErrorIs(t, err, eureka.ErrTooLarge)
	assert.Zero(t, a.count.Load())
}

// TestTheLargestInstanceFitsEverywhere: into the lease, its delta row and the
// snapshot.
func TestTheLargestInstanceFitsEverywhere(t *testing.T) {
	s := enginetest.Dynoxide(t).Store(t)
	l := usualLease(1)
	l.Key.ID = strings.Repeat("x", 1024)
	l.Instance.InstanceID = l.Key.ID
	for size := 480_000; ; size -= 500 {
		l.Instance.Metadata = map[string]string{"text": incompressible(size)}
		err := s.Register(t.Context(), registry.Registration{Lease: l})
		if err == nil {
			break
		}
		require.ErrorIs(t, err, eureka.ErrTooLarge)
		require.Greater(t, size, 390_000)
	}
	t.Logf("%d bytes are taken", len(l.Instance.Metadata["text"]))
	entry := largeEntry(l)
	require.NoError(t, s.Put(t.Context(), []row{{Key: l.Key, Version: 1, Instance: entry.Instance, Sequence: strings.Repeat("9", 40), Written: began}}))
	require.NoError(t, s.PutSnapshot(t.Context(), &snapshot{Began: began, Entries: []snapshotEntry{entry, entry}}))
}
