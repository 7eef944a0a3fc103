package dynamodb_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/instancecodec"
)

// reads is a database that answers reads as it is told, and notes them.
type reads struct {
	dynamodb.API
	scan  func(in *awsdynamodb.ScanInput) (*awsdynamodb.ScanOutput, error)
	query func(in *awsdynamodb.QueryInput) (*awsdynamodb.QueryOutput, error)
	get   func(in *awsdynamodb.GetItemInput) item

	mu    sync.Mutex
	asked []string
}

func (r *reads) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, s)
}

func (r *reads) Scan(_ context.Context, in *awsdynamodb.ScanInput, _ ...func(*awsdynamodb.Options)) (*awsdynamodb.ScanOutput, error) {
	return r.scan(in)
}

func (r *reads) Query(_ context.Context, in *awsdynamodb.QueryInput, _ ...func(*awsdynamodb.Options)) (*awsdynamodb.QueryOutput, error) {
	r.note(partition(in.ExpressionAttributeValues[":partition"]) + consistency(in.ConsistentRead))
	return r.query(in)
}

func (r *reads) GetItem(_ context.Context, in *awsdynamodb.GetItemInput, _ ...func(*awsdynamodb.Options)) (*awsdynamodb.GetItemOutput, error) {
	r.note(partition(in.Key[dynamodb.AttrPartition]) + consistency(in.ConsistentRead))
	return &awsdynamodb.GetItemOutput{Item: r.get(in)}, nil
}

func partition(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }

func consistency(consistent *bool) string {
	if aws.ToBool(consistent) {
		return " consistently"
	}
	return ""
}

func leaseItem(t *testing.T, n int) item {
	t.Helper()
	info, err := instancecodec.Encode(usualLease(n).Instance)
	require.NoError(t, err)
	return item{
		"app": text("SHOP"), "id": text("shop-" + strconv.Itoa(n)), "version": &types.AttributeValueMemberN{Value: "7"},
		"status": text("UP"), "info": &types.AttributeValueMemberB{Value: info},
	}
}

// logTo returns a configuration that logs into a buffer.
func logTo(b *bytes.Buffer) dynamodb.Config {
	return dynamodb.Config{Logger: slog.New(slog.NewTextHandler(b, nil)), ScanSegments: 3}
}

func TestAScanReadsEveryPageOfEverySegment(t *testing.T) {
	const pages = 4
	r := &reads{scan: func(in *awsdynamodb.ScanInput) (*awsdynamodb.ScanOutput, error) {
		assert.True(t, *in.ConsistentRead)
		assert.EqualValues(t, 3, *in.TotalSegments)
		page := 0
		if in.ExclusiveStartKey != nil {
			page = int(number(t, in.ExclusiveStartKey, "page"))
		}
		out := &awsdynamodb.ScanOutput{Items: []item{leaseItem(t, int(*in.Segment)*100+page)}}
		if page+1 < pages {
			out.LastEvaluatedKey = item{"page": &types.AttributeValueMemberN{Value: strconv.Itoa(page + 1)}}
		}
		if page == 1 {
			out.Items = nil // an empty page is not the last one
		}
		return out, nil
	}}

	leases, err := dynamodb.New(r, dynamodb.Config{ScanSegments: 3}).Scan(t.Context())

	require.NoError(t, err)
	found := map[string]bool{}
	for _, l := range leases {
		found[l.Key.ID] = true
	}
	assert.Len(t, found, 9)
}

func TestAScanIsAllOrNothing(t *testing.T) {
	r := &reads{scan: func(in *awsdynamodb.ScanInput) (*awsdynamodb.ScanOutput, error) {
		if *in.Segment == 1 {
			return nil, errors.New("connection lost")
		}
		return &awsdynamodb.ScanOutput{Items: []item{leaseItem(t, 1)}}, nil
	}}

	leases, err := dynamodb.New(r, dynamodb.Config{ScanSegments: 3}).Scan(t.Context())

	require.ErrorIs(t, err, eureka.ErrUnavailable)
	assert.Nil(t, leases)
}

