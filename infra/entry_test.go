package infra_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/httpapi"
)

// TestRoutes: every route of the API reaches, through the HTTP API and the load
// balancer, the function that serves it.
func TestRoutes(t *testing.T) {
	for _, route := range httpapi.Routes() {
		methods := []string{route.Method}
		if route.Method == "GET" {
			methods = append(methods, "HEAD")
		}
		for _, method := range methods {
			want := "Write"
			if route.Method == "GET" {
				want = "Read"
			}
			assert.Equal(t, want, httpTarget(t, method+" /{proxy+}"), "%s %s", method, route.Pattern)
			assert.Equal(t, want, balancerTarget(t, method), "%s %s", method, route.Pattern)
		}
	}
	for key, want := range map[string]string{"GET /": "Read", "HEAD /": "Read", "PATCH /{proxy+}": "Write", "POST /": "Write"} {
		assert.Equal(t, want, httpTarget(t, key), key)
	}
}

// httpTarget returns the function that a route of the HTTP API reaches.
func httpTarget(t *testing.T, key string) string {
	t.Helper()
	targets := map[string]string{}
	for _, p := range ofType(t, "AWS::ApiGatewayV2::Route") {
		targets[text(t, p, "RouteKey")] = text(t, p, "Target", "Fn::Sub")
	}
	target, ok := targets[key]
	if !ok {
		target = targets["$default"]
	}
	integration := regexp.MustCompile(`^integrations/\$\{(\w+)\}$`).FindStringSubmatch(target)
	require.NotNil(t, integration, key)
	p := properties(t, integration[1])
	assert.Equal(t, "2.0", text(t, p, "PayloadFormatVersion"))
	function := regexp.MustCompile(`/functions/\$\{(\w+)Function\.Arn\}:live/invocations$`).FindStringSubmatch(text(t, p, "IntegrationUri", "Fn::Sub"))
	require.NotNil(t, function, "%s names no alias", integration[1])
	return function[1]
}

// balancerTarget returns the function that a method reaches at the load balancer.
func balancerTarget(t *testing.T, method string) string {
	t.Helper()
	actions := list(t, properties(t, "Listener"), "DefaultActions")
	rule := properties(t, "ListenerReads")
	for _, m := range list(t, list(t, rule, "Conditions")[0], "HttpRequestMethodConfig", "Values") {
		if m == method {
			actions = list(t, rule, "Actions")
		}
	}
	group := properties(t, text(t, actions[0], "TargetGroupArn", "Ref"))
	alias := properties(t, text(t, list(t, group, "Targets")[0], "Id", "Ref"))
	return regexp.MustCompile(`Function$`).ReplaceAllString(text(t, alias, "FunctionName", "Ref"), "")
}

// TestEveryEntryNamesAnAlias: whatever invokes a function names its alias, so
// that traffic can shift and a function URL keeps its address.
func TestEveryEntryNamesAnAlias(t *testing.T) {
	aliases := ofType(t, "AWS::Lambda::Alias")
	for name, p := range aliases {
		assert.Equal(t, "live", text(t, p, "Name"), name)
	}
	alias := func(reference node, where string) {
		name, ok := at(t, reference, "Ref").(string)
		assert.True(t, ok && aliases[name] != nil, "%s: %v", where, reference)
	}
	for name, p := range ofType(t, "AWS::Lambda::Permission") {
		alias(p["FunctionName"], name)
	}
	for name, p := range ofType(t, "AWS::Lambda::Url") {
		alias(p["TargetFunctionArn"], name)
	}
	for name, p := range ofType(t, "AWS::Lambda::EventSourceMapping") {
		alias(p["FunctionName"], name)
	}
	for name, p := range ofType(t, "AWS::Events::Rule") {
		alias(at(t, list(t, p, "Targets")[0], "Arn"), name)
	}
	for name, p := range ofType(t, "AWS::ElasticLoadBalancingV2::TargetGroup") {
		alias(at(t, list(t, p, "Targets")[0], "Id"), name)
	}
	for name, p := range ofType(t, "AWS::ApiGatewayV2::Integration") {
		assert.Contains(t, text(t, p, "IntegrationUri", "Fn::Sub"), "Function.Arn}:live/invocations", name)
	}
	for name, p := range ofType(t, "AWS::Serverless::Function") {
		assert.NotContains(t, p, "Events", "%s: an event of its own would name the function", name)
		assert.NotContains(t, p, "FunctionUrlConfig", name)
	}
}

// TestLoadBalancer: what the registry relies on in the events of a load
// balancer, and what makes it private by default.
func TestLoadBalancer(t *testing.T) {
	attributes := map[string]any{}
	for _, a := range list(t, properties(t, "LoadBalancer"), "LoadBalancerAttributes") {
		if key, ok := a.(object)["Key"]; ok {
			attributes[key.(string)] = at(t, a, "Value")
		}
	}
	assert.Equal(t, "append", attributes["routing.http.xff_header_processing.mode"], "the last address is the balancer's word")
	assert.Equal(t, "false", attributes["routing.http.xff_client_port.enabled"], "an address without a port")
	for _, kind := range []string{"Read", "Write"} {
		group := properties(t, kind+"Targets")
		assert.Equal(t, "lambda", text(t, group, "TargetType"))
		assert.Equal(t, "false", text(t, group, "HealthCheckEnabled"))
		assert.Equal(t, []any{object{"Key": "lambda.multi_value_headers.enabled", "Value": "true"}}, list(t, group, "TargetGroupAttributes"))
	}
	assert.Equal(t, "internal", text(t, template(t), "Parameters", "LoadBalancerScheme", "Default"))
	for certificate, want := range map[string][]string{"": {"80", "HTTP"}, "arn": {"443", "HTTPS"}} {
		e := evaluation{t, template(t), map[string]string{"CertificateArn": certificate}}
		listener := properties(t, "Listener")
		ingress := list(t, properties(t, "LoadBalancerSecurityGroup"), "SecurityGroupIngress")[0]
		assert.Equal(t, want, []string{e.value(listener["Port"]), e.value(listener["Protocol"])})
		assert.Equal(t, want[0], e.value(at(t, ingress, "FromPort")))
		assert.Equal(t, want[0], e.value(at(t, ingress, "ToPort")))
	}
}

