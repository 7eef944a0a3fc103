package discovery_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// listOf is the document of a registry that holds one usable instance of each
// application.
func listOf(names ...string) string {
	apps := &eureka.Applications{Version: 1, HashCode: fmt.Sprintf("UP_%d_", len(names))}
	for _, name := range names {
		apps.Applications = append(apps.Applications, eureka.Application{Name: name, Instances: []*eureka.InstanceInfo{{
			InstanceID: name + "-1", App: name, HostName: name + ".example.org", IPAddr: "192.0.2.1", Status: eureka.Up, VIPAddress: name,
			Port: eureka.Port{Number: 8080, Enabled: true}, Action: eureka.Added,
		}}})
	}
	return string(wire.Encoding{}.AppendApplications(nil, apps))
}

// TestUnknownNameFetchesAtOnce: a look-up of a service that started a moment ago
// does not wait for the next fetch, however many look-ups there are of names
// that do not exist. (Case H40.)
func TestUnknownNameFetchesAtOnce(t *testing.T) {
	for name, lookUp := range map[string]func(*testing.T, *discovery.Client) error{
		"pick": func(t *testing.T, c *discovery.Client) error {
			_, err := c.Pick("late")
			return err
		},
		"round tripper": func(t *testing.T, c *discovery.Client) error {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://late/", http.NoBody)
			if err != nil {
				return err
			}
			_, err = c.RoundTripper(&called{}).RoundTrip(req)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, nil)
				s.documents(listOf("EARLY"), listOf("EARLY"))
				c := start(t, fetching(s))
				time.Sleep(time.Second)
				s.documents(listOf("EARLY", "LATE"), listOf("EARLY", "LATE"))
				s.clear()

				err := lookUp(t, c)
				synctest.Wait()
				if name == "pick" { // it has no context to wait with
					require.ErrorIs(t, err, discovery.ErrNoUsableInstance)
					err = lookUp(t, c)
				}
				require.NoError(t, err)
				assert.Len(t, s.of("delta", "full"), 1, "one fetch, at once")
				_, err = c.Pick("early")
				require.NoError(t, err)
				require.NoError(t, c.Stop(t.Context()))
			})
		})
	}
}

// TestUnknownNamesFetchSeldom: at most one fetch every five seconds, and none
// before there is a registry or after the client stopped.
func TestUnknownNamesFetchSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.documents(listOf("EARLY"), listOf("EARLY"))
		cfg := fetching(s)
		cfg.FetchInterval = time.Hour
		c := start(t, cfg)
		s.clear()
		client := http.Client{Transport: c.RoundTripper(&called{})}
		for range 200 { // 20 seconds
			_, err := c.Pick("nobody")
			require.ErrorIs(t, err, discovery.ErrNoUsableInstance)
			_, err = client.Get("http://nobody/")
			require.ErrorIs(t, err, discovery.ErrNoUsableInstance)
			time.Sleep(100 * time.Millisecond)
		}
		fetches := s.times("delta", "full")
		assert.InDelta(t, 4, len(fetches), 1)
		for n := 1; n < len(fetches); n++ {
			assert.GreaterOrEqual(t, fetches[n]-fetches[n-1], 5*time.Second)
		}
		require.NoError(t, c.Stop(t.Context()))
		s.clear()
		time.Sleep(time.Minute)
		_, err := c.Pick("nobody")
		require.ErrorIs(t, err, discovery.ErrNoUsableInstance)
		synctest.Wait()
		assert.Empty(t, s.of("delta", "full"))
	})
}
