package infra_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/dashboard/templates"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/local/emulator"
	"github.com/eurekaless/registry/storage/dynamodb"
)

// TestPermissions: each function, driven through all of its paths, uses
// exactly the actions on exactly the tables that its role allows.
func TestPermissions(t *testing.T) {
	e, err := emulator.Start("", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close(context.WithoutCancel(t.Context())) })
	for function, drive := range map[string]func(*driver){
		"Write": (*driver).write, "Read": (*driver).read, "Stream": (*driver).stream, "Evict": (*driver).evict,
		"Api": (*driver).api,
	} {
		t.Run(function, func(t *testing.T) {
			d := newDriver(t, e.URL(), function)
			drive(d)
			assert.Equal(t, allowed(t, function+"Role"), d.used.sorted())
		})
	}
}

// allowed returns the actions that a role has on the tables, as "action table".
func allowed(t *testing.T, role string) []string {
	t.Helper()
	var out []string
	for _, p := range list(t, properties(t, role), "Policies") {
		policy := p.(object)
		if policy["PolicyName"] != "tables" {
			continue
		}
		for _, s := range list(t, policy, "PolicyDocument", "Statement") {
			require.Equal(t, "Allow", text(t, s, "Effect"))
			table := strings.TrimSuffix(text(t, s, "Resource", "Fn::GetAtt"), ".Arn")
			actions, ok := at(t, s, "Action").([]any)
			if !ok {
				actions = []any{at(t, s, "Action")}
			}
			for _, a := range actions {
				out = append(out, strings.TrimPrefix(a.(string), "dynamodb:")+" "+table)
			}
		}
	}
	slices.Sort(out)
	return out
}

// uses is the set of actions that were used.
type uses struct {
	mu     sync.Mutex
	tables map[string]string
	set    map[string]bool
}

func (u *uses) sorted() []string { return slices.Sorted(maps.Keys(u.set)) }

// record is a middleware that notes each call's action and tables.
func (u *uses) record(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("RecordUse", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		u.mu.Lock()
		for _, name := range tablesOf(in.Parameters) {
			u.set[awsmiddleware.GetOperationName(ctx)+" "+u.tables[name]] = true
		}
		u.mu.Unlock()
		return next.HandleInitialize(ctx, in)
	}), middleware.Before)
}

// tablesOf returns the tables that an input names.
func tablesOf(input any) []string {
	if batch, ok := input.(*awsdynamodb.BatchWriteItemInput); ok {
		return slices.Collect(maps.Keys(batch.RequestItems))
	}
	name, ok := reflect.ValueOf(input).Elem().FieldByName("TableName").Interface().(*string)
	if !ok {
		return []string{fmt.Sprintf("%T", input)}
	}
	return []string{aws.ToString(name)}
}

// driver drives the functions over tables of its own.
type driver struct {
	t *testing.T
	// plain is a client whose calls are not noted.
	plain *awsdynamodb.Client
	parts *boot.Parts
	// others has the same tables, not noted: the other functions.
	others *boot.Parts
	used   *uses
	now    time.Time
}

func newDriver(t *testing.T, endpoint, function string) *driver {
	t.Helper()
	leases, deltas := "leases-"+function, "deltas-"+function
	env := map[string]string{
		"REGISTRY_LEASE_TABLE": leases, "REGISTRY_DELTA_TABLE": deltas, "AWS_REGION": "us-east-1",
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
		"REGISTRY_MAX_INSTANCES_PER_APP": "1000",
	}
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	cfg, err := boot.Load(lookup, boot.Local)
	require.NoError(t, err)
	d := &driver{
		t: t, now: time.Now().Truncate(time.Millisecond),
		used: &uses{tables: map[string]string{leases: "LeaseTable", deltas: "DeltaTable"}, set: map[string]bool{}},
	}
	sdk := boot.LambdaConfig(lookup)
	d.plain = dynamodb.ClientFrom(sdk, dynamodb.ClientConfig{Endpoint: endpoint})
	_, err = dynamodb.CreateTables(t.Context(), d.plain, leases, deltas)
	require.NoError(t, err)
	noted := dynamodb.ClientFrom(sdk, dynamodb.ClientConfig{Endpoint: endpoint}, func(o *awsdynamodb.Options) {
		o.APIOptions = append(o.APIOptions, d.used.record)
	})
	d.parts, d.others = d.newParts(cfg, noted), d.newParts(cfg, d.plain)
	return d
}

func (d *driver) newParts(cfg boot.Config, client dynamodb.API) *boot.Parts {
	log, meter := slog.New(slog.DiscardHandler), handlers.Unmetered{}
	return &boot.Parts{
		Config: cfg, Tables: boot.Tables(client, cfg, log, meter), Log: log, Meter: meter,
		Now: func() time.Time { return d.now }, Pages: templates.New(),
	}
}

