package infra_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
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

// TestDeployerMayDoWhatCloudFormationDoes: CloudFormation acts with the
// deployer's permissions, and its handlers call more than the obvious actions.
func TestDeployerMayDoWhatCloudFormationDoes(t *testing.T) {
	const account = "eu-central-1:123456789012"
	role, mapping := "arn:aws:iam::123456789012:role/eureka-ReadRole-1ABC", "arn:aws:lambda:"+account+":event-source-mapping:0a1b"
	scaling := "arn:aws:cloudwatch:" + account + ":alarm:TargetTracking-table/eureka-leases-AlarmHigh-0a1b"
	for _, c := range []struct{ action, resource, why string }{
		{"iam:ListRolePolicies", role, "deletes a role"},
		{"iam:ListAttachedRolePolicies", role, "deletes a role"},
		{"iam:UpdateRoleDescription", role, "updates a role"},
		{"iam:PassRole", role, "creates a function"},
		{"lambda:TagResource", mapping, "creates an event source mapping of a stack with tags"},
		{"lambda:ListTags", mapping, "reads an event source mapping"},
		{"cloudwatch:GetMetricData", "*", "creates a scaling policy"},
		{"cloudwatch:PutMetricAlarm", scaling, "creates a scaling policy"},
		{"cloudwatch:DeleteAlarms", scaling, "deletes a scaling policy"},
		{"logs:GetLogDelivery", "*", "creates a stage with an access log"},
		{"logs:ListLogDeliveries", "*", "creates a stage with an access log"},
		{"ec2:AuthorizeSecurityGroupEgress", "*", "creates a security group"},
		{"ec2:RevokeSecurityGroupEgress", "*", "creates a security group"},
		{"ec2:UpdateSecurityGroupRuleDescriptionsIngress", "*", "updates a security group"},
		{"ec2:DeleteTags", "*", "updates a security group"},
		{"ec2:DescribeInstances", "*", "deletes a security group"},
		{"ec2:DescribeIpamPools", "*", "creates a load balancer"},
		{"ec2:GetSecurityGroupsForVpc", "*", "creates a load balancer"},
	} {
		assert.True(t, deployerMay(t, c.action, c.resource), "%s %s: %s", c.action, c.resource, c.why)
	}
	assert.False(t, deployerMay(t, "iam:PutRolePolicy", "arn:aws:iam::123456789012:role/admin"), "roles of others")
	assert.False(t, deployerMay(t, "cloudwatch:DeleteAlarms", "arn:aws:cloudwatch:"+account+":alarm:others"), "alarms of others")
}

// TestDeployerPassesRolesToKnownServices: a role of the stack cannot be given
// to any other service.
func TestDeployerPassesRolesToKnownServices(t *testing.T) {
	for _, s := range deployerStatements(t) {
		if !slices.ContainsFunc(s.Action, func(a string) bool { return matches(a, "iam:PassRole") }) {
			continue
		}
		assert.Equal(t, []string{"codedeploy.amazonaws.com", "lambda.amazonaws.com"}, s.Condition.StringEquals["iam:PassedToService"])
	}
}

// words is one string or several, as policies have them.
type words []string

// UnmarshalJSON reads either form.
func (w *words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

type deployerStatement struct {
	Action, Resource words
	Condition        struct{ StringEquals map[string][]string }
}

func deployerStatements(t *testing.T) []deployerStatement {
	t.Helper()
	data, err := os.ReadFile("deployer-policy.json")
	require.NoError(t, err)
	var policy struct{ Statement []deployerStatement }
	require.NoError(t, json.Unmarshal(data, &policy))
	return policy.Statement
}

// deployerMay reports whether a statement allows the action on the resource;
// conditions count as met.
func deployerMay(t *testing.T, action, resource string) bool {
	t.Helper()
	return slices.ContainsFunc(deployerStatements(t), func(s deployerStatement) bool {
		return slices.ContainsFunc(s.Action, func(a string) bool { return matches(a, action) }) &&
			slices.ContainsFunc(s.Resource, func(r string) bool { return matches(r, resource) })
	})
}

// matches reports whether the text fits a pattern whose asterisks stand for
// anything.
func matches(pattern, text string) bool {
	quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
	return regexp.MustCompile("^" + quoted + "$").MatchString(text)
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
