package storagetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

// TestRichInstanceSetsEveryField: a field that is added to InstanceInfo must
// be added there, or its round trip is not tested.
func TestRichInstanceSetsEveryField(t *testing.T) {
	requireSet(t, "InstanceInfo", reflect.ValueOf(*richInstance(eureka.NewKey("app", "id"), time.UnixMilli(1_700_000_000_000))))
}

func requireSet(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	require.False(t, v.IsZero(), path)
	if _, isTime := v.Interface().(time.Time); isTime || v.Kind() != reflect.Struct {
		return
	}
	for _, field := range reflect.VisibleFields(v.Type()) {
		requireSet(t, path+"."+field.Name, v.FieldByIndex(field.Index))
	}
}

// TestCanonicalInstanceMindsEveryTime: a time that it forgot would be compared
// to the nanosecond.
func TestCanonicalInstanceMindsEveryTime(t *testing.T) {
	base := time.UnixMilli(1_700_000_000_000).UTC()
	exact := richInstance(eureka.NewKey("app", "id"), base)
	shifted := richInstance(eureka.NewKey("app", "id"), base.Add(time.Microsecond).In(time.FixedZone("elsewhere", 3600)))
	assert.NotEqual(t, exact, shifted)
	assert.Equal(t, canonicalInstance(exact), canonicalInstance(shifted))
}

// TestOddIDs: each is another, of at most 1,024 bytes, the longest a sort key
// can be; some are as long as that.
func TestOddIDs(t *testing.T) {
	seen, longest := map[string]bool{}, 0
	for _, id := range oddIDs() {
		assert.False(t, seen[id], "%q", id)
		seen[id] = true
		longest = max(longest, len(id))
	}
	assert.Equal(t, 1024, longest)
}
