package dynamodb

import (
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

// Image returns the change of the lease table that a stream record tells. A
// record that cannot be understood is an eureka.ErrCorrupt; it never panics.
func Image(record *events.DynamoDBEventRecord) (delta.Image, error) {
	change := &record.Change
	next, err := leaseImage(change.NewImage)
	if err != nil {
		return delta.Image{}, fmt.Errorf("new image: %w", err)
	}
	old, err := leaseImage(change.OldImage)
	if err != nil && (next == nil || next.Tombstone()) {
		return delta.Image{}, fmt.Errorf("old image: %w", err)
	}
	// Over a live lease nobody needs the old image: a registration mends an
	// item that could not be understood.
	removed := record.EventName == string(events.DynamoDBOperationTypeRemove)
	switch {
	case !digits(change.SequenceNumber):
		return delta.Image{}, fmt.Errorf("sequence number %q: %w", change.SequenceNumber, eureka.ErrCorrupt)
	case removed == (next != nil):
		return delta.Image{}, fmt.Errorf("%s with new image %t: %w", record.EventName, next != nil, eureka.ErrCorrupt)
	}
	_, marked := change.NewImage[AttrChange]
	return delta.Image{Old: old, New: next, Removed: removed, Marked: marked, Sequence: change.SequenceNumber}, nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != "" && len(s) <= sequenceDigits
}

// leaseImage returns the lease of an image, or nil for none.
func leaseImage(image map[string]events.DynamoDBAttributeValue) (*eureka.Lease, error) {
	if len(image) == 0 {
		return nil, nil
	}
	in, err := streamItem(image)
	if err != nil {
		return nil, err
	}
	return decodeLease(in)
}

// streamItem returns an image as a read of the table has it (TestH26).
func streamItem(image map[string]events.DynamoDBAttributeValue) (item, error) {
	out := make(item, len(image))
	for name, v := range image {
		converted, err := streamValue(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		out[name] = converted
	}
	return out, nil
}

// streamValue converts a value. The accessors of the event's values panic when
// they are asked for another type, so the type is asked first; the zero value
// says it is binary and holds nothing.
func streamValue(v events.DynamoDBAttributeValue) (types.AttributeValue, error) {
	if v.DataType() == events.DataTypeNull {
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
	if v.IsNull() {
		return nil, fmt.Errorf("no value: %w", eureka.ErrCorrupt)
	}
	switch v.DataType() {
	case events.DataTypeString:
		return &types.AttributeValueMemberS{Value: v.String()}, nil
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}, nil
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}, nil
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}, nil
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}, nil
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}, nil
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}, nil
	case events.DataTypeList:
		return streamList(v.List())
	case events.DataTypeMap:
		m, err := streamItem(v.Map())
		if err != nil {
			return nil, err
		}
		return &types.AttributeValueMemberM{Value: m}, nil
	}
	return nil, fmt.Errorf("type %d: %w", v.DataType(), eureka.ErrCorrupt)
}

func streamList(values []events.DynamoDBAttributeValue) (types.AttributeValue, error) {
	out := make([]types.AttributeValue, len(values))
	for i, v := range values {
		var err error
		if out[i], err = streamValue(v); err != nil {
			return nil, err
		}
	}
	return &types.AttributeValueMemberL{Value: out}, nil
}
