package infra_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRules: what CloudFormation refuses to deploy, above all an open registry
// that nobody asked for by name.
func TestRules(t *testing.T) {
	const (
		secret      = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:eureka"
		certificate = "arn:aws:acm:eu-central-1:123456789012:certificate/1"
	)
	tests := map[string]struct {
		parameters map[string]string
		refused    string
	}{
		"nothing said":         {nil, "AnonymousAccess=true"},
		"a secret":             {map[string]string{"CredentialsSecretArn": secret}, ""},
		"open by name":         {map[string]string{"AnonymousAccess": "true"}, ""},
		"private, no endpoint": {map[string]string{"CredentialsSecretArn": secret, "Gateway": "private"}, "VpcEndpointIds"},
		"private":              {map[string]string{"CredentialsSecretArn": secret, "Gateway": "private", "VpcEndpointIds": "vpce-1,vpce-2"}, ""},
		"private and open":     {map[string]string{"Gateway": "private", "VpcEndpointIds": "vpce-1"}, "AnonymousAccess=true"},
		"private, own domain": {map[string]string{
			"CredentialsSecretArn": secret, "Gateway": "private", "VpcEndpointIds": "vpce-1", "DomainName": "reg.example.org", "CertificateArn": certificate,
		}, "DomainName is for the HTTP API"},
		"domain":                 {map[string]string{"CredentialsSecretArn": secret, "DomainName": "reg.example.org", "CertificateArn": certificate}, ""},
		"domain, no certificate": {map[string]string{"CredentialsSecretArn": secret, "DomainName": "reg.example.org"}, "go together"},
		"open, with a secret":    {map[string]string{"CredentialsSecretArn": secret, "AnonymousAccess": "true"}, "asks nobody"},
		"private, streaming": {map[string]string{
			"CredentialsSecretArn": secret, "Gateway": "private", "VpcEndpointIds": "vpce-1", "StreamingUrl": "true",
		}, "on the internet"},
		"mutual TLS": {map[string]string{
			"CredentialsSecretArn": secret, "DomainName": "reg.example.org", "CertificateArn": certificate, "TruststoreUri": "s3://b/k",
		}, ""},
		"mutual TLS, no domain": {map[string]string{"CredentialsSecretArn": secret, "TruststoreUri": "s3://b/k"}, "needs DomainName"},
		"mutual TLS, streaming": {map[string]string{
			"CredentialsSecretArn": secret, "DomainName": "reg.example.org", "CertificateArn": certificate, "TruststoreUri": "s3://b/k", "StreamingUrl": "true",
		}, "no client certificate"},
		"CloudFront, open":        {map[string]string{"AnonymousAccess": "true", "CloudFront": "true"}, ""},
		"CloudFront":              {map[string]string{"CredentialsSecretArn": secret, "EdgeCaching": "true", "CloudFront": "true"}, ""},
		"CloudFront that may not": {map[string]string{"CredentialsSecretArn": secret, "CloudFront": "true"}, "only with EdgeCaching"},
		"CloudFront, private": {map[string]string{
			"CredentialsSecretArn": secret, "EdgeCaching": "true", "CloudFront": "true", "Gateway": "private", "VpcEndpointIds": "vpce-1",
		}, "not a private gateway"},
		"CloudFront, mutual TLS": {map[string]string{
			"CredentialsSecretArn": secret, "EdgeCaching": "true", "CloudFront": "true", "DomainName": "reg.example.org", "CertificateArn": certificate, "TruststoreUri": "s3://b/k",
		}, "shows the API no client certificate"},
		"certificate, no domain": {map[string]string{"CredentialsSecretArn": secret, "CertificateArn": certificate}, "go together"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			refused := refusals(t, tt.parameters)
			if tt.refused == "" {
				assert.Empty(t, refused)
				return
			}
			require.NotEmpty(t, refused)
			assert.Contains(t, strings.Join(refused, "\n"), tt.refused)
		})
	}
}

// refusals returns what the template's rules say against parameters.
func refusals(t *testing.T, parameters map[string]string) []string {
	t.Helper()
	e := evaluation{t, parameters, dict(t, template(t), "Parameters")}
	var out []string
	for _, rule := range dict(t, template(t), "Rules") {
		if condition, ok := rule.(object)["RuleCondition"]; ok && !e.holds(condition) {
			continue
		}
		for _, a := range list(t, rule, "Assertions") {
			if !e.holds(at(t, a, "Assert")) {
				out = append(out, text(t, a, "AssertDescription"))
			}
		}
	}
	return out
}

// evaluation evaluates rules and conditions as CloudFormation does.
type evaluation struct {
	t          *testing.T
	parameters map[string]string
	declared   object
}

func (e evaluation) holds(n node) bool {
	e.t.Helper()
	for function, arguments := range n.(object) {
		if function == "Condition" {
			return e.holds(at(e.t, template(e.t), "Conditions", arguments.(string)))
		}
		switch args := arguments.([]any); function {
		case "Fn::Equals":
			return e.value(args[0]) == e.value(args[1])
		case "Fn::Not":
			return !e.holds(args[0])
		case "Fn::And":
			return !slices.ContainsFunc(args, func(n node) bool { return !e.holds(n) })
		case "Fn::Or":
			return slices.ContainsFunc(args, e.holds)
		case "Fn::Contains":
			return slices.Contains(strings.Split(e.value(args[0]), ","), e.value(args[1]))
		default:
			e.t.Fatalf("rules do not know %s", function)
		}
	}
	return false
}

func (e evaluation) value(n node) string {
	e.t.Helper()
	o, ok := n.(object)
	if !ok {
		return n.(string)
	}
	name := text(e.t, o, "Ref")
	if value, ok := e.parameters[name]; ok {
		return value
	}
	return text(e.t, e.declared, name, "Default")
}