// request sends an event and demands a status.
func (d *driver) request(h *handlers.HTTP, status int, method, pathAndQuery, body string) {
	d.t.Helper()
	path, query, _ := strings.Cut(pathAndQuery, "?")
	payload, err := json.Marshal(map[string]any{
		"version": "2.0", "rawPath": path, "rawQueryString": query, "body": body,
		"headers":        map[string]string{"content-type": "application/json", "accept": "application/json"},
		"requestContext": map[string]any{"http": map[string]string{"method": method, "path": path}},
	})
	require.NoError(d.t, err)
	answer, err := h.Invoke(d.t.Context(), payload)
	require.NoError(d.t, err)
	var a struct {
		StatusCode int
		Body       string
	}
	require.NoError(d.t, json.Unmarshal(answer, &a))
	require.Equal(d.t, status, a.StatusCode, "%s %s: %s", method, pathAndQuery, a.Body)
}

func instance(dirty string) string {
	return `{"instance": {"instanceId": "shop-1", "hostName": "shop-1.example.org", "app": "SHOP", "ipAddr": "192.0.2.10",
		"status": "UP", "lastDirtyTimestamp": "` + dirty + `", "dataCenterInfo": {
		"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}}`
}

func (d *driver) write() {
	h := d.parts.Write()
	const one, replicated = "/eureka/apps/SHOP/shop-1", `{"replicationList": [
		{"appName": "SHOP", "id": "shop-1", "action": "Heartbeat", "lastDirtyTimestamp": 1},
		{"appName": "SHOP", "id": "nobody", "action": "Cancel"}]}`
	d.request(h, http.StatusNotFound, "PUT", one, "")
	d.request(h, http.StatusNotFound, "DELETE", one, "")
	d.request(h, http.StatusNoContent, "POST", "/eureka/apps/SHOP", instance("1700000000000"))
	d.request(h, http.StatusNoContent, "POST", "/eureka/apps/SHOP", instance("1700000000001"))
	d.request(h, http.StatusNoContent, "POST", "/eureka/apps/SHOP", instance("1600000000000"))
	d.request(h, http.StatusOK, "PUT", one+"?lastDirtyTimestamp=1700000000001", "")
	d.request(h, http.StatusNotFound, "PUT", one+"?lastDirtyTimestamp=1800000000000", "")
	d.request(h, http.StatusOK, "PUT", one+"/status?value=OUT_OF_SERVICE", "")
	d.request(h, http.StatusNoContent, "POST", "/eureka/apps/SHOP", instance("1700000000002"))
	d.request(h, http.StatusOK, "DELETE", one+"/status?value=UP", "")
	d.request(h, http.StatusOK, "PUT", one+"/metadata?zone=a", "")
	d.request(h, http.StatusOK, "POST", "/eureka/peerreplication/batch", replicated)
	d.request(h, http.StatusOK, "DELETE", one, "")
}

func (d *driver) read() {
	d.request(d.others.Write(), http.StatusNoContent, "POST", "/eureka/apps/SHOP", instance("1700000000000"))
	d.readAll() // cold, without a snapshot
	evict, err := d.others.Evict()
	require.NoError(d.t, err)
	require.NoError(d.t, evict.Handle(d.t.Context()))
	d.now = d.now.Add(time.Minute)
	d.readAll() // cold, from the snapshot
	d.parts.Config.CacheRefresh = 0
	d.readAll() // each time anew
}

func (d *driver) readAll() {
	h := d.parts.Read()
	for _, path := range []string{
		"/eureka/apps", "/eureka/apps/delta", "/eureka/apps/SHOP", "/eureka/apps/SHOP/shop-1", "/eureka/instances/shop-1",
		"/eureka/vips/shop", "/eureka/svips/shop", "/status", "/lastn", "/health",
	} {
		d.request(h, http.StatusOK, "GET", path, "")
	}
	d.now = d.now.Add(time.Minute)
	d.request(h, http.StatusOK, "GET", "/eureka/apps", "") // a turn later
}

func (d *driver) api() {
	d.write()
	d.read()
}

func (d *driver) stream() {
	for _, file := range []string{"batch.json", "ttl.json"} {
		event, err := os.ReadFile("../functions/handlers/testdata/" + file)
		require.NoError(d.t, err)
		_, err = d.parts.Stream().Invoke(d.t.Context(), event)
		require.NoError(d.t, err)
	}
}

// evict runs passes over a lease that ends, one that is renewed while the
// pass is about it, and one that was taken out of the table.
func (d *driver) evict() {
	write := d.others.Write()
	for range 4 {
		d.request(write, http.StatusNoContent, "POST", "/eureka/apps/SHOP", instance("1700000000000"))
		d.passes(3)
	}
	d.request(write, http.StatusNoContent, "POST", "/eureka/apps/SHOP", instance("1700000000000"))
	d.passes(1)
	_, err := d.plain.DeleteItem(d.t.Context(), &awsdynamodb.DeleteItemInput{
		TableName: &d.parts.Config.LeaseTable,
		Key: map[string]types.AttributeValue{
			dynamodb.AttrApp: &types.AttributeValueMemberS{Value: "SHOP"},
			dynamodb.AttrID:  &types.AttributeValueMemberS{Value: "shop-1"},
		},
	})
	require.NoError(d.t, err)
	d.passes(4)
}

// passes runs eviction passes a minute apart.
func (d *driver) passes(n int) {
	d.t.Helper()
	h, err := d.parts.Evict()
	require.NoError(d.t, err)
	for range n {
		require.NoError(d.t, h.Handle(d.t.Context()))
		d.now = d.now.Add(time.Minute)
	}
}
