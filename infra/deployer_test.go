package infra_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDeployerMayCreateEverything: the deployer's policy has the services of all
// resource types, and fits into a managed policy.
func TestDeployerMayCreateEverything(t *testing.T) {
	data, err := os.ReadFile("deployer-policy.json")
	require.NoError(t, err)
	assert.Less(t, len(strings.Join(strings.Fields(string(data)), "")), 6144)
	var policy struct {
		Statement []struct {
			Effect string
			Action any
		}
	}
	require.NoError(t, json.Unmarshal(data, &policy))
	granted := map[string]bool{}
	for _, s := range policy.Statement {
		require.Equal(t, "Allow", s.Effect)
		actions, several := s.Action.([]any)
		if !several {
			actions = []any{s.Action}
		}
		for _, a := range actions {
			granted[strings.Split(a.(string), ":")[0]] = true
		}
	}
	prefixes := map[string]string{
		"ApiGatewayV2": "apigateway", "ApplicationAutoScaling": "application-autoscaling", "CloudFront": "cloudfront", "CloudWatch": "cloudwatch",
		"CodeDeploy": "codedeploy", "DynamoDB": "dynamodb", "EC2": "ec2", "ElasticLoadBalancingV2": "elasticloadbalancing", "Events": "events",
		"IAM": "iam", "Lambda": "lambda", "Logs": "logs", "Route53": "route53", "SQS": "sqs", "Serverless": "lambda",
	}
	for name, r := range dict(t, template(t), "Resources") {
		kind := text(t, r, "Type")
		prefix, ok := prefixes[strings.Split(kind, "::")[1]]
		require.True(t, ok, kind)
		assert.True(t, granted[prefix], "nobody may create %s, %s", name, kind)
	}
}

// TestSkippedChecksHaveReasons: each check that checkov skips has its reason above
// it.
func TestSkippedChecksHaveReasons(t *testing.T) {
	config, err := os.ReadFile("../.checkov.yaml")
	require.NoError(t, err)
	_, skips, found := strings.Cut(string(config), "skip-check:\n")
	require.True(t, found)
	reason, checks := "", 0
	for line := range strings.Lines(skips) {
		if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok {
			reason += comment
			continue
		}
		checks++
		assert.Greater(t, len(reason), 60, line)
		reason = ""
	}
	assert.Positive(t, checks)
}
