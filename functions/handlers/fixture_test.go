package handlers_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/instancecodec"
)

var update = flag.Bool("update", false, "write the event fixtures anew")

// start is when the registration of the fixtures was made.
var start = time.UnixMilli(1_773_100_000_000).UTC()

// The fixtures, each an event as Lambda sends it.
const (
	batchFile = "testdata/batch.json"
	ttlFile   = "testdata/ttl.json"
	eventFile = "../stream/event.json"
)

// fixtures returns what the fixture files hold.
func fixtures(t *testing.T) map[string]events.DynamoDBEvent {
	registered := live(t, "1773100000000", "UP", "ADDED")
	renewed := with(live(t, "1773100000000", "UP", "ADDED"), "renewed", "1773100030000")
	delete(renewed, dynamodb.AttrChange)
	overridden := live(t, "1773100000001", "OUT_OF_SERVICE", "MODIFIED")
	overridden[dynamodb.AttrOverridden] = events.NewStringAttribute("OUT_OF_SERVICE")
	registration := record("INSERT", "100", nil, registered)
	return map[string]events.DynamoDBEvent{
		eventFile: {Records: []events.DynamoDBEventRecord{registration}},
		batchFile: {Records: []events.DynamoDBEventRecord{
			registration,
			record("MODIFY", "200", registered, renewed),
			record("MODIFY", "300", renewed, overridden),
			record("MODIFY", "400", overridden, tombstone("1773100000002")),
		}},
		ttlFile: {Records: []events.DynamoDBEventRecord{
			expired(record("REMOVE", "500", renewed, nil)),
			expired(record("REMOVE", "600", tombstone("1773100000002"), nil)),
		}},
	}
}

// TestFixtures: the files hold what is made here (-update writes them).
func TestFixtures(t *testing.T) {
	for name, event := range fixtures(t) {
		want, err := json.MarshalIndent(event, "", "  ")
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile(name, append(want, '\n'), 0o644))
		}
		assert.JSONEq(t, string(want), string(read(t, name)), name)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	require.NoError(t, err)
	return data
}

type image = map[string]events.DynamoDBAttributeValue

// live returns the image of a lease, as a write that readers must see leaves it.
func live(t *testing.T, version, status, action string) image {
	t.Helper()
	info, err := instancecodec.Encode(&eureka.InstanceInfo{
		InstanceID: "shop-1", HostName: "shop-1.example.org", App: "SHOP", IPAddr: "192.0.2.10", Status: eureka.Up,
		Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 8443},
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
		VIPAddress: "shop", Metadata: map[string]string{"zone": "a"},
	})
	require.NoError(t, err)
	millis := strconv.FormatInt(start.UnixMilli(), 10)
	out := image{
		dynamodb.AttrApp:    events.NewStringAttribute("SHOP"),
		dynamodb.AttrID:     events.NewStringAttribute("shop-1"),
		dynamodb.AttrInfo:   events.NewBinaryAttribute(info),
		dynamodb.AttrStatus: events.NewStringAttribute(status),
		dynamodb.AttrAction: events.NewStringAttribute(action),
		dynamodb.AttrChange: events.NewStringAttribute("y"),
	}
	for name, number := range map[string]string{
		dynamodb.AttrVersion: version,
		dynamodb.AttrDirty:   millis, dynamodb.AttrUpdated: millis, dynamodb.AttrRegistered: millis,
		dynamodb.AttrRenewed: millis, dynamodb.AttrUp: millis,
		dynamodb.AttrInterval: "30", dynamodb.AttrDuration: "90", dynamodb.AttrTTL: "1773186490",
	} {
		out[name] = events.NewNumberAttribute(number)
	}
	return out
}

func with(in image, name, number string) image {
	in[name] = events.NewNumberAttribute(number)
	return in
}

func tombstone(version string) image {
	return image{
		dynamodb.AttrApp:     events.NewStringAttribute("SHOP"),
		dynamodb.AttrID:      events.NewStringAttribute("shop-1"),
		dynamodb.AttrVersion: events.NewNumberAttribute(version),
		dynamodb.AttrChange:  events.NewStringAttribute("y"),
		dynamodb.AttrGone:    events.NewNumberAttribute("1773100060000"),
		dynamodb.AttrTTL:     events.NewNumberAttribute("1773103660"),
	}
}

func record(name, sequence string, old, next image) events.DynamoDBEventRecord {
	return events.DynamoDBEventRecord{
		AWSRegion: "eu-central-1", EventID: "event-" + sequence, EventName: name,
		EventSource: "aws:dynamodb", EventVersion: "1.1",
		EventSourceArn: "arn:aws:dynamodb:eu-central-1:123456789012:table/eureka-leases/stream/2026-03-10T00:00:00.000",
		Change: events.DynamoDBStreamRecord{
			ApproximateCreationDateTime: events.SecondsEpochTime{Time: start},
			Keys: image{
				dynamodb.AttrApp: events.NewStringAttribute("SHOP"),
				dynamodb.AttrID:  events.NewStringAttribute("shop-1"),
			},
			OldImage: old, NewImage: next,
			SequenceNumber: sequence, SizeBytes: 512, StreamViewType: "NEW_AND_OLD_IMAGES",
		},
	}
}

// expired marks a record as DynamoDB's TTL does.
func expired(r events.DynamoDBEventRecord) events.DynamoDBEventRecord {
	r.UserIdentity = &events.DynamoDBUserIdentity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}
	return r
}
