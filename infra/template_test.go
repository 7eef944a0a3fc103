package infra_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/functions/handlers"
	"github.com/eurekaless/registry/local/eventsource"
	"github.com/eurekaless/registry/storage/dynamodb"
)

// functions are those of the template, by name.
var functions = map[string]boot.User{
	"WriteFunction": boot.Write, "ReadFunction": boot.Read, "StreamFunction": boot.Stream, "EvictFunction": boot.Evict,
	"ApiFunction": boot.API,
}

// stackName is the name that samconfig.toml gives the stack.
func stackName(t *testing.T) string {
	t.Helper()
	config, err := os.ReadFile("samconfig.toml")
	require.NoError(t, err)
	match := regexp.MustCompile(`(?m)^stack_name = "(.+)"$`).FindSubmatch(config)
	require.NotNil(t, match)
	return string(match[1])
}

// TestTables: the default stack's tables are those that the driver creates.
func TestTables(t *testing.T) {
	for resource, want := range map[string]*awsdynamodb.CreateTableInput{
		"LeaseTable": dynamodb.LeaseTable(dynamodb.DefaultLeaseTable),
		"DeltaTable": dynamodb.DeltaTable(dynamodb.DefaultDeltaTable),
	} {
		p := properties(t, resource)
		assert.Equal(t, aws.ToString(want.TableName), defaults(t).value(p["TableName"]))
		assert.Equal(t, string(want.BillingMode), defaults(t).value(p["BillingMode"]))
		var attributes, keys []any
		for _, a := range want.AttributeDefinitions {
			attributes = append(attributes, object{"AttributeName": *a.AttributeName, "AttributeType": string(a.AttributeType)})
		}
		for _, k := range want.KeySchema {
			keys = append(keys, object{"AttributeName": *k.AttributeName, "KeyType": string(k.KeyType)})
		}
		assert.Equal(t, attributes, p["AttributeDefinitions"])
		assert.Equal(t, keys, p["KeySchema"])
		assert.Equal(t, object{"AttributeName": dynamodb.AttrTTL, "Enabled": "true"}, p["TimeToLiveSpecification"])
		if want.StreamSpecification == nil {
			assert.NotContains(t, p, "StreamSpecification")
			continue
		}
		assert.Equal(t, string(want.StreamSpecification.StreamViewType), text(t, p, "StreamSpecification", "StreamViewType"))
	}
}

// TestTableNames: a stack can be given other tables.
func TestTableNames(t *testing.T) {
	e := evaluation{t, template(t), map[string]string{"LeaseTableName": "restored", "DeltaTableName": "restored-deltas"}}
	for _, function := range []string{"ReadFunction", "EvictFunction"} {
		assert.Equal(t, "restored", e.value(environment(t, function)["REGISTRY_LEASE_TABLE"]))
		assert.Equal(t, "restored-deltas", e.value(environment(t, function)["REGISTRY_DELTA_TABLE"]))
	}
}

// environment returns a function's variables, the shared ones included.
func environment(t *testing.T, function string) object {
	t.Helper()
	out := object{}
	for _, variables := range []object{
		dict(t, template(t), "Globals", "Function", "Environment", "Variables"),
		dict(t, properties(t, function), "Environment", "Variables"),
	} {
		for name, value := range variables {
			out[name] = value
		}
	}
	return out
}

// TestEnvironment: each function has the variables that it reads and no
// others, and without being told otherwise their values are the code's
// defaults.
func TestEnvironment(t *testing.T) {
	for function, user := range functions {
		variables := environment(t, function)
		for _, s := range boot.Settings() {
			if !s.Users.Has(user) || s.Name == "AWS_REGION" { // Lambda's own
				continue
			}
			value, ok := variables[s.Name]
			if !assert.True(t, ok, "%s has no %s", function, s.Name) {
				continue
			}
			delete(variables, s.Name)
			if s.Name == "REGISTRY_STREAMING" { // as the URL's InvokeMode, see TestUrlStreams
				continue
			}
			assert.Equal(t, s.Default, defaults(t).value(value), "%s of %s", s.Name, function)
		}
		assert.Empty(t, variables, "%s reads none of these", function)
	}
}

// TestEnvironmentLoads: the default stack's variables are settings that the
// function starts with, once anonymous access is asked for.
func TestEnvironmentLoads(t *testing.T) {
	for function, user := range functions {
		variables := environment(t, function)
		_, err := boot.Load(func(name string) (string, bool) {
			value, ok := variables[name]
			if !ok {
				return "", false
			}
			if name == "REGISTRY_ANONYMOUS" {
				return "true", true
			}
			return defaults(t).value(value), true
		}, user)
		assert.NoError(t, err, function)
	}
}

// patterns returns the template's own filters.
func patterns(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, f := range list(t, properties(t, "StreamSource"), "FilterCriteria", "Filters") {
		out = append(out, text(t, f, "Pattern"))
	}
	return out
}

// TestFilter: the template's filter, applied to recorded records, passes
// changes and lets renewals and spent tombstones fall through.
func TestFilter(t *testing.T) {
	assert.Equal(t, []string{dynamodb.FilterChange, dynamodb.FilterRemoval}, patterns(t))
	var filters []eventsource.Filter
	for _, p := range patterns(t) {
		f, err := eventsource.ParseFilter(p)
		require.NoError(t, err)
		filters = append(filters, f)
	}
	want := map[string]bool{
		"100": true,  // registration
		"200": false, // renewal
		"300": true,  // override
		"400": true,  // cancel
		"500": true,  // TTL removal of a lease
		"600": false, // TTL removal of a tombstone
	}
	got := map[string]bool{}
	for _, file := range []string{"batch.json", "ttl.json"} {
		data, err := os.ReadFile("../functions/handlers/testdata/" + file)
		require.NoError(t, err)
		var ev events.DynamoDBEvent
		require.NoError(t, json.Unmarshal(data, &ev))
		for _, r := range ev.Records {
			got[r.Change.SequenceNumber] = false
			for _, f := range filters {
				got[r.Change.SequenceNumber] = got[r.Change.SequenceNumber] || f.Match(r)
			}
		}
	}
	assert.Equal(t, want, got)
}

