// Package e2e drives the registry at EUREKA_URL with github.com/hudl/fargo, as a service that registers with it and
// as one that looks others up.
package e2e

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hudl/fargo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long a change may take to be seen: lists are eventually consistent.
const patience = 10 * time.Second

const pause = 100 * time.Millisecond

// TestStory runs the life of one instance in each of the two formats that fargo speaks.
func TestStory(t *testing.T) {
	for _, format := range []string{"XML", "JSON"} {
		t.Run(format, func(t *testing.T) { newStory(t, format).run() })
	}
}

// story is an instance with the connection of its service, and the usable instances as another service keeps them.
type story struct {
	*testing.T
	url      string
	conn     fargo.EurekaConnection
	instance fargo.Instance
	usable   *fargo.InstanceSetSource
}

func newStory(t *testing.T, format string) *story {
	url := os.Getenv("EUREKA_URL")
	require.NotEmpty(t, url, "EUREKA_URL is the base URL of a registry")
	connect := func() fargo.EurekaConnection {
		conn := fargo.NewConn(url)
		conn.UseJson = format == "JSON"
		conn.PollInterval = pause
		return conn
	}

	app, other := "FARGO-"+format, connect()
	usable, err := other.NewInstanceSetSourceForVIPAddress(app, false, true, fargo.ThatAreUp)
	require.NoError(t, err)
	t.Cleanup(usable.Stop)
	return &story{T: t, url: url, conn: connect(), usable: usable, instance: fargo.Instance{
		InstanceId: "fargo-1",
		HostName:   "fargo-1.example.org",
		App:        app,
		IPAddr:     "192.0.2.20",
		VipAddress: app,
		Port:       8080, PortEnabled: true,
		Status:         fargo.UP,
		DataCenterInfo: fargo.DataCenterInfo{Name: fargo.MyOwn},
		LeaseInfo:      fargo.LeaseInfo{RenewalIntervalInSecs: 30, DurationInSecs: 90},
	}}
}

func (s *story) run() {
	s.register()
	s.renew()
	s.change()
	s.override()
	s.registerAgain()
	s.cancel()
}

// register: one sees one's own registration at once, everybody else with the next full list or delta.
func (s *story) register() {
	s.instance.SetMetadataString("zone", "a")
	require.NoError(s, s.conn.RegisterInstance(&s.instance))
	own, err := s.conn.GetInstance(s.instance.App, s.instance.Id())
	require.NoError(s, err)
	assert.Equal(s, 8080, own.Port)
	assert.True(s, own.PortEnabled)
	assert.Equal(s, fargo.MyOwn, own.DataCenterInfo.Name)

	s.sees("the instance among the usable ones", s.isUsable)
	s.sees("the instance in the full list", func() bool { return s.statusIn(s.fullList()) == fargo.UP })
	s.sees("the instance in the delta", func() bool { return s.statusIn(s.delta()) == fargo.UP })
}

func (s *story) renew() {
	registered := s.stored()
	s.sees("the lease renewed", func() bool {
		require.NoError(s, s.conn.HeartBeatInstance(&s.instance))
		return s.stored().LeaseInfo.LastRenewalTimestamp > registered.LeaseInfo.LastRenewalTimestamp
	})
}

// change: new metadata and a status that the instance itself asks for.
func (s *story) change() {
	require.NoError(s, s.conn.AddMetadataString(&s.instance, "version", "2 of ü"))
	s.sees("the new metadata", func() bool { return s.metadata("version") == "2 of ü" })
	assert.Equal(s, "a", s.metadata("zone"))

	require.NoError(s, s.conn.UpdateInstanceStatus(&s.instance, fargo.DOWN))
	s.sees("the instance no longer usable", s.isNotUsable)
	require.NoError(s, s.conn.UpdateInstanceStatus(&s.instance, fargo.UP))
	s.sees("the instance usable again", s.isUsable)
}

