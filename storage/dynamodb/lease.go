package dynamodb

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/storage/instancecodec"
)

// Get implements [registry.Store]: one read unit for 4 KB.
func (s *Store) Get(ctx context.Context, key eureka.Key) (*eureka.Lease, error) {
	if checkKey(key) != nil {
		return nil, eureka.ErrLeaseNotFound // no item can have such a key
	}
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.cfg.LeaseTable,
		Key:            leaseKey(key),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, classify(ctx, err)
	}
	if len(out.Item) == 0 {
		return nil, eureka.ErrLeaseNotFound
	}
	return decodeLease(out.Item)
}

// Register implements [registry.Store]: a write unit for each KB of the larger
// of the item before and after.
func (s *Store) Register(ctx context.Context, r registry.Registration) error {
	l := &r.Lease
	if err := checkKey(l.Key); err != nil {
		return err
	}
	info, err := encodeInfo(l.Instance)
	if err != nil {
		return err
	}
	u := newUpdate()
	u.put(AttrInfo, info)
	u.bump(AttrVersion, millis(l.Updated))
	u.put(AttrChange, text(changeMarker))
	u.put(AttrStatus, text(string(l.Status)))
	u.put(AttrAction, text(string(l.Action)))
	u.put(AttrDirty, millis(l.Dirty))
	u.put(AttrUpdated, millis(l.Updated))
	u.put(AttrRegistered, millis(l.Registered))
	u.put(AttrRenewed, millis(l.Renewed))
	u.put(AttrInterval, number(seconds(l.Interval)))
	u.put(AttrDuration, number(seconds(l.Duration)))
	u.put(AttrTTL, number(epochSeconds(l.End().Add(s.cfg.TTLGrace))))
	if l.Quiet > 0 {
		u.put(AttrQuiet, number(seconds(l.Quiet)))
	}
	u.putOrDrop(AttrOverridden, override(l.Overridden))
	if !l.ServiceUp.IsZero() {
		u.putIfAbsent(AttrUp, millis(l.ServiceUp)) // a tombstone has none
	}
	u.drop(AttrGone)

	u.require("(" + u.absent(AttrInfo) + " OR " + u.name(AttrDirty) + " <= " + u.value(AttrDirty, millis(l.Dirty)) + ")")
	if stored := override(r.Stored); stored == nil {
		u.require(u.absent(AttrOverridden))
	} else {
		u.require(u.is(AttrOverridden, "storedOverride", stored))
	}
	return s.update(ctx, l.Key, u)
}

// override returns the value of an override, or nil for none.
func override(o eureka.Status) types.AttributeValue {
	if !eureka.HasOverride(o) {
		return nil
	}
	return text(string(o))
}

func encodeInfo(i *eureka.InstanceInfo) (types.AttributeValue, error) {
	info, err := instancecodec.Encode(i)
	if err != nil {
		return nil, err
	}
	if len(info) > maxInfo {
		return nil, eureka.TooLargef("instance", "%d bytes compressed, at most %d are taken", len(info), maxInfo)
	}
	return binary(info), nil
}

// Update implements [registry.Store]: a write unit for each KB of the larger
// of the item before and after.
func (s *Store) Update(ctx context.Context, r registry.Update) error {
	if checkKey(r.Key) != nil {
		return &registry.ConditionFailedError{}
	}
	u := newUpdate()
	if r.Instance != nil {
		info, err := encodeInfo(r.Instance)
		if err != nil {
			return err
		}
		u.put(AttrInfo, info)
	}
	u.bump(AttrVersion, number(r.IfVersion))
	u.put(AttrChange, text(changeMarker))
	u.put(AttrStatus, text(string(r.Status)))
	u.put(AttrAction, text(string(r.Action)))
	u.put(AttrDirty, millis(r.Dirty))
	u.put(AttrUpdated, millis(r.Updated))
	u.putOrDrop(AttrOverridden, override(r.Overridden))
	if r.ServiceUp.IsZero() {
		u.drop(AttrUp)
	} else {
		u.put(AttrUp, millis(r.ServiceUp))
	}
	u.require(u.exists(AttrInfo))
	u.require(u.is(AttrVersion, "ifVersion", number(r.IfVersion)))
	return s.update(ctx, r.Key, u)
}

// update makes one conditional write and asks for the item that a failed
// condition found.
func (s *Store) update(ctx context.Context, key eureka.Key, u *update) error {
	_, err := s.api.UpdateItem(ctx, u.into(&dynamodb.UpdateItemInput{
		TableName:                           &s.cfg.LeaseTable,
		Key:                                 leaseKey(key),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}))
	return s.conditional(ctx, key, err, true)
}

// conditional turns the outcome of a conditional write into the contract's
// errors. With wanted, a failed condition carries the item: DynamoDB returns
// it with the failure; where there is none, or the engine returns none, it is
// read.
func (s *Store) conditional(ctx context.Context, key eureka.Key, err error, wanted bool) error {
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return classify(ctx, err)
	}
	if len(failed.Item) == 0 && !wanted {
		return &registry.ConditionFailedError{}
	}
	stored, err := s.found(ctx, key, failed.Item)
	if err != nil {
		return fmt.Errorf("read what failed the condition: %w", err)
	}
	return &registry.ConditionFailedError{Stored: stored}
}

// found returns the lease of an item that came with an answer, or reads it; nil
// when there is none.
func (s *Store) found(ctx context.Context, key eureka.Key, in item) (*eureka.Lease, error) {
	if len(in) > 0 {
		return decodeLease(in)
	}
	stored, err := s.Get(ctx, key)
	if errors.Is(err, eureka.ErrLeaseNotFound) {
		return nil, nil
	}
	return stored, err
}
