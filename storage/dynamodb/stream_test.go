package dynamodb_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
	"github.com/eurekaless/registry/storage/instancecodec"
)

// itemOf returns an item as a read of the table has it, from its JSON.
func itemOf(t testing.TB, image string) item {
	t.Helper()
	client := clientOn(t, transport(func(*http.Request) (*http.Response, error) { return answer(200, `{"Item":`+image+`}`), nil }))
	out, err := client.GetItem(t.Context(), &awsdynamodb.GetItemInput{TableName: &leaseTable, Key: item{"app": text("a"), "id": text("b")}})
	require.NoError(t, err)
	return out.Item
}

var leaseTable = "leases"

// recordOf returns a record as a Lambda function gets it. An empty image is none.
func recordOf(t testing.TB, event, oldImage, newImage string) *events.DynamoDBEventRecord {
	t.Helper()
	var images []string
	for name, image := range map[string]string{"OldImage": oldImage, "NewImage": newImage} {
		if image != "" {
			images = append(images, fmt.Sprintf(`%q:%s`, name, image))
		}
	}
	record := new(events.DynamoDBEventRecord)
	require.NoError(t, json.Unmarshal([]byte(`{"eventName":"`+event+`","dynamodb":{"SequenceNumber":"4421584500000000017450439091",`+
		`"Keys":{"app":{"S":"SHOP"},"id":{"S":"shop-1"}},`+strings.Join(images, ",")+`}}`), record))
	return record
}

// TestH26StreamRecordsAndTableItems: the same image from a table read and from
// a stream event.
func TestH26StreamRecordsAndTableItems(t *testing.T) {
	image := `{
		"text": {"S": "Zürich 東京"}, "empty text": {"S": ""},
		"number": {"N": "42"}, "beyond 2^53": {"N": "9007199254740993"}, "38 digits": {"N": "12345678901234567890123456789012345678"},
		"fraction": {"N": "-0.125"}, "yes": {"BOOL": true}, "no": {"BOOL": false}, "null": {"NULL": true},
		"empty map": {"M": {}}, "nested map": {"M": {"a": {"M": {"b": {"N": "9007199254740993"}}}, "c": {"S": ""}}},
		"list": {"L": [{"S": "a"}, {"N": "1"}, {"L": []}, {"M": {"x": {"NULL": true}}}]}, "empty list": {"L": []},
		"texts": {"SS": ["a", "b"]}, "numbers": {"NS": ["1", "9007199254740993"]}, "binaries": {"BS": ["AAE=", "/w=="]},
		"binary": {"B": "AAH/"}, "empty binary": {"B": ""}
	}`
	record := recordOf(t, "INSERT", "", image)

	fromStream, err := dynamodb.StreamItem(record.Change.NewImage)

	require.NoError(t, err)
	require.Len(t, fromStream, 18)
	assert.Equal(t, itemOf(t, image), fromStream)
	assert.Equal(t, "9007199254740993", fromStream["beyond 2^53"].(*types.AttributeValueMemberN).Value)
}

// imageOf is the JSON of a stored item.
func imageOf(t testing.TB, in item) string {
	t.Helper()
	out := map[string]map[string]string{}
	for name, value := range in {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			out[name] = map[string]string{"S": v.Value}
		case *types.AttributeValueMemberN:
			out[name] = map[string]string{"N": v.Value}
		case *types.AttributeValueMemberB:
			out[name] = map[string]string{"B": base64.StdEncoding.EncodeToString(v.Value)}
		default:
			t.Fatalf("attribute %q is a %T", name, value)
		}
	}
	b, err := json.Marshal(out)
	require.NoError(t, err)
	return string(b)
}

// TestH26LeasesFromStreamAndTable goes through a lease's life: what the store
// reads and what the stream's images say is the same.
func TestH26LeasesFromStreamAndTable(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		client, cfg := e.Client(t), e.Tables(t)
		s := dynamodb.New(client, cfg)
		l := usualLease(1)
		previous := ""
		step := func(event string, marked bool) {
			t.Helper()
			stored, err := s.Get(t.Context(), l.Key)
			require.NoError(t, err)
			now := imageOf(t, getItem(t, client, cfg.LeaseTable, l.Key))
			image, err := dynamodb.Image(recordOf(t, event, previous, now))
			require.NoError(t, err)
			assert.Equal(t, stored, image.New)
			assert.Equal(t, marked, image.Marked)
			assert.False(t, image.Removed)
			assert.Equal(t, "4421584500000000017450439091", image.Sequence)
			assert.Equal(t, previous == "", image.Old == nil)
			previous = now
		}
		require.NoError(t, s.Register(t.Context(), registry.Registration{Lease: l}))
		step("INSERT", true)
		require.NoError(t, errorOf(s.Renew(t.Context(), registry.Renewal{Key: l.Key, Now: began})))
		step("MODIFY", false)
		stored, err := s.Get(t.Context(), l.Key)
		require.NoError(t, err)
		removed, err := dynamodb.Image(recordOf(t, "REMOVE", previous, ""))
		require.NoError(t, err)
		assert.Equal(t, stored, removed.Old)
		assert.Nil(t, removed.New)
		assert.True(t, removed.Removed)
		require.NoError(t, s.Evict(t.Context(), l.Key, began, began))
		step("MODIFY", true)
	})
}

