package migration_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/mirror"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/core/wire"
	"github.com/eurekaless/registry/local/migration"
	"github.com/eurekaless/registry/storage/memory"
)

// server is a registry on a port, over the memory driver.
type server struct {
	t     *testing.T
	store *memory.Store
	// delivered counts change records that were delivered, changes those of them
	// that readers see.
	delivered, changes int
	// ahead is how far the registry's clock is ahead, in nanoseconds. Each reading
	// adds a millisecond, so that a delta never trails the rows written before it.
	ahead atomic.Int64
	*migration.Peer
}

func newServer(t *testing.T) *server {
	store := memory.New(memory.Config{})
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	s := &server{t: t, store: store}
	handler := httpapi.New(httpapi.Config{
		Registry: registry.New(registry.Config{Store: store, Now: s.now}),
		Cache:    view.New(view.Config{Source: store, Now: s.now, Logger: log}), Now: s.now, Logger: log,
	})
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	peer, err := migration.NewPeer(web.URL+"/eureka", 0)
	require.NoError(t, err)
	s.Peer = peer
	return s
}

func (s *server) now() time.Time {
	return time.Now().Add(time.Duration(s.ahead.Add(int64(time.Millisecond))))
}

func (s *server) register(all ...*eureka.InstanceInfo) {
	s.t.Helper()
	for _, i := range all {
		require.NoError(s.t, s.Register(s.t.Context(), i))
	}
}

func (s *server) list() migration.Instances {
	s.t.Helper()
	all, err := migration.List(s.t.Context(), s)
	require.NoError(s.t, err)
	return all
}

// writes counts the changes that readers of the registry see, having delivered
// them to its deltas.
func (s *server) writes() int {
	s.t.Helper()
	records := s.store.Records(s.delivered)
	s.delivered += len(records)
	var rows []delta.Row
	for _, r := range records {
		if row, ok := delta.Project(r.Image); ok {
			row.Written = s.now()
			rows = append(rows, row)
		}
	}
	s.changes += len(rows)
	require.NoError(s.t, s.store.Put(s.t.Context(), rows))
	return s.changes
}

var dirty = time.UnixMilli(1_700_000_000_000)

func instance(n int) *eureka.InstanceInfo {
	return &eureka.InstanceInfo{
		App: fmt.Sprintf("APP-%d", n%7), InstanceID: fmt.Sprintf("i:%d/%%", n), HostName: "h.example.org", IPAddr: "192.0.2.1",
		Status: eureka.Up, Port: eureka.Port{Number: 8080, Enabled: true}, SecurePort: eureka.Port{Number: 8443}, CountryID: 1,
		DataCenter: eureka.DataCenterInfo{Class: eureka.DefaultDataCenterClass, Name: eureka.DataCenterMyOwn},
		Lease:      eureka.LeaseInfo{RenewalInterval: 30 * time.Second, Duration: 90 * time.Second},
		Metadata:   map[string]string{"zone": "a"}, VIPAddress: "app", LastDirty: dirty,
	}
}

func importer(source mirror.Source, target migration.Target) *migration.Importer {
	return importerAt(source, target, time.Now)
}

func importerAt(source mirror.Source, target migration.Target, now func() time.Time) *migration.Importer {
	return migration.NewImporter(source, target, false, now, func(int, int) {})
}

func (s *server) pass(m *migration.Importer) *migration.Report {
	s.t.Helper()
	s.writes()
	report, err := m.Pass(s.t.Context())
	require.NoError(s.t, err)
	require.Empty(s.t, report.Failures)
	return report
}

func TestImport(t *testing.T) {
	from, to := newServer(t), newServer(t)
	for n := range 250 {
		from.register(instance(n))
	}
	key := func(n int) eureka.Key { return instance(n).Key() }
	ctx := t.Context()
	require.NoError(t, from.SetStatus(ctx, key(1), eureka.OutOfService, time.Time{}))

	now := time.Now()
	m := importerAt(from, to, func() time.Time { return now })
	report := from.pass(m)
	assert.Equal(t, 250, report.Registered)
	assert.Empty(t, migration.Compare(from.list(), to.list()))

	writes := to.writes()
	assert.Equal(t, 250, from.pass(m).Renewed)
	assert.Equal(t, 250, from.pass(importer(from, to)).Renewed, "another import begins anew")
	assert.Equal(t, writes, to.writes(), "nothing is changed twice")

	require.NoError(t, from.SetStatus(ctx, key(2), eureka.OutOfService, time.Time{}))
	require.NoError(t, from.RemoveOverride(ctx, key(1), eureka.Up, time.Time{}))
	require.NoError(t, from.SetMetadata(ctx, key(3), map[string]string{"more": "x"}))
	require.NoError(t, from.Cancel(ctx, key(4)))
	renewed := instance(5)
	renewed.LastDirty, renewed.VIPAddress = dirty.Add(time.Second), "other"
	from.register(renewed, instance(300))
	report = from.pass(m)
	assert.Equal(t, []int{250, 2, 3, 0, 245, 1}, []int{report.Read, report.Registered, report.Changed, report.Cancelled, report.Renewed, report.Gone})
	assert.Len(t, report.Differences, 5, "status and override twice, and metadata")
	now = now.Add(time.Minute)
	assert.Equal(t, 1, from.pass(m).Cancelled)
	assert.Empty(t, migration.Compare(from.list(), to.list()))
}

