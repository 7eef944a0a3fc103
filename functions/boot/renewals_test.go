package boot_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/storage/memory"
)

// request answers one request of the API and returns its status.
func request(h http.Handler, method, path, body string) int {
	r := httptest.NewRequest(method, "/eureka"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// bring writes the rows of all changes, as the stream function does.
func bring(t *testing.T, store *memory.Store, now time.Time) {
	t.Helper()
	var rows []delta.Row
	for _, record := range store.Records(0) {
		if row, ok := delta.Project(record.Image); ok && record.Passes() {
			row.Written = now
			rows = append(rows, row)
		}
	}
	require.NoError(t, store.Put(t.Context(), rows))
}

// TestOthersCancelIsSeen: a heartbeat for a lease that another process cancelled
// is answered from memory, in a process with a view until its next refresh, in
// one without until the interval has passed.
func TestOthersCancelIsSeen(t *testing.T) {
	const heartbeat = "/apps/SHOP/shop-1?lastDirtyTimestamp=1773099000000"
	// The duration is longer than every setting here.
	body := strings.Replace(registration, `"status"`,
		`"lastDirtyTimestamp": "1773099000000", "leaseInfo": {"durationInSecs": 3600}, "status"`, 1)
	for _, test := range []struct {
		name    string
		setting string
		// between happens after the cancel and its row.
		between func(t *testing.T, p *boot.Parts, h http.Handler, c *clock)
		want    int
	}{
		{"at once without the setting", "0s", nil, http.StatusNotFound},
		{"not at once with it", "75s", nil, http.StatusOK},
		{"after a refresh", "75s", func(_ *testing.T, _ *boot.Parts, h http.Handler, c *clock) {
			c.now = c.now.Add(40 * time.Second)
			request(h, "GET", "/apps", "")
		}, http.StatusNotFound},
		{"after a load, which is due after minutes", "10m", func(_ *testing.T, _ *boot.Parts, h http.Handler, c *clock) {
			c.now = c.now.Add(4 * time.Minute)
			request(h, "GET", "/apps", "")
		}, http.StatusNotFound},
		{"not while nobody reads", "75s", func(_ *testing.T, _ *boot.Parts, _ http.Handler, c *clock) {
			c.now = c.now.Add(75*time.Second - time.Millisecond)
		}, http.StatusOK},
		{"after the interval", "75s", func(_ *testing.T, _ *boot.Parts, _ http.Handler, c *clock) {
			c.now = c.now.Add(75 * time.Second)
		}, http.StatusNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, store, c := parts(t, boot.Local, map[string]string{"REGISTRY_RENEWAL_WRITE_INTERVAL": test.setting})
			h := p.API()
			require.Equal(t, http.StatusNoContent, request(h, "POST", "/apps/SHOP", body))
			require.Equal(t, http.StatusOK, request(h, "GET", "/apps", ""))
			require.Equal(t, http.StatusOK, request(h, "PUT", heartbeat, ""))
			require.NoError(t, store.Cancel(t.Context(), eureka.NewKey("SHOP", "shop-1"), c.now))
			bring(t, store, c.now)
			if test.between != nil {
				test.between(t, p, h, c)
			}
			assert.Equal(t, test.want, request(h, "PUT", heartbeat, ""))
		})
	}
}

// TestRenewalWriteIntervalIsBounded: a tombstone keeps the quiet time of its
// lease for an hour.
func TestRenewalWriteIntervalIsBounded(t *testing.T) {
	for value, fault := range map[string]bool{"0s": false, "75s": false, "1h": false, "61m": true, "-1s": true, "75": true} {
		_, err := boot.Load(lookup(map[string]string{"REGISTRY_ANONYMOUS": "true", "REGISTRY_RENEWAL_WRITE_INTERVAL": value}), boot.Write)
		if fault {
			assert.ErrorContains(t, err, "REGISTRY_RENEWAL_WRITE_INTERVAL", value)
			continue
		}
		assert.NoError(t, err, value)
	}
}