func liveImage(t testing.TB, change ...func(map[string]string)) string {
	t.Helper()
	info, err := instancecodec.Encode(usualLease(1).Instance)
	require.NoError(t, err)
	fields := map[string]string{
		"app": `{"S":"SHOP"}`, "id": `{"S":"shop-1"}`, "info": `{"B":"` + base64.StdEncoding.EncodeToString(info) + `"}`,
		"version": `{"N":"1700000000001"}`, "status": `{"S":"UP"}`, "change": `{"S":"y"}`,
	}
	for _, c := range change {
		c(fields)
	}
	var parts []string
	for name, value := range fields {
		parts = append(parts, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func with(name, value string) func(map[string]string) {
	return func(fields map[string]string) { fields[name] = value }
}

func without(name string) func(map[string]string) {
	return func(fields map[string]string) { delete(fields, name) }
}

const tombstoneImage = `{"app":{"S":"SHOP"},"id":{"S":"shop-1"},"version":{"N":"1700000000002"},"change":{"S":"y"},"gone":{"N":"1700000000002"}}`

func TestRecordsThatCannotBeUnderstood(t *testing.T) {
	garbage := liveImage(t, with("info", `{"B":"Z2FyYmFnZQ=="}`))
	for name, record := range map[string]*events.DynamoDBEventRecord{
		"nothing":                    {},
		"no images":                  recordOf(t, "MODIFY", "{}", "{}"),
		"insert without an image":    recordOf(t, "INSERT", "", "{}"),
		"garbled instance":           recordOf(t, "INSERT", "", garbage),
		"garbled instance removed":   recordOf(t, "REMOVE", garbage, ""),
		"garbled instance cancelled": recordOf(t, "MODIFY", garbage, tombstoneImage),
		"instance is a text":         recordOf(t, "INSERT", "", liveImage(t, with("info", `{"S":"text"}`))),
		"instance is a null":         recordOf(t, "INSERT", "", liveImage(t, with("info", `{"NULL":true}`))),
		"version is a text":          recordOf(t, "INSERT", "", liveImage(t, with("version", `{"S":"1"}`))),
		"version is a fraction":      recordOf(t, "INSERT", "", liveImage(t, with("version", `{"N":"1.5"}`))),
		"version beyond 64 bits":     recordOf(t, "INSERT", "", liveImage(t, with("version", `{"N":"99999999999999999999"}`))),
		"duration beyond an int64":   recordOf(t, "INSERT", "", liveImage(t, with("duration", `{"N":"9223372037"}`))),
		"no status":                  recordOf(t, "INSERT", "", liveImage(t, without("status"))),
		"no key":                     recordOf(t, "INSERT", "", liveImage(t, without("id"))),
		"removal with a new image":   recordOf(t, "REMOVE", liveImage(t), liveImage(t)),
		"sequence number is no number": func() *events.DynamoDBEventRecord {
			r := recordOf(t, "INSERT", "", liveImage(t))
			r.Change.SequenceNumber = "x"
			return r
		}(),
		"no sequence number": func() *events.DynamoDBEventRecord {
			r := recordOf(t, "INSERT", "", liveImage(t))
			r.Change.SequenceNumber = ""
			return r
		}(),
		"value without a type":          {EventName: "INSERT", Change: events.DynamoDBStreamRecord{SequenceNumber: "1", NewImage: map[string]events.DynamoDBAttributeValue{"info": {}}}},
		"value without a type, in list": {EventName: "INSERT", Change: events.DynamoDBStreamRecord{SequenceNumber: "1", NewImage: map[string]events.DynamoDBAttributeValue{"l": events.NewListAttribute([]events.DynamoDBAttributeValue{{}})}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dynamodb.Image(record)
			assert.ErrorIs(t, err, eureka.ErrCorrupt)
		})
	}
}

// TestARegistrationMendsWhatCouldNotBeUnderstood: its old image is no reason to
// keep readers from the new one.
func TestARegistrationMendsWhatCouldNotBeUnderstood(t *testing.T) {
	image, err := dynamodb.Image(recordOf(t, "MODIFY", liveImage(t, with("info", `{"B":"Z2FyYmFnZQ=="}`)), liveImage(t)))

	require.NoError(t, err)
	assert.Nil(t, image.Old)
	assert.NotNil(t, image.New)
}

func FuzzImage(f *testing.F) {
	for _, images := range [][2]string{{"", liveImage(f)}, {liveImage(f), tombstoneImage}, {liveImage(f), "{}"}} {
		f.Add([]byte(fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"1","OldImage":%s,"NewImage":%s}}`, orEmpty(images[0]), orEmpty(images[1]))))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var record events.DynamoDBEventRecord
		if unmarshal(body, &record) != nil {
			t.Skip("not an event")
		}
		if _, err := dynamodb.Image(&record); err != nil {
			require.ErrorIs(t, err, eureka.ErrCorrupt)
		}
	})
}

func orEmpty(image string) string {
	if image == "" {
		return "{}"
	}
	return image
}

// unmarshal decodes an event. The Lambda library panics on a set of binaries
// that holds something else than texts.
func unmarshal(body []byte, record *events.DynamoDBEventRecord) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the library panicked")
		}
	}()
	return json.Unmarshal(body, record)
}
