package dynamodb

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/registry"
)

// Renewals are nearly all of the writes, so their expressions are made once.
// The TTL is computed in the database, which knows the lease's duration, and
// the answer tells the duration by it. Where the duration is shorter than the
// quiet time, the TTL is later than the lease's end asks for; where the quiet
// time is left alone, it takes that from the grace. The change marker goes,
// which keeps the write from invoking the stream function.
const (
	setRenewed   = "SET #renewed = :renewed, #ttl = #duration + :ttl"
	setQuiet     = ", #quiet = :quiet"
	removeChange = " REMOVE #change"
)

const renewable = "attribute_exists(#info) AND #status <> :unknown"

// renewal is the fixed part of a renewal with one kind of condition.
type renewal struct {
	expression, condition string
	names                 map[string]string
}

// renewals are those that leave the quiet time alone, and those that set it.
type renewals struct{ plain, quiet *renewal }

func newRenewals(condition string, names ...string) renewals {
	return renewals{
		plain: newRenewal(setRenewed+removeChange, condition, names...),
		quiet: newRenewal(setRenewed+setQuiet+removeChange, condition, append(names, AttrQuiet)...),
	}
}

func newRenewal(expression, condition string, names ...string) *renewal {
	r := &renewal{expression: expression, condition: renewable + condition, names: map[string]string{}}
	for _, n := range append(names, AttrRenewed, AttrTTL, AttrDuration, AttrChange, AttrInfo, AttrStatus) {
		r.names["#"+n] = n
	}
	return r
}

var (
	renewAny     = newRenewals("")
	renewDirty   = newRenewals(" AND #dirty >= :dirty", AttrDirty)
	renewExactly = newRenewals(" AND #dirty = :dirty", AttrDirty)

	valueUnknown = text(string(eureka.Unknown))
)

// Renew implements [registry.Store]: a write unit for each KB of the lease.
func (s *Store) Renew(ctx context.Context, r registry.Renewal) (time.Duration, error) {
	if checkKey(r.Key) != nil {
		return 0, &registry.ConditionFailedError{}
	}
	in, ttl := s.renewal(r)
	out, err := s.api.UpdateItem(ctx, in)
	if err != nil {
		return 0, s.conditional(ctx, r.Key, err, r.Exact)
	}
	return durationOf(out.Attributes, ttl), nil
}

// renewal returns the call of a renewal, and what it adds to the duration for
// the TTL.
func (s *Store) renewal(r registry.Renewal) (*dynamodb.UpdateItemInput, int64) {
	kind := renewAny
	ttl := epochSeconds(r.Now.Add(r.Quiet + s.cfg.TTLGrace))
	values := item{
		":renewed": millis(r.Now),
		":ttl":     number(ttl),
		":unknown": valueUnknown,
	}
	if dirty := epochMillis(r.Dirty); dirty != 0 {
		kind = renewDirty
		if r.Exact {
			kind = renewExactly
		}
		values[":dirty"] = number(dirty)
	}
	in := &dynamodb.UpdateItemInput{TableName: &s.cfg.LeaseTable, Key: leaseKey(r.Key), ExpressionAttributeValues: values}
	fixed := kind.plain
	if r.Quiet > 0 {
		fixed = kind.quiet
		values[":quiet"] = number(seconds(r.Quiet))
		in.ReturnValues = types.ReturnValueUpdatedNew
	}
	in.UpdateExpression, in.ConditionExpression, in.ExpressionAttributeNames = &fixed.expression, &fixed.condition, fixed.names
	if r.Exact {
		in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return in, ttl
}

// durationOf returns a lease's duration from what a renewal changed, given what
// was added to it for the TTL; 0 when the answer has no TTL.
func durationOf(changed item, added int64) time.Duration {
	r := reader{item: changed}
	ttl := r.number(AttrTTL)
	if ttl <= added || r.err != nil {
		return 0
	}
	return time.Duration(ttl-added) * time.Second
}