func TestCorruptLeasesAreReportedAndLeftOut(t *testing.T) {
	r := &reads{scan: func(in *awsdynamodb.ScanInput) (*awsdynamodb.ScanOutput, error) {
		out := &awsdynamodb.ScanOutput{}
		for n := range 10 {
			i := leaseItem(t, int(*in.Segment)*10+n)
			if n > 0 {
				i["info"] = &types.AttributeValueMemberB{Value: []byte{99, 1, 2}}
			}
			out.Items = append(out.Items, i)
		}
		return out, nil
	}}
	var logged bytes.Buffer

	leases, err := dynamodb.New(r, logTo(&logged)).Scan(t.Context())

	require.NoError(t, err)
	assert.Len(t, leases, 3)
	assert.Equal(t, 10, strings.Count(logged.String(), "lease skipped"), "not a line for each")
	assert.Contains(t, logged.String(), "app=SHOP id=shop-")
	assert.Contains(t, logged.String(), "count=27")
}

func TestCorruptRowsAreReportedAndLeftOut(t *testing.T) {
	r := &reads{query: func(*awsdynamodb.QueryInput) (*awsdynamodb.QueryOutput, error) {
		info := leaseItem(t, 1)["info"]
		return &awsdynamodb.QueryOutput{Items: []item{
			{"partition": text("p"), "position": text("1#A/a"), "instance": text("text"), "written": &types.AttributeValueMemberN{Value: "100001"}},
			{"partition": text("p"), "position": text("2#A/a"), "instance": info, "written": &types.AttributeValueMemberN{Value: "100001"}},
		}}, nil
	}}
	var logged bytes.Buffer

	rows, err := dynamodb.New(r, logTo(&logged)).Deltas(t.Context(), time.UnixMilli(100_000), time.UnixMilli(100_002))

	require.NoError(t, err)
	require.Len(t, rows, 1)
	assert.Equal(t, "2", rows[0].Sequence)
	assert.Contains(t, logged.String(), "position=1#A/a")
}

func TestDeltasReadsTheBucketsOfItsWindow(t *testing.T) {
	for name, c := range map[string]struct {
		since, until int64 // milliseconds
		consistent   bool
		want         []string
	}{
		"one":                    {since: 10_000, until: 19_999, want: []string{"delta#1"}},
		"not the one it ends":    {since: 9_999, until: 19_999, want: []string{"delta#1"}},
		"the first of the next":  {since: 19_998, until: 20_000, want: []string{"delta#1", "delta#2"}},
		"the last of the former": {since: 9_998, until: 10_000, want: []string{"delta#0", "delta#1"}},
		"consistently":           {since: 10_000, until: 20_000, consistent: true, want: []string{"delta#1 consistently", "delta#2 consistently"}},
		"nothing":                {since: 10_000, until: 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reads{query: func(*awsdynamodb.QueryInput) (*awsdynamodb.QueryOutput, error) {
				return &awsdynamodb.QueryOutput{}, nil
			}}
			s := dynamodb.New(r, dynamodb.Config{ConsistentDeltas: c.consistent})

			_, err := s.Deltas(t.Context(), time.UnixMilli(c.since), time.UnixMilli(c.until))

			require.NoError(t, err)
			assert.ElementsMatch(t, c.want, r.asked)
		})
	}
}

// TestAWindowLongerThanRowsLiveIsRefused: nothing is asked for, and the answer
// is no list that lacks rows.
func TestAWindowLongerThanRowsLiveIsRefused(t *testing.T) {
	for _, c := range []struct {
		retention, window time.Duration
		asked             int
	}{
		{0, 75 * time.Minute, 451},
		{0, 75*time.Minute + time.Millisecond, 0},
		{2 * time.Hour, 135 * time.Minute, 811},
		{2 * time.Hour, 135*time.Minute + time.Millisecond, 0},
	} {
		r := &reads{query: func(*awsdynamodb.QueryInput) (*awsdynamodb.QueryOutput, error) {
			return &awsdynamodb.QueryOutput{}, nil
		}}
		_, err := dynamodb.New(r, dynamodb.Config{Retention: c.retention}).Deltas(t.Context(), began.Add(-c.window), began)
		assert.Equal(t, c.asked == 0, errors.Is(err, delta.ErrWindowTooLong), "%+v: %v", c, err)
		assert.Len(t, r.asked, c.asked, "%+v", c)
	}
}

