package infra_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/eurekaless/registry/functions/boot"
)

// narrower are parameters that refuse what their setting would accept, and why.
var narrower = map[string]string{
	"CacheRefresh":         "with DeltaRetention, so that the retention is always twice the refresh",
	"DeltaRetention":       "see CacheRefresh",
	"LogLevel":             "names in lower case alone",
	"RemoteRegions":        "no credentials, which the environment would show",
	"CredentialsSecretArn": "a full ARN, without which the role's policy matches nothing",
}

// TestParametersAreSettings: a parameter accepts exactly what the program's parser
// of its setting accepts, so that what deploys also starts.
func TestParametersAreSettings(t *testing.T) {
	settings := settingParameters(t)
	require.Greater(t, len(settings), 15)
	for parameter, setting := range settings {
		t.Run(parameter, func(t *testing.T) {
			accepts := acceptor(t, parameter)
			rapid.Check(t, func(r *rapid.T) {
				value := nearMiss(r, candidates(t, parameter).Draw(r, "value"))
				accepted, fault := accepts(value), settingFault(setting, value)
				if value == "" || strings.Contains(fault, "is named twice") {
					return // unset, and what no pattern can tell
				}
				if accepted {
					assert.Empty(r, fault, "%s=%q deploys and does not start", parameter, value)
				} else if _, ok := narrower[parameter]; !ok {
					assert.NotEmpty(r, fault, "%s=%q starts and does not deploy", parameter, value)
				}
			})
		})
	}
}

// TestRetentionFitsRefresh: the two parameters that depend on each other.
func TestRetentionFitsRefresh(t *testing.T) {
	retention := rapid.StringMatching(text(t, template(t), "Parameters", "DeltaRetention", "AllowedPattern"))
	for _, refresh := range list(t, template(t), "Parameters", "CacheRefresh", "AllowedValues") {
		rapid.Check(t, func(r *rapid.T) {
			_, err := boot.Load(func(name string) (string, bool) {
				value, ok := map[string]string{
					"REGISTRY_CACHE_REFRESH": refresh.(string), "REGISTRY_DELTA_RETENTION": retention.Draw(r, "retention"), "REGISTRY_ANONYMOUS": "true",
				}[name]
				return value, ok
			}, boot.Read)
			assert.NoError(r, err)
		})
	}
}

// settingParameters returns the settings that parameters set, by parameter.
func settingParameters(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for function := range ofType(t, "AWS::Serverless::Function") {
		for setting, value := range environment(t, function) {
			if o, ok := value.(object); ok && o["Ref"] != nil {
				if parameter := o["Ref"].(string); dict(t, template(t), "Parameters")[parameter] != nil {
					out[parameter] = setting
				}
			}
		}
	}
	return out
}

// acceptor returns whether CloudFormation accepts a value of a parameter.
func acceptor(t *testing.T, parameter string) func(string) bool {
	t.Helper()
	declared := dict(t, template(t), "Parameters", parameter)
	assert.Equal(t, "String", declared["Type"], "a Number may have a fraction")
	if values, ok := declared["AllowedValues"].([]any); ok {
		return func(value string) bool { return slices.Contains(values, any(value)) }
	}
	if p, ok := declared["AllowedPattern"].(string); ok {
		require.True(t, strings.HasPrefix(p, "^") && strings.HasSuffix(p, "$"), "CloudFormation anchors patterns, regexp does not")
		return regexp.MustCompile(p).MatchString
	}
	return func(string) bool { return true }
}

// candidates generates values that the parameter accepts, and those that other
// parameters of its kind do.
func candidates(t *testing.T, parameter string) *rapid.Generator[string] {
	t.Helper()
	generators := []*rapid.Generator[string]{
		rapid.StringMatching(`[0-9]{1,12}(ns|us|ms|s|m|h|KiB|MiB)?`),
		rapid.StringMatching(`[+-]?[0-9]{0,3}\.?[0-9]{0,8}([eE][+-]?[0-9])?(s|m|h)?`),
		rapid.SampledFrom([]string{"true", "false", "1048576", "1048577", "1025KiB", "2MiB", "1MiB", "3600s", "3601s", "61m", "1h30m", "1.0", "0.0", ".5", "0s", "0"}),
		rapid.String(),
	}
	declared := dict(t, template(t), "Parameters", parameter)
	if p, ok := declared["AllowedPattern"].(string); ok {
		generators = append(generators, rapid.StringMatching(p), rapid.StringMatching(p))
	}
	if values, ok := declared["AllowedValues"].([]any); ok {
		generators = append(generators, rapid.Map(rapid.SampledFrom(values), func(v any) string { return v.(string) }))
	}
	return rapid.OneOf(generators...)
}

// nearMiss changes a value in one place, or not at all.
func nearMiss(r *rapid.T, value string) string {
	if value == "" || rapid.Bool().Draw(r, "as it is") {
		return value
	}
	at := rapid.IntRange(0, len(value)-1).Draw(r, "at")
	with := rapid.SampledFrom([]string{"", "0", "9", ".", "-", "s", "M", " "}).Draw(r, "with")
	return value[:at] + with + value[at+1:]
}

// settingFault returns what a program says about one setting.
func settingFault(setting, value string) string {
	_, err := boot.Load(func(name string) (string, bool) { return value, name == setting }, boot.Local)
	if err == nil {
		_, err = boot.Load(func(name string) (string, bool) { return value, name == setting }, boot.API)
	}
	if err == nil {
		return ""
	}
	var faults []string
	for line := range strings.Lines(err.Error()) {
		if strings.HasPrefix(line, setting+"=") {
			faults = append(faults, line)
		}
	}
	return strings.Join(faults, "")
}

// TestSecretNeedsItsFullARN: the policy names the ARN, and one without its suffix
// would match nothing.
func TestSecretNeedsItsFullARN(t *testing.T) {
	accepts := acceptor(t, "CredentialsSecretArn")
	for value, want := range map[string]bool{
		"": true,
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:eureka-AbCdEf":       true,
		"arn:aws-cn:secretsmanager:cn-north-1:123456789012:secret:team/eureka-AbCdEf": true,
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:eureka":              false,
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:eureka-prod":         false,
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:eureka-AbCdE":        false,
		"arn:aws:secretsmanager:eu-central-1:123456789012:secret:eureka-AbCdEf*":      false,
		"eureka": false,
	} {
		assert.Equal(t, want, accepts(value), value)
	}
}
