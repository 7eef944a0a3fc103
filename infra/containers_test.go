package infra_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// TestContainersRules: the stack is refused when it would be open by accident,
// and when both tasks would be in one subnet.
func TestContainersRules(t *testing.T) {
	const secret = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:eureka-AbCdEf"
	type parameters = map[string]string
	for name, tt := range map[string]struct {
		parameters parameters
		refused    string
	}{
		"a secret":        {parameters{"CredentialsSecretArn": secret, "SubnetA": "subnet-1", "SubnetB": "subnet-2"}, ""},
		"open by name":    {parameters{"AnonymousAccess": "true", "SubnetA": "subnet-1", "SubnetB": "subnet-2"}, ""},
		"nothing said":    {parameters{"SubnetA": "subnet-1", "SubnetB": "subnet-2"}, "AnonymousAccess=true to serve without credentials"},
		"open and secret": {parameters{"AnonymousAccess": "true", "CredentialsSecretArn": secret, "SubnetA": "subnet-1", "SubnetB": "subnet-2"}, "set only one of them"},
		"one subnet":      {parameters{"CredentialsSecretArn": secret, "SubnetA": "subnet-1", "SubnetB": "subnet-1"}, "two Availability Zones"},
	} {
		t.Run(name, func(t *testing.T) {
			refused := refusals(t, containers(t), tt.parameters)
			if tt.refused == "" {
				assert.Empty(t, refused)
				return
			}
			assert.Contains(t, strings.Join(refused, "\n"), tt.refused)
		})
	}
}

// TestContainersMayDoWhatTheApiFunctionMay: tasks serve the same requests, so
// their role has the same actions on the same tables (TestPermissions).
func TestContainersMayDoWhatTheApiFunctionMay(t *testing.T) {
	var got []string
	policy := list(t, containers(t), "Resources", "TaskRole", "Properties", "Policies")[0]
	for _, s := range list(t, policy, "PolicyDocument", "Statement") {
		if _, conditional := s.(object)["Fn::If"]; conditional {
			continue // the secret
		}
		table := "LeaseTable"
		if strings.Contains(text(t, s, "Resource", "Fn::Sub"), "${DeltaTableName}") {
			table = "DeltaTable"
		}
		for _, action := range actionsOf(t, s) {
			got = append(got, strings.TrimPrefix(action, "dynamodb:")+" "+table)
		}
	}
	slices.Sort(got)
	assert.Equal(t, allowed(t, "ApiRole"), got)
}

// TestContainersSettings: what a task has in its environment are settings of
// the process, with values that it accepts.
func TestContainersSettings(t *testing.T) {
	e := evaluation{t, containers(t), map[string]string{"AnonymousAccess": "true", "LeaseTableName": "leases", "DeltaTableName": "deltas"}}
	definition := list(t, containers(t), "Resources", "Task", "Properties", "ContainerDefinitions")[0]
	variables := map[string]string{"REGISTRY_LISTEN": "0.0.0.0:8761", "AWS_REGION": "eu-central-1"}
	for _, v := range list(t, definition, "Environment") {
		if _, conditional := v.(object)["Fn::If"]; conditional || text(t, v, "Name") == "GOMEMLIMIT" {
			continue
		}
		variables[text(t, v, "Name")] = e.value(at(t, v, "Value"))
	}
	known := map[string]bool{}
	for _, s := range boot.Settings() {
		known[s.Name] = s.Users.Has(boot.Local)
	}
	for name := range variables {
		if strings.HasPrefix(name, "AWS_") {
			continue
		}
		assert.True(t, known[name], "the process reads no %s", name)
	}
	variables["AWS_ENDPOINT_URL_DYNAMODB"] = strings.NewReplacer("AWS::Region", "eu-central-1", "AWS::URLSuffix", "amazonaws.com").
		Replace(variables["AWS_ENDPOINT_URL_DYNAMODB"])
	cfg, err := boot.Load(func(name string) (string, bool) { value, ok := variables[name]; return value, ok }, boot.Local)
	require.NoError(t, err)
	assert.True(t, boot.AtAWS(cfg.DynamoDBEndpoint))
	assert.False(t, cfg.Background, "the main stack's functions do it")
}

// TestContainersRefuseWhatTheStackRefuses: a value that the process would not
// start with is refused before there are tasks, as the main stack does.
func TestContainersRefuseWhatTheStackRefuses(t *testing.T) {
	for _, name := range []string{"RenewalWriteInterval", "CacheRefresh", "ClockAllowance", "LogLevel"} {
		here, there := dict(t, containers(t), "Parameters", name), dict(t, template(t), "Parameters", name)
		assert.Equal(t, there["AllowedPattern"], here["AllowedPattern"], name)
		assert.Equal(t, there["AllowedValues"], here["AllowedValues"], name)
	}
	// There it may be empty.
	pattern := text(t, containers(t), "Parameters", "AllowedCidr", "AllowedPattern")
	for cidr, want := range map[string]bool{
		"10.0.0.0/16": true, "0.0.0.0/0": true, "192.168.10.255/32": true, "": false, "10.0.0.256/16": false, "999.0.0.0/8": false, "10.0.0.0/33": false,
	} {
		assert.Equal(t, want, regexp.MustCompile(pattern).MatchString(cidr), cidr)
		if cidr != "" {
			assert.Equal(t, want, regexp.MustCompile(text(t, template(t), "Parameters", "AllowedCidr", "AllowedPattern")).MatchString(cidr), cidr)
		}
	}
}

// TestMachinesSettings: the settings that the page gives a machine are ones
// that the process starts with.
func TestMachinesSettings(t *testing.T) {
	page, err := os.ReadFile("CONTAINERS.md")
	require.NoError(t, err)
	_, block, ok := strings.Cut(string(page), "```ini\nAWS_REGION")
	require.True(t, ok)
	block, _, _ = strings.Cut("AWS_REGION"+block, "```")
	variables := map[string]string{}
	for line := range strings.Lines(block) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		require.True(t, ok, line)
		variables[name] = value
	}
	cfg, err := boot.Load(func(name string) (string, bool) { value, ok := variables[name]; return value, ok }, boot.Local)
	require.NoError(t, err)
	assert.False(t, cfg.Background)
	assert.False(t, cfg.Anonymous)
	assert.Equal(t, 75*time.Second, cfg.RenewalWriteInterval)
	assert.Empty(t, boot.Unread(strings.Split(strings.TrimSpace(block), "\n"), boot.Local))
}
