package infra_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNewStackIsQuiet: no alarm starts because nothing happened yet.
func TestNewStackIsQuiet(t *testing.T) {
	for name, p := range ofType(t, "AWS::CloudWatch::Alarm") {
		missing := p["TreatMissingData"]
		if name == "EvictNotRun" {
			assert.Equal(t, "missing", missing, "INSUFFICIENT_DATA, where a new alarm starts without telling anybody")
			assert.Contains(t, p, "InsufficientDataActions", "and tells it when the passes end")
			continue
		}
		assert.Equal(t, "notBreaching", missing, name)
		assert.NotContains(t, p, "InsufficientDataActions", name)
	}
}

// TestLostHeartbeatsAlarm: whatever an entry refuses is seen, since heartbeats that
// get lost become evictions.
func TestLostHeartbeatsAlarm(t *testing.T) {
	type metric struct{ namespace, name, of string }
	watched := map[string]map[metric]bool{}
	for entry := range map[string]bool{"http": true, "url": true, "alb": true} {
		watched[entry] = map[metric]bool{}
		e := evaluation{t, template(t), map[string]string{"Entry": entry}}
		for name, p := range ofType(t, "AWS::CloudWatch::Alarm") {
			if !e.condition(text(t, template(t), "Resources", name, "Condition")) {
				continue
			}
			metrics := []any{any(p)}
			if several, ok := p["Metrics"].([]any); ok {
				metrics = nil
				for _, m := range several {
					if stat, ok := m.(object)["MetricStat"]; ok {
						metrics = append(metrics, at(t, stat, "Metric"))
					}
				}
			}
			for _, m := range metrics {
				dimension := at(t, list(t, m, "Dimensions")[0], "Value")
				of, ok := dimension.(object)["Ref"].(string)
				if !ok {
					of = ""
				}
				watched[entry][metric{text(t, m, "Namespace"), text(t, m, "MetricName"), of}] = true
			}
		}
	}
	for entry, wants := range map[string][]metric{
		"http": {{"AWS/ApiGateway", "Count", "HttpApi"}, {"AWS/ApiGateway", "5xx", "HttpApi"}, {"AWS/Lambda", "Throttles", "WriteFunction"}},
		"url":  {{"AWS/Lambda", "Throttles", "ApiFunction"}, {"AWS/Lambda", "Url5xxCount", "ApiFunction"}, {"AWS/Lambda", "Errors", "ApiFunction"}},
		"alb":  {{"AWS/ApplicationELB", "HTTPCode_ELB_5XX_Count", ""}, {"AWS/ApplicationELB", "RejectedConnectionCount", ""}, {"AWS/Lambda", "Throttles", "WriteFunction"}},
	} {
		wants = append(wants, metric{"AWS/DynamoDB", "WriteThrottleEvents", "LeaseTable"}, metric{"EurekaRegistry", "RowsFailed", "StreamFunction"})
		for _, want := range wants {
			assert.True(t, watched[entry][want], "%s: nothing watches %v", entry, want)
		}
	}
}

// TestFixedCapacityHasNoCeilingAlarm: where floor and ceiling are the same,
// capacity is always at its ceiling, and nobody needs to know.
func TestFixedCapacityHasNoCeilingAlarm(t *testing.T) {
	for _, kind := range []string{"Write", "Read"} {
		condition := text(t, template(t), "Resources", kind+"CapacityAtCeiling", "Condition")
		for ceiling, want := range map[string]bool{"100": false, "200": true} {
			e := evaluation{t, template(t), map[string]string{
				"LeaseTableBilling": "provisioned", kind + "CapacityFloor": "100", kind + "CapacityCeiling": ceiling,
			}}
			assert.Equal(t, want, e.condition(condition), "%s capacity from 100 to %s", kind, ceiling)
		}
		assert.False(t, defaults(t).condition(condition), "on demand")
	}
}

// TestBilledAlarmsAreCounted: CloudWatch bills each metric that an alarm
// watches, and the page of costs counts them.
func TestBilledAlarmsAreCounted(t *testing.T) {
	data, err := os.ReadFile("../local/cost/prices.json")
	require.NoError(t, err)
	var prices struct {
		Assumed struct{ Alarms, ScalingAlarms, ContainerAlarms int }
	}
	require.NoError(t, json.Unmarshal(data, &prices))
	onDemand := billedAlarms(defaults(t))
	assert.Equal(t, onDemand, prices.Assumed.Alarms, "of the HTTP API")
	provisioned := billedAlarms(evaluation{t, template(t), map[string]string{"LeaseTableBilling": "provisioned"}})
	const madeByAScalingPolicy = 4
	assert.Equal(t, provisioned-onDemand+2*madeByAScalingPolicy, prices.Assumed.ScalingAlarms)
	assert.Equal(t, billedAlarms(evaluation{t, containers(t), nil}), prices.Assumed.ContainerAlarms)
}

