package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/lease"
	"github.com/eurekaless/registry/core/mirror"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/functions/boot"
)

const exportHelp = `
Prints all leases of the table at AWS_ENDPOINT_URL_DYNAMODB, which must be set,
as JSON: one a line, sorted by application and instance, with the times and the
version that the table keeps beside what was registered. It reads consistently
and changes nothing.`

// exportReads: where the table is.
func exportReads(s boot.Setting) bool {
	return slices.Contains([]string{
		"AWS_REGION", "AWS_ENDPOINT_URL_DYNAMODB", "REGISTRY_LEASE_TABLE", "REGISTRY_DELTA_TABLE", "REGISTRY_LOG_LEVEL",
	}, s.Name)
}

// runExport is the sub-command export.
func runExport(ctx context.Context, p *process) error {
	if p.config.DynamoDBEndpoint == "" {
		return errors.New("AWS_ENDPOINT_URL_DYNAMODB is not set: it says where the table is")
	}
	b, err := connect(ctx, p)
	if err != nil {
		return err
	}
	leases, err := b.parts(p).Tables.Scan(ctx)
	if err != nil {
		return err
	}
	leases = slices.DeleteFunc(leases, func(l lease.Lease) bool { return l.Tombstone() })
	slices.SortFunc(leases, func(a, b lease.Lease) int { return mirror.Compare(a.Key, b.Key) })
	return p.printLeases(leases)
}

func (p *process) printLeases(leases []lease.Lease) error {
	out := bufio.NewWriter(p.out)
	fmt.Fprintln(out, "[")
	for n := range leases {
		line, err := json.Marshal(exported(&leases[n]))
		if err != nil {
			return err
		}
		out.Write(line) // Flush tells what went wrong
		if n < len(leases)-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
	fmt.Fprintln(out, "]")
	return out.Flush()
}

// exportedLease is a lease as export prints it. Times are RFC 3339 in UTC.
type exportedLease struct {
	App         string          `json:"app"`
	ID          string          `json:"instanceId"`
	Version     int64           `json:"version"`
	Status      eureka.Status   `json:"status"`
	Overridden  eureka.Status   `json:"overriddenStatus,omitempty"`
	Registered  time.Time       `json:"registered"`
	Renewed     time.Time       `json:"renewed"`
	Updated     time.Time       `json:"updated"`
	Dirty       time.Time       `json:"lastDirty"`
	ServiceUp   *time.Time      `json:"serviceUp,omitempty"`
	IntervalSec float64         `json:"renewalIntervalSeconds"`
	DurationSec float64         `json:"durationSeconds"`
	Instance    json.RawMessage `json:"registration"`
}

func exported(l *lease.Lease) exportedLease {
	e := exportedLease{
		App: l.Key.App, ID: l.Key.ID, Version: l.Version, Status: l.Status, Overridden: l.Overridden,
		Registered: l.Registered.UTC(), Renewed: l.Renewed.UTC(), Updated: l.Updated.UTC(), Dirty: l.Dirty.UTC(),
		IntervalSec: l.Interval.Seconds(), DurationSec: l.Duration.Seconds(),
		Instance: wire.AppendRegistration(nil, wire.JSON, l.Instance),
	}
	if !l.ServiceUp.IsZero() {
		up := l.ServiceUp.UTC()
		e.ServiceUp = &up
	}
	return e
}