func TestDeltasIsAllOrNothing(t *testing.T) {
	r := &reads{query: func(in *awsdynamodb.QueryInput) (*awsdynamodb.QueryOutput, error) {
		if partition(in.ExpressionAttributeValues[":partition"]) == "delta#2" {
			return nil, errors.New("connection lost")
		}
		return &awsdynamodb.QueryOutput{}, nil
	}}

	_, err := dynamodb.New(r, dynamodb.Config{}).Deltas(t.Context(), time.UnixMilli(10_000), time.UnixMilli(40_000))

	require.ErrorIs(t, err, eureka.ErrUnavailable)
}

// TestAPartThatIsNotThereYetIsAskedForAgain, consistently: the pointer was
// read consistently, a replica may not have the part.
func TestAPartThatIsNotThereYetIsAskedForAgain(t *testing.T) {
	chunks, err := instancecodec.EncodeChunks(usualSnapshot(20).Entries, 1000)
	require.NoError(t, err)
	require.Greater(t, len(chunks), 1)
	r := &reads{get: func(in *awsdynamodb.GetItemInput) item {
		name := partition(in.Key[dynamodb.AttrPartition])
		if name == "snapshot" {
			return item{
				"format": &types.AttributeValueMemberN{Value: "1"}, "generation": text("G"),
				"parts": &types.AttributeValueMemberN{Value: strconv.Itoa(len(chunks))},
			}
		}
		n, err := parseInt(strings.TrimPrefix(name, "snapshot#G#"))
		require.NoError(t, err)
		if n == 1 && !*in.ConsistentRead {
			return nil
		}
		return item{"body": &types.AttributeValueMemberB{Value: chunks[n].Stored}}
	}}

	s, err := dynamodb.New(r, dynamodb.Config{}).Snapshot(t.Context())

	require.NoError(t, err)
	assert.Len(t, s.Entries, 20)
	assert.Len(t, r.asked, 1+len(chunks)+1)
	assert.Contains(t, r.asked, "snapshot#G#1 consistently")
	assert.NotContains(t, r.asked, "snapshot#G#0 consistently")
}

func TestASnapshotThatCannotBeUnderstoodIsNone(t *testing.T) {
	for name, pointer := range map[string]item{
		"garbage":          {"format": &types.AttributeValueMemberN{Value: "1"}, "body": &types.AttributeValueMemberB{Value: []byte("garbage")}},
		"body is a text":   {"format": &types.AttributeValueMemberN{Value: "1"}, "body": text("text")},
		"format is a text": {"format": text("1"), "body": &types.AttributeValueMemberB{}},
		"no format":        {"body": &types.AttributeValueMemberB{}},
		"negative parts":   {"format": &types.AttributeValueMemberN{Value: "1"}, "parts": &types.AttributeValueMemberN{Value: "-1"}},
		"too many parts":   {"format": &types.AttributeValueMemberN{Value: "1"}, "parts": &types.AttributeValueMemberN{Value: "9000000000"}},
		"part missing":     {"format": &types.AttributeValueMemberN{Value: "1"}, "parts": &types.AttributeValueMemberN{Value: "2"}, "generation": text("G")},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reads{get: func(in *awsdynamodb.GetItemInput) item {
				if partition(in.Key[dynamodb.AttrPartition]) == "snapshot" {
					return pointer
				}
				return nil
			}}
			var logged bytes.Buffer

			s, err := dynamodb.New(r, logTo(&logged)).Snapshot(t.Context())

			require.ErrorIs(t, err, eureka.ErrNoSnapshot)
			assert.Nil(t, s)
		})
	}
}

func TestStatisticsThatCannotBeUnderstoodAreNone(t *testing.T) {
	r := &reads{get: func(*awsdynamodb.GetItemInput) item {
		return item{"format": &types.AttributeValueMemberN{Value: "1"}, "body": &types.AttributeValueMemberB{Value: []byte("garbage")}}
	}}
	var logged bytes.Buffer

	statistics, err := dynamodb.New(r, logTo(&logged)).Statistics(t.Context())

	require.NoError(t, err)
	assert.Zero(t, statistics)
	assert.Contains(t, logged.String(), "statistics cannot be understood")
}
