package dynamodb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// Renewals are nearly all of the writes, so their expressions are made once.
// The TTL is computed where the lease's duration is: in the database. The
// change marker goes, which keeps the write from invoking the stream function.
const renewExpression = "SET #renewed = :renewed, #ttl = #duration + :ttl REMOVE #change"

const renewable = "attribute_exists(#info) AND #status <> :unknown"

// renewal is the fixed part of a renewal with one kind of condition.
type renewal struct {
	expression, condition string
	names                 map[string]string
}

func newRenewal(condition string, names ...string) *renewal {
	r := &renewal{expression: renewExpression, condition: renewable + condition, names: map[string]string{}}
	for _, n := range append(names, AttrRenewed, AttrTTL, AttrDuration, AttrChange, AttrInfo, AttrStatus) {
		r.names["#"+n] = n
	}
	return r
}

var (
	renewAny     = newRenewal("")
	renewDirty   = newRenewal(" AND #dirty >= :dirty", AttrDirty)
	renewExactly = newRenewal(" AND #dirty = :dirty", AttrDirty)

	valueUnknown = text(string(eureka.Unknown))
)

// Renew implements [registry.Store]: a write unit for each KB of the lease.
func (s *Store) Renew(ctx context.Context, r registry.Renewal) error {
	if checkKey(r.Key) != nil {
		return &registry.ConditionFailedError{}
	}
	fixed := renewAny
	values := item{
		":renewed": millis(r.Now),
		":ttl":     number(s.leaseTTL(r.Now)),
		":unknown": valueUnknown,
	}
	if dirty := epochMillis(r.Dirty); dirty != 0 {
		fixed = renewDirty
		if r.Exact {
			fixed = renewExactly
		}
		values[":dirty"] = number(dirty)
	}
	in := &dynamodb.UpdateItemInput{
		TableName:                 &s.cfg.LeaseTable,
		Key:                       leaseKey(r.Key),
		UpdateExpression:          &fixed.expression,
		ConditionExpression:       &fixed.condition,
		ExpressionAttributeNames:  fixed.names,
		ExpressionAttributeValues: values,
	}
	if r.Exact {
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	_, err := s.api.UpdateItem(ctx, in)
	return s.conditional(ctx, r.Key, err, r.Exact)
}
