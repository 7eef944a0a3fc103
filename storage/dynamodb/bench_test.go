package dynamodb_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
	"github.com/eurekaless/registry/storage/instancecodec"
)

// canned answers everything with an empty success, so that what is measured is
// this side's work alone.
func canned(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return answer(200, "{}"), err
}

func BenchmarkRenew(b *testing.B) {
	s := dynamodb.New(clientOn(b, transport(canned)), dynamodb.Config{})
	l := usualLease(1)
	r := registry.Renewal{Key: l.Key, Now: began, Dirty: l.Dirty}
	b.ReportAllocs()
	for b.Loop() {
		if err := errorOf(s.Renew(b.Context(), r)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenewSDK is what the SDK alone takes for the same call.
func BenchmarkRenewSDK(b *testing.B) {
	client := clientOn(b, transport(canned))
	l := usualLease(1)
	table, expression := "leases", "SET #r = :r"
	in := &awsdynamodb.UpdateItemInput{
		TableName: &table, Key: leaseKey(l.Key), UpdateExpression: &expression,
		ExpressionAttributeNames:  map[string]string{"#r": "renewed"},
		ExpressionAttributeValues: item{":r": &types.AttributeValueMemberN{Value: "1700000000000"}},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.UpdateItem(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRegister(b *testing.B) {
	s := dynamodb.New(clientOn(b, transport(canned)), dynamodb.Config{})
	r := registry.Registration{Lease: usualLease(1)}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Register(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// attribute is a value as DynamoDB's JSON has it.
type attribute map[string]string

func numberJSON(n int64) attribute { return attribute{"N": fmt.Sprint(n)} }

func binaryJSON(v []byte) attribute { return attribute{"B": base64.StdEncoding.EncodeToString(v)} }

// leaseJSON is a lease as a scan returns it.
func leaseJSON(b *testing.B, l eureka.Lease) string {
	b.Helper()
	info, err := instancecodec.Encode(l.Instance)
	require.NoError(b, err)
	out, err := json.Marshal(map[string]attribute{
		"app": {"S": l.Key.App}, "id": {"S": l.Key.ID}, "info": binaryJSON(info), "status": {"S": "UP"}, "action": {"S": "ADDED"},
		"version": numberJSON(began.UnixMilli()), "dirty": numberJSON(l.Dirty.UnixMilli()), "updated": numberJSON(began.UnixMilli()),
		"registered": numberJSON(began.UnixMilli()), "renewed": numberJSON(began.UnixMilli()), "up": numberJSON(began.UnixMilli()),
		"interval": numberJSON(30), "duration": numberJSON(90), "ttl": numberJSON(began.Unix()), "change": {"S": "y"},
	})
	require.NoError(b, err)
	return string(out)
}

// BenchmarkScan decodes pages of 2,000 leases, about 1 MB each.
func BenchmarkScan(b *testing.B) {
	const perPage = 2000
	var items []string
	for n := range perPage {
		items = append(items, leaseJSON(b, usualLease(n)))
	}
	page := `{"Items":[` + strings.Join(items, ",") + `]`
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const segments = 5
			pages := make([]int, segments)
			s := dynamodb.New(clientOn(b, transport(func(r *http.Request) (*http.Response, error) {
				var in struct{ Segment int }
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
					return nil, err
				}
				pages[in.Segment]++
				if pages[in.Segment]%(n/perPage/segments) == 0 {
					return answer(200, page+`}`), nil
				}
				return answer(200, page+`,"LastEvaluatedKey":{"app":{"S":"A"},"id":{"S":"B"}}}`), nil
			})), dynamodb.Config{ScanSegments: segments})
			b.ReportAllocs()
			for b.Loop() {
				leases, err := s.Scan(b.Context())
				require.NoError(b, err)
				require.Equal(b, n, len(leases))
			}
		})
	}
}

// BenchmarkSnapshot loads a published snapshot from answers of DynamoDB.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		chunks, err := instancecodec.EncodeChunks(usualSnapshot(n).Entries, 400_000)
		require.NoError(b, err)
		answers := map[string]string{}
		for i, c := range chunks {
			body, err := json.Marshal(map[string]map[string]attribute{"Item": {"body": binaryJSON(c.Stored)}})
			require.NoError(b, err)
			answers[fmt.Sprintf("snapshot#G#%d", i)] = string(body)
		}
		answers["snapshot"] = fmt.Sprintf(`{"Item":{"format":{"N":"1"},"began":{"N":"1"},"generation":{"S":"G"},"parts":{"N":"%d"}}}`, len(chunks))
		s := dynamodb.New(clientOn(b, transport(func(r *http.Request) (*http.Response, error) {
			var in struct {
				Key struct {
					Partition struct{ S string } `json:"partition"`
				}
			}
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				return nil, err
			}
			return answer(200, answers[in.Key.Partition.S]), nil
		})), dynamodb.Config{})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				got, err := s.Snapshot(b.Context())
				require.NoError(b, err)
				require.Equal(b, n, len(got.Entries))
			}
		})
	}
}

// BenchmarkEngine is the whole way to the engines and back.
func BenchmarkEngine(b *testing.B) {
	for name, start := range map[string]func(testing.TB) enginetest.Engine{"kumo": enginetest.Kumo, "dynoxide": enginetest.Dynoxide} {
		b.Run(name+"/renew", func(b *testing.B) {
			s := start(b).Store(b)
			l := usualLease(1)
			require.NoError(b, s.Register(b.Context(), registry.Registration{Lease: l}))
			for b.Loop() {
				require.NoError(b, errorOf(s.Renew(b.Context(), registry.Renewal{Key: l.Key, Now: began, Dirty: l.Dirty})))
			}
		})
		b.Run(name+"/scan10000", func(b *testing.B) {
			s := start(b).Store(b)
			for n := range 10_000 {
				require.NoError(b, s.Register(b.Context(), registry.Registration{Lease: usualLease(n)}))
			}
			for b.Loop() {
				leases, err := s.Scan(b.Context())
				require.NoError(b, err)
				require.Equal(b, 10_000, len(leases))
			}
		})
		b.Run(name+"/snapshot10000", func(b *testing.B) {
			s := start(b).Store(b)
			require.NoError(b, s.PutSnapshot(b.Context(), usualSnapshot(10_000)))
			for b.Loop() {
				_, err := s.Snapshot(b.Context())
				require.NoError(b, err)
			}
		})
	}
}
