package dynamodb

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Default names of the tables.
const (
	DefaultLeaseTable = "eureka-leases"
	DefaultDeltaTable = "eureka-deltas"
)

// Attributes of the lease table. An item is a lease or the tombstone of one.
const (
	// AttrApp is the partition key: the application, upper case.
	AttrApp = "app"
	// AttrID is the sort key: the instance id.
	AttrID = "id"
	// AttrInfo is what was registered, in instancecodec's form (binary). An
	// item without it is a tombstone.
	AttrInfo = "info"
	// AttrVersion orders the states of one instance (number).
	AttrVersion = "version"
	// AttrStatus is the effective status.
	AttrStatus = "status"
	// AttrOverridden is the administrator's override; absent: none.
	AttrOverridden = "overridden"
	// AttrAction is ADDED or MODIFIED, what readers see as actionType.
	AttrAction = "action"
	// AttrChange is on the image of a write that readers must see. Renewals
	// remove it; only the stream's filter looks at it.
	AttrChange = "change"
	// Times in epoch milliseconds; 0 means none.
	AttrDirty      = "dirty"      // last dirty timestamp, the client's clock
	AttrUpdated    = "updated"    // last change
	AttrRegistered = "registered" // registration
	AttrRenewed    = "renewed"    // last renewal
	AttrUp         = "up"         // first time UP; absent before
	AttrGone       = "gone"       // in a tombstone: when it was cancelled or evicted
	// Lease times in seconds.
	AttrInterval = "interval"
	AttrDuration = "duration"
	// AttrQuiet is for how many seconds after the last renewal its writer may
	// answer heartbeats without writing; absent: 0. A tombstone keeps it.
	AttrQuiet = "quiet"
	// AttrTTL is when the database may delete the item, in epoch seconds, in
	// both tables. Eviction never depends on it.
	AttrTTL = "ttl"
)

// Attributes of the delta table, beside [AttrVersion] and [AttrTTL].
const (
	// AttrPartition is the partition key: "delta#" and the number of a 10 s
	// bucket of [AttrWritten], or the name of something published.
	AttrPartition = "partition"
	// AttrPosition is the sort key: for a row its sequence number, padded with
	// zeros to 40 digits, and the instance's key.
	AttrPosition = "position"
	// AttrInstance is a row's whole instance, in instancecodec's form.
	AttrInstance = "instance"
	// AttrWritten is when a row was written, in epoch milliseconds.
	AttrWritten = "written"
	// AttrFormat is the version of a published document's form (number).
	AttrFormat = "format"
	// AttrBody is a published document or a part of it (binary).
	AttrBody = "body"
	// AttrParts is how many further items hold the document; 0: it is all in
	// AttrBody.
	AttrParts = "parts"
	// AttrGeneration names these items.
	AttrGeneration = "generation"
	// AttrClaimed is when the last pass that claimed its time began, in epoch
	// milliseconds, and AttrClaimant that pass's token; both are in the item of
	// the statistics.
	AttrClaimed  = "claimed"
	AttrClaimant = "claimant"
	// AttrBegan is when a snapshot's scan began, in epoch milliseconds.
	AttrBegan = "began"
)

// changeMarker is the value of [AttrChange]; only its being there counts.
const changeMarker = "y"

// Filters of the lease table's stream: of nearly all records, which are
// renewals, none invokes the stream function. The template has the same.
const (
	// FilterChange passes the writes that readers must see.
	FilterChange = `{"dynamodb":{"NewImage":{"change":{"S":[{"exists":true}]}}}}`
	// FilterRemoval passes the removal of a live lease: the database's TTL, or
	// somebody's hand.
	FilterRemoval = `{"eventName":["REMOVE"],"dynamodb":{"OldImage":{"info":{"B":[{"exists":true}]}}}}`
)

// LeaseTable returns the definition of the lease table.
func LeaseTable(name string) *dynamodb.CreateTableInput {
	t := table(name, AttrApp, AttrID)
	t.StreamSpecification = &types.StreamSpecification{
		StreamEnabled:  aws.Bool(true),
		StreamViewType: types.StreamViewTypeNewAndOldImages,
	}
	return t
}

// DeltaTable returns the definition of the delta table.
func DeltaTable(name string) *dynamodb.CreateTableInput {
	return table(name, AttrPartition, AttrPosition)
}

func table(name, partitionKey, sortKey string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(partitionKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(sortKey), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(partitionKey), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sortKey), KeyType: types.KeyTypeRange},
		},
	}
}

// Limits of DynamoDB, in bytes.
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
	// maxItem is what an item may have, names and values together.
	maxItem = 400 << 10
	// maxInfo bounds a stored instance, so that the lease, its delta row and
	// its entry in a snapshot all stay below maxItem: keys of 3 KB, the other
	// attributes, and what the delta row's instance is longer by.
	maxInfo = maxItem - 16<<10
	// maxPart bounds a part of a published document.
	maxPart = maxItem - 4<<10
)