// TestDomainNameHasOneRecord: whatever the entry, one resource is the record of
// DomainName. A second one could not be created before the first is deleted.
func TestDomainNameHasOneRecord(t *testing.T) {
	var records []string
	for name, p := range ofType(t, "AWS::Route53::RecordSet") {
		if text(t, p, "Name", "Ref") == "DomainName" {
			records = append(records, name)
		}
	}
	require.Len(t, records, 1)
	condition := text(t, template(t), "Resources", records[0], "Condition")
	for entry, want := range map[string]bool{"http": true, "alb": true, "url": false} {
		e := evaluation{t, template(t), map[string]string{
			"Entry": entry, "DomainName": "registry.example.org", "CertificateArn": "arn", "HostedZoneId": "Z1",
		}}
		assert.Equal(t, want, e.condition(condition), entry)
		e.parameters["HostedZoneId"] = ""
		assert.False(t, e.condition(condition), entry)
	}
	target := list(t, properties(t, records[0]), "AliasTarget", "Fn::If")
	assert.Equal(t, []any{
		"HttpEntry",
		object{"DNSName": object{"Fn::GetAtt": "Domain.RegionalDomainName"}, "HostedZoneId": object{"Fn::GetAtt": "Domain.RegionalHostedZoneId"}},
		object{"DNSName": object{"Fn::GetAtt": "LoadBalancer.DNSName"}, "HostedZoneId": object{"Fn::GetAtt": "LoadBalancer.CanonicalHostedZoneID"}},
	}, target)
}

// TestTargetsWaitForTheirPermission: a target group that exists before its
// permission cannot register its function, and one that the permission refers
// to could never exist.
func TestTargetsWaitForTheirPermission(t *testing.T) {
	for _, kind := range []string{"Read", "Write"} {
		group := dict(t, template(t), "Resources", kind+"Targets")
		assert.Equal(t, kind+"TargetsPermission", group["DependsOn"])
		name := list(t, group, "Properties", "Name", "Fn::Sub")
		source := list(t, properties(t, kind+"TargetsPermission"), "SourceArn", "Fn::Sub")
		assert.Regexp(t, `:targetgroup/`+regexp.QuoteMeta(name[0].(string))+`/\*$`, source[0])
		assert.Equal(t, name[1], source[1], "the same variables")
		assert.LessOrEqual(t, len(regexp.MustCompile(`\$\{\w+\}`).ReplaceAllString(name[0].(string), "01234567")), 32, "the limit of a name")
	}
}

// TestUrlStreams: the function URL and the api function agree on the form of
// answers, and no other function streams.
func TestUrlStreams(t *testing.T) {
	assert.Equal(t, "RESPONSE_STREAM", text(t, properties(t, "ApiUrl"), "InvokeMode"))
	assert.Equal(t, "true", environment(t, "ApiFunction")["REGISTRY_STREAMING"])
	assert.NotContains(t, environment(t, "ReadFunction"), "REGISTRY_STREAMING")
	actions := map[string]bool{}
	for name, p := range ofType(t, "AWS::Lambda::Permission") {
		if dict(t, template(t), "Resources", name)["Condition"] == "UrlEntry" {
			actions[text(t, p, "Action")] = true
		}
	}
	assert.Equal(t, map[string]bool{"lambda:InvokeFunctionUrl": true, "lambda:InvokeFunction": true}, actions, "both are demanded since October 2025")
}

// TestEntriesHaveWhatTheyNeed: the functions of each entry.
func TestEntriesHaveWhatTheyNeed(t *testing.T) {
	want := map[string][]string{
		"http": {"EvictFunction", "ReadFunction", "StreamFunction", "WriteFunction"},
		"alb":  {"EvictFunction", "ReadFunction", "StreamFunction", "WriteFunction"},
		"url":  {"ApiFunction", "EvictFunction", "StreamFunction"},
	}
	for entry, functions := range want {
		e := evaluation{t, template(t), map[string]string{"Entry": entry}}
		var got []string
		for name := range ofType(t, "AWS::Serverless::Function") {
			condition, ok := dict(t, template(t), "Resources", name)["Condition"]
			if !ok || e.condition(condition.(string)) {
				got = append(got, name)
			}
		}
		assert.ElementsMatch(t, functions, got, entry)
	}
}

// TestSamLocalFindsTheApi: `sam local` looks for an API only of the kind of the
// first resource that could have one, so the HTTP API stands before the functions.
func TestSamLocalFindsTheApi(t *testing.T) {
	source, err := os.ReadFile("../template.yaml")
	require.NoError(t, err)
	api, function := strings.Index(string(source), "Type: AWS::ApiGatewayV2::Api"), strings.Index(string(source), "Type: AWS::Serverless::Function")
	require.Positive(t, api)
	assert.Less(t, api, function)
}
