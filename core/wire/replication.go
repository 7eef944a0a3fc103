package wire

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// ReplicationItem is one operation of a batch that a peer passes on.
type ReplicationItem struct {
	App, ID string
	// Action is a text of the protocol, such as Register or Heartbeat; it is
	// passed on as it came.
	Action string
	// Status and OverriddenStatus are empty when not given.
	Status           eureka.Status
	OverriddenStatus eureka.Status
	// LastDirty is zero when not given.
	LastDirty time.Time
	// Instance is nil when not given, which is usual but for a Register.
	Instance *eureka.InstanceInfo
	// Err is an [eureka.InvalidError] when a field is wrong, which is then as
	// not given. It spoils its own item, not the batch.
	Err error
}

// ReplicationResult is what became of an item.
type ReplicationResult struct {
	// StatusCode is the HTTP status that the operation would have had alone.
	StatusCode int
	// Instance is the registry's own, newer instance in a conflict (409).
	Instance *eureka.InstanceInfo
}

// DecodeReplication reads a batch of operations. The instance of an item is
// read as a registration, see [DecodeRegistration]. An error means that the
// body is no batch at all.
func DecodeReplication(body []byte, limits Limits) ([]ReplicationItem, error) {
	body, err := inUTF8(JSON, body)
	if err != nil {
		return nil, err
	}
	if err := limits.checkBatch(body); err != nil {
		return nil, err
	}
	c, err := newStrictCursor(body, "replicationList")
	if err != nil {
		return nil, err
	}
	if !c.enter('[') {
		return nil, eureka.Invalidf("replicationList", "must be a list")
	}
	items := []ReplicationItem{}
	for c.more(']') {
		if n := limits.MaxItems; n > 0 && len(items) == n {
			return nil, eureka.TooLargef("replicationList", "has more than %d items", n)
		}
		items = append(items, readJSONItem(c, limits))
	}
	return items, nil
}

// itemFields are the members of an item that are single values.
type itemFields struct{ app, id, action, status, overridden, dirty value }

func readJSONItem(c *cursor, limits Limits) ReplicationItem {
	var item ReplicationItem
	if !c.enter('{') {
		c.skip()
		item.Err = eureka.Invalidf("replicationList", "must hold objects")
		return item
	}
	var fields itemFields
	for c.more('}') {
		switch string(c.text()) {
		case "appName":
			fields.app = c.value()
		case "id":
			fields.id = c.value()
		case "action":
			fields.action = c.value()
		case "status":
			fields.status = c.value()
		case "overriddenStatus":
			fields.overridden = c.value()
		case "lastDirtyTimestamp":
			fields.dirty = c.value()
		case "instanceInfo":
			item.Instance, item.Err = readJSONItemInstance(c, limits)
		default:
			c.skip()
		}
	}
	item.take(&fields)
	return item
}

func readJSONItemInstance(c *cursor, limits Limits) (*eureka.InstanceInfo, error) {
	d := newDraft(true, limits, nil)
	if !d.object(c, field{name: "instanceInfo"}) {
		return nil, d.err
	}
	d.readJSONMembers(c)
	instance, err := d.finish()
	var invalid *eureka.InvalidError
	if errors.As(err, &invalid) {
		invalid.Field = "instanceInfo." + invalid.Field
	}
	return instance, err
}

// take reads the single values of an item.
func (item *ReplicationItem) take(fields *itemFields) {
	d := &draft{strict: true, err: item.Err}
	d.text(&item.App, "appName", fields.app)
	d.text(&item.ID, "id", fields.id)
	d.text(&item.Action, "action", fields.action)
	item.Status = d.knownStatus("status", fields.status)
	item.OverriddenStatus = d.knownStatus("overriddenStatus", fields.overridden)
	item.LastDirty = d.time(field{name: "lastDirtyTimestamp"}, fields.dirty)
	item.Err = d.err
}

// knownStatus returns a status that the protocol has; there is no telling what
// another one would ask for.
func (d *draft) knownStatus(name string, v value) eureka.Status {
	if !d.isText(field{name: name}, v) {
		return ""
	}
	s, ok := eureka.ParseStatus(string(v.text))
	if !ok {
		d.fail(field{name: name}, "is %q, which is no status", clip(string(v.text)))
		return ""
	}
	return s
}

// AppendReplication appends a batch as a peer sends it.
func AppendReplication(dst []byte, items []ReplicationItem) []byte {
	dst = append(dst, `{"replicationList":[`...)
	for n := range items {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendReplicationItem(dst, &items[n])
	}
	return append(dst, "]}"...)
}

func appendReplicationItem(dst []byte, item *ReplicationItem) []byte {
	dst = append(dst, '{')
	dst = appendJSONText(dst, "appName", item.App)
	dst = appendJSONText(dst, "id", item.ID)
	if !item.LastDirty.IsZero() {
		dst = appendJSONNumber(dst, "lastDirtyTimestamp", millis(item.LastDirty))
	}
	dst = appendJSONOptional(dst, "overriddenStatus", string(item.OverriddenStatus))
	dst = appendJSONOptional(dst, "status", string(item.Status))
	if item.Instance != nil {
		dst = appendJSONName(dst, "instanceInfo")
		dst = appendJSONFullInstance(dst, item.Instance)
	}
	dst = appendJSONText(dst, "action", item.Action)
	return append(dst, '}')
}

// AppendReplicationResults appends the answer to a batch, in its order.
func AppendReplicationResults(dst []byte, results []ReplicationResult) []byte {
	dst = append(dst, `{"responseList":[`...)
	for n, result := range results {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"statusCode":`...)
		dst = strconv.AppendInt(dst, int64(result.StatusCode), 10)
		if result.Instance != nil {
			dst = appendJSONName(dst, "responseEntity")
			dst = appendJSONFullInstance(dst, result.Instance)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// DecodeReplicationResults reads the answer to a batch.
func DecodeReplicationResults(body []byte) ([]ReplicationResult, error) {
	return decodeReplicationResults(body, math.MaxInt, nil)
}

func decodeReplicationResults(body []byte, items int, b *budget) ([]ReplicationResult, error) {
	body, err := inUTF8(JSON, body)
	if err != nil {
		return nil, err
	}
	c, err := newCursor(body, "responseList")
	if err != nil {
		return nil, err
	}
	d := newListDraft(b)
	var results []ReplicationResult
	more := false
	eachJSONObject(c, func() bool {
		if more = len(results) == items; more {
			return false
		}
		results = append(results, readJSONResult(c, d))
		return b.next()
	})
	if more {
		return nil, eureka.TooLargef("responseList", "has more than %d results", items)
	}
	if err := b.failed(); err != nil {
		return nil, err
	}
	return results, nil
}

func readJSONResult(c *cursor, d *draft) ReplicationResult {
	var result ReplicationResult
	c.enter('{')
	for c.more('}') {
		switch name := string(c.text()); {
		case name == "statusCode":
			code, _ := parseInteger(c.value().text)
			result.StatusCode = int(code)
		case name == "responseEntity" && c.peek() == '{':
			d.readJSON(c)
			result.Instance = d.listed()
		default:
			c.skip()
		}
	}
	return result
}
