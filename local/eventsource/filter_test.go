package eventsource

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func record(t *testing.T, text string) events.DynamoDBEventRecord {
	t.Helper()
	var r events.DynamoDBEventRecord
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	return r
}

func TestFilters(t *testing.T) {
	cases := []struct {
		name    string
		record  string
		matches bool
	}{
		{"a registration", `{"eventName":"INSERT","dynamodb":{"NewImage":{"change":{"S":"1"},"info":{"B":"AA=="}}}}`, true},
		{"a status change", `{"eventName":"MODIFY","dynamodb":{"NewImage":{"change":{"S":"2"}},"OldImage":{"change":{"S":"1"}}}}`, true},
		{"a renewal after a change", `{"eventName":"MODIFY","dynamodb":{"NewImage":{"renewed":{"N":"2"}},"OldImage":{"change":{"S":"1"}}}}`, false},
		{"an empty marker is there", `{"eventName":"MODIFY","dynamodb":{"NewImage":{"change":{"S":""}}}}`, true},
		{"a marker of another type", `{"eventName":"MODIFY","dynamodb":{"NewImage":{"change":{"N":"1"}}}}`, false},
		{"a lease that TTL removed", `{"eventName":"REMOVE","dynamodb":{"OldImage":{"info":{"B":"AA=="}}}}`, true},
		{"a tombstone that TTL removed", `{"eventName":"REMOVE","dynamodb":{"OldImage":{"gone":{"N":"1"},"change":{"S":"1"}}}}`, false},
		{"an old image is not enough", `{"eventName":"MODIFY","dynamodb":{"OldImage":{"info":{"B":"AA=="}}}}`, false},
		{"nothing", `{}`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(Config{Filters: patterns})
			require.NoError(t, err)
			assert.Equal(t, c.matches, p.match(record(t, c.record)))
		})
	}
}

func TestRules(t *testing.T) {
	cases := []struct {
		pattern, record string
		matches         bool
	}{
		{`{"eventName":["INSERT","MODIFY"]}`, `{"eventName":"MODIFY"}`, true},
		{`{"eventName":["INSERT","MODIFY"]}`, `{"eventName":"REMOVE"}`, false},
		{`{"dynamodb":{"Keys":{"id":{"S":["x"]}}}}`, `{"dynamodb":{"Keys":{"id":{"S":"x"}}}}`, true},
		{`{"dynamodb":{"Keys":{"id":{"S":["x"]}}}}`, `{"dynamodb":{"Keys":{"id":{"S":"y"}}}}`, false},
		{`{"dynamodb":{"Keys":{"id":{"S":["x"]}}}}`, `{}`, false},
		{`{"dynamodb":{"NewImage":{"n":{"N":["12",{"exists":false}]}}}}`, `{"dynamodb":{"NewImage":{"n":{"N":"12"}}}}`, true},
		{`{"dynamodb":{"NewImage":{"n":{"N":["12",{"exists":false}]}}}}`, `{"dynamodb":{"NewImage":{"n":{"N":"13"}}}}`, false},
		{`{"dynamodb":{"NewImage":{"n":{"N":["12",{"exists":false}]}}}}`, `{"dynamodb":{"NewImage":{}}}`, true},
		{`{}`, `{}`, true},
	}
	for _, c := range cases {
		t.Run(c.pattern+" "+c.record, func(t *testing.T) {
			f, err := ParseFilter(c.pattern)
			require.NoError(t, err)
			assert.Equal(t, c.matches, f.Match(record(t, c.record)))
		})
	}
}

func TestPatternsThatAreNotUnderstood(t *testing.T) {
	for _, pattern := range []string{
		`{`,
		`[]`,
		`{"eventName":"REMOVE"}`,
		`{"eventName":[1]}`,
		`{"eventName":[{"prefix":"R"}]}`,
		`{"eventName":[{"exists":"yes"}]}`,
		`{"eventName":[{"exists":true,"prefix":"R"}]}`,
		`{"awsRegion":["eu-west-1"]}`,
		`{"dynamodb":{"NewImage":{"change":{"M":[{"exists":true}]}}}}`,
		`{"dynamodb":{"Image":{"change":{"S":[{"exists":true}]}}}}`,
	} {
		_, err := ParseFilter(pattern)
		assert.Error(t, err, pattern)
	}
}
