package dynamodb

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/instancecodec"
)

// item is an item as the SDK has it.
type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func binary(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// millis is a time in epoch milliseconds; 0 is the zero time, as on the wire.
func millis(t time.Time) types.AttributeValue {
	return number(epochMillis(t))
}

func epochMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// seconds is a duration in seconds, and epochSeconds a time, both rounded up:
// what the database does at that time must not come early.
func seconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}

func epochSeconds(t time.Time) int64 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return s
}

// leaseKey returns the primary key of a lease.
func leaseKey(key eureka.Key) item {
	return item{AttrApp: text(key.App), AttrID: text(key.ID)}
}

// checkKey returns an error that names the field when no item can have such a
// key.
func checkKey(key eureka.Key) error {
	for _, part := range []struct {
		field, value string
		limit        int
	}{
		{"app", key.App, maxPartitionKey},
		{"instanceId", key.ID, maxSortKey},
	} {
		switch {
		case part.value == "":
			return eureka.Invalidf(part.field, "must not be empty")
		case !utf8.ValidString(part.value):
			return eureka.Invalidf(part.field, "is not valid UTF-8")
		case len(part.value) > part.limit:
			return eureka.TooLargef(part.field, "%d bytes, at most %d are taken", len(part.value), part.limit)
		}
	}
	return nil
}

// decodeLease returns the lease or tombstone that an item holds, or an
// eureka.ErrCorrupt. Attributes that it does not know are left alone.
func decodeLease(in item) (*eureka.Lease, error) {
	r := reader{item: in}
	l := &eureka.Lease{
		Key:        eureka.Key{App: r.required(AttrApp), ID: r.required(AttrID)},
		Version:    r.number(AttrVersion),
		Overridden: eureka.Status(r.text(AttrOverridden)),
	}
	if _, live := in[AttrInfo]; live {
		r.live(l)
	} else {
		l.Gone = r.millis(AttrGone)
	}
	if r.err != nil {
		return nil, r.err
	}
	return l, nil
}

// live reads what a tombstone has not.
func (r *reader) live(l *eureka.Lease) {
	l.Status = eureka.Status(r.required(AttrStatus))
	l.Action = eureka.ActionType(r.text(AttrAction))
	l.Dirty = r.millis(AttrDirty)
	l.Updated = r.millis(AttrUpdated)
	l.Registered = r.millis(AttrRegistered)
	l.Renewed = r.millis(AttrRenewed)
	l.ServiceUp = r.millis(AttrUp)
	l.Interval = r.seconds(AttrInterval)
	l.Duration = r.seconds(AttrDuration)
	l.Quiet = r.seconds(AttrQuiet)
	l.Instance = r.instance(AttrInfo)
}

// textOf returns an attribute of an item that is otherwise not understood; empty
// when it is not there or no text.
func textOf(in item, name string) string {
	r := reader{item: in}
	return r.text(name)
}

// reader reads attributes and keeps the first fault. An absent attribute is a
// zero value, one of another type a fault.
type reader struct {
	item item
	err  error
}

func (r *reader) fault(name, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("attribute %q %s: %w", name, what, eureka.ErrCorrupt)
	}
}

func (r *reader) text(name string) string {
	switch v := r.item[name].(type) {
	case nil:
		return ""
	case *types.AttributeValueMemberS:
		return v.Value
	}
	r.fault(name, "is no text")
	return ""
}

// required reads a text that must be there.
func (r *reader) required(name string) string {
	s := r.text(name)
	if s == "" {
		r.fault(name, "is missing")
	}
	return s
}

// binary returns nil for an absent attribute alone.
func (r *reader) binary(name string) []byte {
	switch v := r.item[name].(type) {
	case nil:
		return nil
	case *types.AttributeValueMemberB:
		if v.Value == nil {
			return []byte{}
		}
		return v.Value
	}
	r.fault(name, "is not binary")
	return nil
}

// instance reads what instancecodec stored.
func (r *reader) instance(name string) *eureka.InstanceInfo {
	stored := r.binary(name)
	if r.err != nil {
		return nil
	}
	var i *eureka.InstanceInfo
	i, r.err = instancecodec.Decode(stored)
	return i
}

func (r *reader) number(name string) int64 {
	switch v := r.item[name].(type) {
	case nil:
		return 0
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err != nil {
			r.fault(name, "is no whole number")
		}
		return n
	}
	r.fault(name, "is no number")
	return 0
}

func (r *reader) millis(name string) time.Time {
	n := r.number(name)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n)
}

func (r *reader) seconds(name string) time.Duration {
	n := r.number(name)
	d := time.Duration(n) * time.Second
	if d/time.Second != time.Duration(n) {
		r.fault(name, "is too long a time")
		return 0
	}
	return d
}
