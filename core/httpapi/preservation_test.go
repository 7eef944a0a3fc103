package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/eviction"
)

// heldMark is what the pages say of an instance that is held back.
const heldMark = "expired, held back</span>"

// fleet is a server with shops of which the last ones fall silent.
type fleet struct {
	*server
	t              *testing.T
	runner         *eviction.Runner
	living, silent []string
}

// newFleet registers so many instances, their statuses in turn UP and DOWN:
// self-preservation counts them all.
func newFleet(t *testing.T, living, silent int, policy eviction.Policy) *fleet {
	f := &fleet{server: newServer(t), t: t}
	cfg := eviction.DefaultConfig()
	cfg.Store, cfg.Deltas, cfg.Publications, cfg.Policy = f.store, f.store, f.store, policy
	cfg.Now = func() time.Time { return f.now }
	var err error
	f.runner, err = eviction.New(cfg)
	require.NoError(t, err)
	for n := range living + silent {
		id := fmt.Sprintf("shop-%02d", n)
		f.must(204, f.post("SHOP", shop(object{"instanceId": id, "status": []string{"UP", "DOWN"}[n%2]})))
		if n < living {
			f.living = append(f.living, id)
		} else {
			f.silent = append(f.silent, id)
		}
	}
	return f
}

// minute lets a minute pass with two heartbeats of the living, and then a pass.
func (f *fleet) minute() eviction.Report {
	f.t.Helper()
	began := f.now
	for _, at := range []time.Duration{30 * time.Second, time.Minute} {
		f.now = began.Add(at)
		for _, id := range f.living {
			f.must(200, f.do("PUT", "/eureka/apps/SHOP/"+id, ""))
		}
	}
	f.pump()
	report, err := f.runner.Run(f.t.Context())
	require.NoError(f.t, err)
	f.pump()
	f.now = f.now.Add(31 * time.Second) // lists show it with their next turn
	return report
}

// listed returns the ids that a fetch of everything has.
func (f *fleet) listed() []string {
	f.t.Helper()
	var ids []string
	apps := decode(f.t, f.must(200, f.do("GET", "/eureka/apps", "")))["applications"].(object)["application"].([]any)
	for _, app := range apps {
		for _, i := range app.(object)["instance"].([]any) {
			ids = append(ids, i.(object)["instanceId"].(string))
		}
	}
	return ids
}

// figures returns what /status says of the last pass.
func (f *fleet) figures() object {
	f.t.Helper()
	return decode(f.t, f.must(200, f.do("GET", "/eureka/status", "")))["applicationStats"].(object)
}

// TestH29: 8 of 20 instances fall silent. By default they stay, counted and
// marked, until they were silent for the longest time; with self-preservation
// switched off, or in a small fleet, they go with the pass after their end.
func TestH29(t *testing.T) {
	off := eviction.DefaultPolicy()
	off.SelfPreservation = false
	for _, c := range []struct {
		name           string
		living, silent int
		policy         eviction.Policy
		preserved      bool
	}{
		{"on by default", 12, 8, eviction.DefaultPolicy(), true},
		{"switched off", 12, 8, off, false},
		{"a small fleet", 5, 4, eviction.DefaultPolicy(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t, c.living, c.silent, c.policy)
			assert.True(t, f.minute().OnlyLooked)
			assert.NotContains(t, f.browse("/"), heldMark, "nothing has expired yet")
			f.minute()
			if !c.preserved {
				assert.ElementsMatch(t, f.living, f.listed())
				assert.Equal(t, false, f.figures()["self-preservation"])
				assert.Equal(t, 0.0, f.figures()["held-back"])
				assert.NotContains(t, f.browse("/"), heldMark)
				return
			}
			f.requireHeldBack()
			for range 60 {
				f.minute()
			}
			assert.ElementsMatch(t, f.living, f.listed(), "the longest time has passed")
			assert.Equal(t, false, f.figures()["self-preservation"], "the dead are not counted for ever")
			assert.NotContains(t, f.browse("/"), heldMark)
		})
	}
}

// requireHeldBack: all are listed, the silent ones are marked.
func (f *fleet) requireHeldBack() {
	t := f.t
	t.Helper()
	assert.ElementsMatch(t, append(append([]string{}, f.living...), f.silent...), f.listed())
	figures := f.figures()
	assert.Equal(t, true, figures["self-preservation"])
	assert.Equal(t, float64(len(f.silent)), figures["held-back"])
	assert.Equal(t, 20.0, figures["expected-renewals"], "whatever their status")
	xml := f.must(200, f.do("GET", "/eureka/status", "", "Accept", "application/xml")).Body.String()
	assert.Contains(t, xml, fmt.Sprintf("<held-back>%d</held-back>", len(f.silent)))
	assert.Contains(t, f.browse("/status"), "Self-preservation is on.")

	list := f.browse("/")
	assert.Contains(t, list, "Self-preservation is on.")
	assert.Equal(t, len(f.silent), strings.Count(list, heldMark))
	for _, row := range strings.Split(list, "<tr>")[1:] {
		for _, id := range f.living {
			if strings.Contains(row, "id="+id+`"`) {
				assert.NotContains(t, row, heldMark, id)
			}
		}
	}
	for _, id := range f.living {
		assert.NotContains(t, f.browse("/?app=SHOP&id="+id), heldMark, id)
	}
	for _, id := range f.silent {
		assert.Contains(t, f.browse("/?app=SHOP&id="+id), heldMark, id)
	}
	_, err := f.store.Get(t.Context(), eureka.NewKey("SHOP", f.silent[0]))
	assert.NoError(t, err)
}