// TestImportLeavesWhatIsNewer: a client that moved over already is not taken
// back, nor cancelled when it leaves the source.
func TestImportLeavesWhatIsNewer(t *testing.T) {
	from, to := newServer(t), newServer(t)
	from.register(instance(1), instance(2))
	m := importer(from, to)
	from.pass(m)
	moved := instance(1)
	moved.LastDirty, moved.IPAddr = dirty.Add(time.Minute), "192.0.2.99"
	to.register(moved)
	assert.Equal(t, 1, from.pass(m).Newer)
	require.NoError(t, from.Cancel(t.Context(), moved.Key()))
	assert.Zero(t, from.pass(m).Cancelled)
	assert.Equal(t, "192.0.2.99", to.list()[moved.Key()].IPAddr)
}

func TestDryRun(t *testing.T) {
	from, to := newServer(t), newServer(t)
	newer, own := instance(2), instance(9)
	newer.LastDirty = dirty.Add(time.Second)
	from.register(instance(1), instance(2), instance(3))
	to.register(newer, instance(3), own)
	writes := to.writes()
	report := from.pass(migration.NewImporter(from, to, true, time.Now, nil))
	assert.Equal(t, []int{1, 0, 1, 1}, []int{report.Registered, report.Changed, report.Newer, report.Renewed})
	require.Len(t, report.Differences, 2)
	assert.Equal(t, `"APP-1/i:1/%": registered here, missing there`, report.Differences[0].String())
	assert.Equal(t, writes, to.writes())
}

// failing is a target that goes away after some requests.
type failing struct {
	*server
	left int
}

func (f *failing) Replicate(ctx context.Context, items []wire.ReplicationItem) ([]wire.ReplicationResult, error) {
	if f.left--; f.left < 0 {
		return nil, errors.New("gone")
	}
	return f.server.Replicate(ctx, items)
}

// TestInterruptedImport is finished by a further one, and changes nothing twice.
func TestInterruptedImport(t *testing.T) {
	from, to := newServer(t), newServer(t)
	for n := range 250 {
		from.register(instance(n))
	}
	report, err := importer(from, &failing{to, 3}).Pass(t.Context())
	require.ErrorContains(t, err, "gone")
	assert.Equal(t, 100, report.Registered)
	report = from.pass(importer(from, to))
	assert.Equal(t, []int{150, 100}, []int{report.Registered, report.Renewed})
	assert.Equal(t, 250, to.writes())
}

func TestCompare(t *testing.T) {
	a, b := instance(1), instance(1)
	b.Status, b.Metadata = eureka.Down, map[string]string{"zone": "b\n"}
	b.Lease.LastRenewed, b.LastUpdated, b.Action = time.Now(), time.Now(), eureka.Modified
	got := migration.Compare(migration.Instances{a.Key(): a}, migration.Instances{b.Key(): b, instance(2).Key(): instance(2)})
	var lines []string
	for _, d := range got {
		lines = append(lines, d.String())
	}
	assert.Equal(t, []string{
		`"APP-1/i:1/%": metadata.zone: "a" here, "b\n" there`,
		`"APP-1/i:1/%": status: "UP" here, "DOWN" there`,
		`"APP-2/i:2/%": missing here, registered there`,
	}, lines)
}

// TestPeerSendsCredentials with batches too, and keeps them out of errors.
func TestPeerSendsCredentials(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "peer" || password != "secret word" {
			t.Error("no credentials")
		}
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer web.Close()
	peer, err := migration.NewPeer(strings.Replace(web.URL, "//", "//peer:secret%20word@", 1)+"/eureka/", 0)
	require.NoError(t, err)
	_, err = peer.Replicate(t.Context(), []wire.ReplicationItem{{App: "A", ID: "a", Action: registry.ActionHeartbeat}})
	require.ErrorContains(t, err, "403")
	assert.NotContains(t, err.Error(), "secret")
	_, err = peer.Applications(t.Context())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
	for _, wrong := range []string{"", "localhost:8761", "ftp://x/", "http://"} {
		_, err := migration.NewPeer(wrong, 0)
		require.Error(t, err, wrong)
	}
}