// override: an administrator takes the instance out; its own heartbeats do not bring it back, removing the override does.
func (s *story) override() {
	s.request(http.MethodPut, "/status?value=OUT_OF_SERVICE")
	s.sees("the instance out of service", s.isNotUsable)
	require.NoError(s, s.conn.HeartBeatInstance(&s.instance))
	assert.NotEqual(s, fargo.UP, s.stored().Status)
	s.sees("the override in the full list", func() bool { return s.statusIn(s.fullList()) == fargo.OUTOFSERVICE })

	s.request(http.MethodDelete, "/status?value=UP")
	s.sees("the instance back in service", s.isUsable)
}

// registerAgain: fargo leaves it to its user to register when a heartbeat is answered 404, and to know it by the error.
func (s *story) registerAgain() {
	s.request(http.MethodDelete, "")
	status, _ := fargo.HTTPResponseStatusCode(s.conn.HeartBeatInstance(&s.instance))
	require.Equal(s, http.StatusNotFound, status)
	s.sees("the instance gone", s.isNotUsable)

	require.NoError(s, s.conn.ReregisterInstance(&s.instance))
	require.NoError(s, s.conn.HeartBeatInstance(&s.instance))
	s.sees("the instance usable again", s.isUsable)
}

func (s *story) cancel() {
	require.NoError(s, s.conn.DeregisterInstance(&s.instance))
	s.sees("the instance gone", s.isNotUsable)
	s.sees("the application gone", func() bool {
		_, err := s.conn.GetApp(s.instance.App)
		return errors.As(err, new(fargo.AppNotFoundError))
	})
}

// sees waits for a change to arrive.
func (s *story) sees(what string, condition func() bool) {
	s.Helper()
	for late := time.After(patience); !condition(); {
		select {
		case <-late:
			require.Fail(s, "never seen: "+what)
		case <-time.After(pause):
		}
	}
}

func (s *story) isUsable() bool { return len(s.usable.Latest()) == 1 }

// isNotUsable tells an empty answer from none: a fetch that failed leaves nil.
func (s *story) isNotUsable() bool {
	latest := s.usable.Latest()
	return latest != nil && len(latest) == 0
}

// stored is the instance as the registry holds it.
func (s *story) stored() *fargo.Instance {
	stored, err := s.conn.GetInstance(s.instance.App, s.instance.Id())
	require.NoError(s, err)
	return stored
}

// metadata is an entry as another service reads it from the application.
func (s *story) metadata(key string) string {
	app, err := s.conn.GetApp(s.instance.App)
	require.NoError(s, err)
	require.Len(s, app.Instances, 1)
	value, err := app.Instances[0].Metadata.GetString(key)
	require.NoError(s, err)
	return value
}

func (s *story) fullList() []*fargo.Application {
	apps, err := s.conn.GetApps()
	require.NoError(s, err)
	return slices.Collect(maps.Values(apps))
}

// delta reads what fargo itself never asks for, with fargo's own types. The gateway of the SAM CLI wants an Accept.
func (s *story) delta() []*fargo.Application {
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+"/apps/delta", nil)
	require.NoError(s, err)
	request.Header.Set("Accept", "application/xml")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(s, err)
	defer answer.Body.Close()
	var delta fargo.GetAppsResponse
	require.NoError(s, xml.NewDecoder(answer.Body).Decode(&delta))
	assert.NotEmpty(s, delta.AppsHashcode)
	return delta.Applications
}

// statusIn is the status of the story's instance in a list, empty when it is not there.
func (s *story) statusIn(apps []*fargo.Application) fargo.StatusType {
	for _, app := range apps {
		for _, instance := range app.Instances {
			if app.Name == s.instance.App && instance.Id() == s.instance.Id() {
				return instance.Status
			}
		}
	}
	return ""
}

// request is what an administrator sends without any client.
func (s *story) request(method, suffix string) {
	s.Helper()
	target := fmt.Sprintf("%s/apps/%s/%s%s", s.url, s.instance.App, s.instance.Id(), suffix)
	request, err := http.NewRequestWithContext(s.Context(), method, target, nil)
	require.NoError(s, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(s, err)
	defer answer.Body.Close()
	require.Equal(s, http.StatusOK, answer.StatusCode)
}
