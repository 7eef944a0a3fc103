package migration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/mirror"
	"github.com/eurekaless/registry/core/wire"
)

// exportedLease is a lease as it stands in an exported file.
type exportedLease struct {
	App         string          `json:"app"`
	ID          string          `json:"instanceId"`
	Version     int64           `json:"version"`
	Status      eureka.Status   `json:"status"`
	Overridden  eureka.Status   `json:"overriddenStatus,omitempty"`
	Registered  moment          `json:"registered"`
	Renewed     moment          `json:"renewed"`
	Updated     moment          `json:"updated"`
	Dirty       moment          `json:"lastDirty"`
	ServiceUp   *moment         `json:"serviceUp,omitempty"`
	IntervalSec float64         `json:"renewalIntervalSeconds"`
	DurationSec float64         `json:"durationSeconds"`
	Instance    json.RawMessage `json:"registration"`
}

// moment is a time in an exported file: a text in RFC 3339, or the number of
// epoch milliseconds where RFC 3339 cannot write the year.
type moment struct{ time.Time }

func (m moment) MarshalJSON() ([]byte, error) {
	text := eureka.FormatTimeAs(m.Time, time.RFC3339Nano)
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return []byte(text), nil
	}
	return json.Marshal(text)
}

func (m *moment) UnmarshalJSON(text []byte) error {
	if millis, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		m.Time = time.UnixMilli(millis).UTC()
		return nil
	}
	return m.Time.UnmarshalJSON(text)
}

// Export writes all leases as JSON, one a line, sorted by application and
// instance. Tombstones are left out. It writes whole lines at a time.
func Export(out io.Writer, leases []eureka.Lease) error {
	leases = slices.DeleteFunc(slices.Clone(leases), func(l eureka.Lease) bool { return l.Tombstone() })
	slices.SortFunc(leases, func(a, b eureka.Lease) int { return mirror.Compare(a.Key, b.Key) })
	if _, err := io.WriteString(out, "[\n"); err != nil {
		return err
	}
	for n := range leases {
		line, err := json.Marshal(exported(&leases[n]))
		if err != nil {
			return fmt.Errorf("export %q: %w", leases[n].Key.String(), err)
		}
		if n < len(leases)-1 {
			line = append(line, ',')
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, "]\n")
	return err
}

func exported(l *eureka.Lease) exportedLease {
	e := exportedLease{
		App: l.Key.App, ID: l.Key.ID, Version: l.Version, Status: l.Status, Overridden: l.Overridden,
		Registered: moment{l.Registered}, Renewed: moment{l.Renewed}, Updated: moment{l.Updated}, Dirty: moment{l.Dirty},
		IntervalSec: l.Interval.Seconds(), DurationSec: l.Duration.Seconds(),
		Instance: wire.AppendRegistration(nil, wire.JSON, l.Instance),
	}
	if !l.ServiceUp.IsZero() {
		e.ServiceUp = &moment{l.ServiceUp}
	}
	return e
}

// File is an exported file as a registry that can be imported and compared.
// Its instances have the status that they registered with, beside the override.
type File struct{ all *eureka.Applications }

// ReadFile reads an exported file.
func ReadFile(in io.Reader) (*File, error) {
	var leases []exportedLease
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(&leases); err != nil {
		return nil, fmt.Errorf("not an exported file: %w", err)
	}
	apps := map[string]*eureka.Application{}
	all := &eureka.Applications{}
	for n := range leases {
		i, err := leases[n].instance()
		if err != nil {
			return nil, fmt.Errorf("lease %d of the file: %w", n+1, err)
		}
		if apps[i.App] == nil {
			apps[i.App] = &eureka.Application{Name: i.App}
		}
		apps[i.App].Instances = append(apps[i.App].Instances, i)
	}
	for _, app := range apps {
		all.Applications = append(all.Applications, *app)
	}
	return &File{all}, nil
}

// instance returns what was exported, as it is to be registered.
func (e *exportedLease) instance() (*eureka.InstanceInfo, error) {
	i, err := wire.DecodeInstance(wire.JSON, e.Instance)
	if err != nil {
		return nil, err
	}
	if i.Key() != eureka.NewKey(e.App, e.ID) {
		return nil, fmt.Errorf("registration of %q is that of another instance", eureka.NewKey(e.App, e.ID).String())
	}
	i.OverriddenStatus = e.Overridden
	i.LastDirty = e.Dirty.Time
	i.Lease.RenewalInterval = time.Duration(e.IntervalSec * float64(time.Second))
	i.Lease.Duration = time.Duration(e.DurationSec * float64(time.Second))
	return i, nil
}

// Applications returns all instances of the file.
func (f *File) Applications(context.Context, ...string) (*eureka.Applications, error) {
	return f.all, nil
}

// Delta fails: a file has no changes.
func (f *File) Delta(context.Context, ...string) (*eureka.Applications, error) {
	return nil, errors.New("a file has no deltas")
}
