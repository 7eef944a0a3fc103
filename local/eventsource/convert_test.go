package eventsource

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The record as Lambda would send it, with an attribute of each type.
const lambdaRecord = `{
  "awsRegion": "us-east-1",
  "eventID": "7de3041dd709b024af6f29e4fa13d34c",
  "eventName": "REMOVE",
  "eventSource": "aws:dynamodb",
  "eventVersion": "1.1",
  "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/leases/stream/2026-01-01T00:00:00.000",
  "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
  "dynamodb": {
    "ApproximateCreationDateTime": 1700000000,
    "Keys": {"app": {"S": "SHOP"}, "id": {"S": "shop-1"}},
    "NewImage": {"empty": {"M": {}}},
    "OldImage": {
      "text": {"S": "Zürich"}, "none": {"S": ""}, "number": {"N": "9007199254740993"}, "yes": {"BOOL": true},
      "null": {"NULL": true}, "bytes": {"B": "AAH/"},
      "map": {"M": {"list": {"L": [{"N": "1"}, {"S": "a"}, {"M": {}}]}}},
      "texts": {"SS": ["a", "b"]}, "numbers": {"NS": ["1", "2"]}, "binaries": {"BS": ["AA=="]}
    },
    "SequenceNumber": "4421584500000000017450439091",
    "SizeBytes": 59,
    "StreamViewType": "NEW_AND_OLD_IMAGES"
  }
}`

func TestARecordIsTheOneThatLambdaWouldSend(t *testing.T) {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	object := func(m map[string]types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: m}
	}
	in := types.Record{
		AwsRegion:    aws.String("us-east-1"),
		EventID:      aws.String("7de3041dd709b024af6f29e4fa13d34c"),
		EventName:    types.OperationTypeRemove,
		EventSource:  aws.String("aws:dynamodb"),
		EventVersion: aws.String("1.1"),
		UserIdentity: &types.Identity{Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com")},
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: aws.Time(time.Unix(1700000000, 0)),
			Keys:                        map[string]types.AttributeValue{"app": text("SHOP"), "id": text("shop-1")},
			NewImage:                    map[string]types.AttributeValue{"empty": object(map[string]types.AttributeValue{})},
			OldImage: map[string]types.AttributeValue{
				"text": text("Zürich"), "none": text(""), "number": number("9007199254740993"),
				"yes":   &types.AttributeValueMemberBOOL{Value: true},
				"null":  &types.AttributeValueMemberNULL{Value: true},
				"bytes": &types.AttributeValueMemberB{Value: []byte{0, 1, 255}},
				"map": object(map[string]types.AttributeValue{"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{
					number("1"), text("a"), object(map[string]types.AttributeValue{}),
				}}}),
				"texts":    &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
				"numbers":  &types.AttributeValueMemberNS{Value: []string{"1", "2"}},
				"binaries": &types.AttributeValueMemberBS{Value: [][]byte{{0}}},
			},
			SequenceNumber: aws.String("4421584500000000017450439091"),
			SizeBytes:      aws.Int64(59),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}

	out, err := json.Marshal(convert(in, "arn:aws:dynamodb:us-east-1:000000000000:table/leases/stream/2026-01-01T00:00:00.000"))

	require.NoError(t, err)
	assert.JSONEq(t, lambdaRecord, string(out))
}

func TestAnUnknownTypeBecomesANull(t *testing.T) {
	assert.True(t, convertValue(&types.UnknownUnionMember{Tag: "X"}).IsNull())
}

func TestLater(t *testing.T) {
	cases := []struct {
		a, b string
		want bool
	}{
		{"2", "1", true},
		{"1", "1", false},
		{"10", "9", true},
		{"9", "10", false},
		{"000000000000000000010", "000000000000000000009", true},
		{"010", "9", true},
		{"4421584500000000017450439092", "4421584500000000017450439091", true},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, later(c.a, c.b), "%s after %s", c.a, c.b)
	}
}