// billedAlarms counts the metrics of a stack's alarms.
func billedAlarms(e evaluation) int {
	count := 0
	for _, r := range dict(e.t, e.template, "Resources") {
		if text(e.t, r, "Type") != "AWS::CloudWatch::Alarm" || !e.condition(text(e.t, r, "Condition")) {
			continue
		}
		several, ok := dict(e.t, r, "Properties")["Metrics"].([]any)
		if !ok {
			count++
		}
		for _, m := range several {
			if _, ok := m.(object)["MetricStat"]; ok {
				count++
			}
		}
	}
	return count
}

// TestErrorRatesAreQuotients: an entry's rate of errors is computed from counts,
// since CloudWatch's average of a count is a rate only for some services.
func TestErrorRatesAreQuotients(t *testing.T) {
	for _, name := range []string{"ServerErrors", "UrlErrors", "BalancerErrors"} {
		p := properties(t, name)
		assert.NotContains(t, p, "Statistic", name)
		for _, m := range list(t, p, "Metrics") {
			if expression, ok := m.(object)["Expression"]; ok {
				assert.Regexp(t, `^100 \* .*FILL\(.* / requests$`, expression, name)
				continue
			}
			assert.Equal(t, "Sum", text(t, m, "MetricStat", "Stat"), name)
		}
	}
}

// TestProvisionedTableScales: floor, ceiling and target are the parameters, and an
// alarm tells when the ceiling is reached.
func TestProvisionedTableScales(t *testing.T) {
	for _, kind := range []string{"Write", "Read"} {
		target, policy := properties(t, kind+"Scaling"), properties(t, kind+"ScalingPolicy")
		assert.Equal(t, "dynamodb:table:"+kind+"CapacityUnits", text(t, target, "ScalableDimension"))
		assert.Equal(t, kind+"CapacityFloor", text(t, target, "MinCapacity", "Ref"))
		assert.Equal(t, kind+"CapacityCeiling", text(t, target, "MaxCapacity", "Ref"))
		tracking := dict(t, policy, "TargetTrackingScalingPolicyConfiguration")
		assert.Equal(t, "DynamoDB"+kind+"CapacityUtilization", text(t, tracking, "PredefinedMetricSpecification", "PredefinedMetricType"))
		assert.Equal(t, "CapacityTarget", text(t, tracking, "TargetValue", "Ref"))
		alarm := properties(t, kind+"CapacityAtCeiling")
		assert.Equal(t, kind+"CapacityCeiling", text(t, alarm, "Threshold", "Ref"))
	}
	for billing, want := range map[string]string{"ondemand": "PAY_PER_REQUEST", "provisioned": "PROVISIONED"} {
		e := evaluation{t, template(t), map[string]string{"LeaseTableBilling": billing}}
		assert.Equal(t, want, e.value(properties(t, "LeaseTable")["BillingMode"]))
		assert.Equal(t, billing == "provisioned", e.condition(text(t, template(t), "Resources", "WriteScaling", "Condition")))
	}
	choice := list(t, properties(t, "LeaseTable"), "ProvisionedThroughput", "Fn::If")
	assert.Equal(t, "Provisioned", choice[0])
}

// TestDeploymentsRollBack: with a canary, every function shifts by an alarm that
// rolls it back; by default, aliases follow $LATEST.
func TestDeploymentsRollBack(t *testing.T) {
	for _, function := range []string{"Write", "Read", "Api", "Stream", "Evict"} {
		alias := dict(t, template(t), "Resources", function+"Alias")
		version := list(t, alias, "Properties", "FunctionVersion", "Fn::If")
		assert.Equal(t, []any{"Publishes", object{"Fn::GetAtt": function + "Version.Version"}, "$LATEST"}, version)
		update := list(t, alias, "UpdatePolicy", "Fn::If")
		assert.Equal(t, "Shifts", update[0])
		assert.Equal(t, function+"Shifting", text(t, update[1], "CodeDeployLambdaAliasUpdate", "DeploymentGroupName", "Ref"))
		alarms := list(t, properties(t, function+"Shifting"), "AlarmConfiguration", "Fn::If")
		assert.Equal(t, "HasAlarms", alarms[0])
		assert.NotEmpty(t, list(t, alarms[1], "Alarms"))
		assert.Contains(t, text(t, properties(t, function+"Function"), "Description", "Fn::Sub"), "${Release}", "so that there is something to publish")
		assert.Equal(t, "Release", text(t, properties(t, function+"Version"), "Description", "Ref"))
	}
	for deployment, want := range map[string][2]bool{
		"AllAtOnce": {false, false}, "Published": {true, false}, "Canary10Percent5Minutes": {true, true}, "Linear10PercentEvery1Minute": {true, true},
	} {
		e := evaluation{t, template(t), map[string]string{"Deployment": deployment}}
		assert.Equal(t, want, [2]bool{e.condition("Publishes"), e.condition("Shifts")}, deployment)
	}
}