// TestEventSource: Lambda delivers as the local poller does.
func TestEventSource(t *testing.T) {
	s := properties(t, "StreamSource")
	number := func(path ...string) int {
		n, err := strconv.Atoi(text(t, s, path...))
		require.NoError(t, err)
		return n
	}
	assert.Equal(t, eventsource.BatchSize, number("BatchSize"))
	assert.Equal(t, eventsource.MaximumAttempts, number("MaximumRetryAttempts")+1)
	assert.Equal(t, eventsource.MaximumRecordAge, time.Duration(number("MaximumRecordAgeInSeconds"))*time.Second)
	assert.Equal(t, "TRIM_HORIZON", text(t, s, "StartingPosition"))
	assert.Equal(t, "true", text(t, s, "BisectBatchOnFunctionError"))
	assert.Equal(t, []any{"ReportBatchItemFailures"}, s["FunctionResponseTypes"])
	assert.Equal(t, object{"Fn::GetAtt": "FailureQueue.Arn"}, at(t, s, "DestinationConfig", "OnFailure", "Destination"))
	assert.Equal(t, eventsource.Timeout.Seconds(), seconds(t, "StreamFunction"))
}

func seconds(t *testing.T, function string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text(t, properties(t, function), "Timeout"), 64)
	require.NoError(t, err)
	return n
}

// TestSchedule: the evict function is called at the rate that it is told, a
// pass ends before the next begins, and none is repeated.
func TestSchedule(t *testing.T) {
	rule := properties(t, "EveryMinute")
	assert.Equal(t, "rate(1 minute)", text(t, rule, "ScheduleExpression"))
	assert.Equal(t, "60s", text(t, properties(t, "EvictFunction"), "Environment", "Variables", "REGISTRY_EVICTION_INTERVAL"))
	assert.Less(t, seconds(t, "EvictFunction"), 60.0)
	assert.Equal(t, "0", text(t, list(t, rule, "Targets")[0], "RetryPolicy", "MaximumRetryAttempts"))
	assert.Equal(t, "0", text(t, properties(t, "EvictInvocation"), "MaximumRetryAttempts"))
	assert.Equal(t, text(t, properties(t, "EvictAlias"), "Name"), text(t, properties(t, "EvictInvocation"), "Qualifier"))
}

// TestBuild: there is a build for each architecture that can be asked for,
// and it makes binaries of that.
func TestBuild(t *testing.T) {
	assert.Equal(t, "infra/build/${Architecture}", text(t, template(t), "Globals", "Function", "CodeUri", "Fn::Sub"))
	goarch := map[string]string{"arm64": "arm64", "x86_64": "amd64"}
	for _, a := range list(t, template(t), "Parameters", "Architecture", "AllowedValues") {
		makefile, err := os.ReadFile("build/" + a.(string) + "/Makefile")
		require.NoError(t, err)
		assert.Contains(t, string(makefile), "GOARCH := "+goarch[a.(string)]+"\n")
	}
	for name := range functions {
		assert.DirExists(t, "../functions/"+strings.ToLower(strings.TrimSuffix(name, "Function")))
	}
}

// TestMetricNames: alarms and dashboard look at metrics that there are.
func TestMetricNames(t *testing.T) {
	known := map[string]bool{}
	for _, d := range handlers.Metrics() {
		known[d.Name] = true
	}
	own := 0
	for name, p := range ofType(t, "AWS::CloudWatch::Alarm") {
		if p["Namespace"] != boot.Namespace { // those of several metrics have none
			continue
		}
		own++
		assert.True(t, known[text(t, p, "MetricName")], name)
		assert.Equal(t, boot.Dimension, text(t, list(t, p, "Dimensions")[0], "Name"), name)
	}
	assert.Positive(t, own)

	body := list(t, properties(t, "Dashboard"), "DashboardBody", "Fn::Sub")[0].(string)
	assert.True(t, json.Valid([]byte(body)), "the dashboard is JSON")
	last := ""
	for _, m := range regexp.MustCompile(`\["([^"]+)", "([^"]+)", "[^"]+", "\$\{`).FindAllStringSubmatch(body, -1) {
		if m[1] != "." {
			last = m[1]
		}
		if last == boot.Namespace {
			assert.True(t, known[m[2]], m[2])
		}
	}
	for _, name := range []string{"Leases", "LeasesExpected", "LeasesSeen", "SelfPreservation", "RegistryAge"} {
		assert.Contains(t, body, `"`+name+`"`)
	}
}

// TestLocalVariables: `sam local` sets only variables that the template
// names.
func TestLocalVariables(t *testing.T) {
	data, err := os.ReadFile("local.json")
	require.NoError(t, err)
	var file struct{ Parameters map[string]string }
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Parameters)
	for name := range file.Parameters {
		found := false
		for function := range functions {
			_, ok := environment(t, function)[name]
			found = found || ok
		}
		assert.True(t, found, name)
	}
	assert.Equal(t, dynamodb.DefaultLeaseTable, file.Parameters["REGISTRY_LEASE_TABLE"])
	assert.Equal(t, dynamodb.DefaultDeltaTable, file.Parameters["REGISTRY_DELTA_TABLE"])
}
