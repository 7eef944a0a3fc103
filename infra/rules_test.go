package infra_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRules: CloudFormation refuses parameters that contradict each other, above
// all those that would leave the registry open by accident.
func TestRules(t *testing.T) {
	const (
		secret      = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:eureka-AbCdEf"
		certificate = "arn:aws:acm:eu-central-1:123456789012:certificate/1"
		edge        = "arn:aws:acm:us-east-1:123456789012:certificate/1"
	)
	type parameters = map[string]string
	with := func(more ...parameters) parameters {
		all := parameters{"CredentialsSecretArn": secret}
		for _, m := range more {
			maps.Copy(all, m)
		}
		return all
	}
	domain := parameters{"DomainName": "reg.example.org", "CertificateArn": certificate}
	truststore := parameters{"TruststoreUri": "s3://b/k"}
	front := parameters{"CloudFront": "true", "EdgeCaching": "true", "EdgeDomainName": "edge.example.org", "EdgeCertificateArn": edge}
	url := parameters{"Entry": "url"}
	alb := parameters{"Entry": "alb", "VpcId": "vpc-12345678", "SubnetIds": "subnet-12345678,subnet-87654321", "AllowedCidr": "10.0.0.0/8"}
	tests := map[string]struct {
		parameters parameters
		refused    string
	}{
		"defaults":                     {nil, "AnonymousAccess=true to serve everybody"},
		"a secret":                     {with(), ""},
		"open by name":                 {parameters{"AnonymousAccess": "true"}, ""},
		"open with a secret":           {with(parameters{"AnonymousAccess": "true"}), "set only one of them"},
		"domain":                       {with(domain), ""},
		"domain without certificate":   {with(parameters{"DomainName": "reg.example.org"}), "go together"},
		"certificate without domain":   {with(parameters{"CertificateArn": certificate}), "go together"},
		"domain in a zone":             {with(domain, parameters{"HostedZoneId": "Z1"}), ""},
		"zone without domain":          {with(parameters{"HostedZoneId": "Z1"}), "records of DomainName"},
		"mutual TLS":                   {with(domain, truststore), ""},
		"mutual TLS, version":          {with(domain, truststore, parameters{"TruststoreVersion": "v"}), ""},
		"mutual TLS without domain":    {with(truststore), "needs DomainName"},
		"version without truststore":   {with(domain, parameters{"TruststoreVersion": "v"}), "version of TruststoreUri"},
		"CloudFront":                   {with(front), ""},
		"CloudFront, domain":           {with(front, domain), ""},
		"CloudFront, open":             {parameters{"AnonymousAccess": "true", "CloudFront": "true"}, ""},
		"CloudFront, no caching":       {with(front, parameters{"EdgeCaching": "false"}), "only with EdgeCaching"},
		"CloudFront, its own name":     {with(parameters{"CloudFront": "true", "EdgeCaching": "true"}), "allows TLS 1.0"},
		"CloudFront, name, no cert":    {with(front, parameters{"EdgeCertificateArn": ""}), "EdgeDomainName and EdgeCertificateArn go together"},
		"CloudFront, cert, no name":    {parameters{"AnonymousAccess": "true", "CloudFront": "true", "EdgeCertificateArn": edge}, "EdgeDomainName and EdgeCertificateArn go together"},
		"edge name without CloudFront": {with(front, parameters{"CloudFront": "false"}), "with CloudFront=true"},
		"CloudFront, mutual TLS":       {with(front, domain, truststore), "presents no client certificate"},
		"url":                          {with(url), ""},
		"url, open":                    {parameters{"AnonymousAccess": "true", "Entry": "url"}, ""},
		"url, nothing said":            {url, "AnonymousAccess=true to serve everybody"},
		"url, domain":                  {with(url, domain), "no domain name of your own"},
		"url, CloudFront":              {with(url, front), "CloudFront is for the HTTP API"},
		"url, mutual TLS":              {with(url, truststore), "is for the HTTP API"},
		"url in a VPC":                 {with(url, parameters{"VpcId": "vpc-12345678"}), "the registry would be public"},
		"alb":                          {with(alb), ""},
		"alb, nothing said":            {alb, "AnonymousAccess=true to serve everybody"},
		"alb, certificate":             {with(alb, parameters{"CertificateArn": certificate}), ""},
		"alb, domain over HTTP":        {with(alb, parameters{"DomainName": "reg.example.org"}), ""},
		"alb, domain in a zone":        {with(alb, domain, parameters{"HostedZoneId": "Z1"}), ""},
		"alb without VPC":              {with(alb, parameters{"VpcId": ""}), "needs VpcId, SubnetIds and AllowedCidr"},
		"alb without subnets":          {with(alb, parameters{"SubnetIds": ""}), "needs VpcId, SubnetIds and AllowedCidr"},
		"alb without range":            {with(alb, parameters{"AllowedCidr": ""}), "needs VpcId, SubnetIds and AllowedCidr"},
		"alb, public":                  {with(alb, domain, parameters{"LoadBalancerScheme": "internet-facing"}), ""},
		"alb, public without TLS":      {with(alb, parameters{"LoadBalancerScheme": "internet-facing"}), "needs CertificateArn"},
		"alb, CloudFront":              {with(alb, front), "CloudFront is for the HTTP API"},
		"alb, mutual TLS":              {with(alb, domain, truststore), "is for the HTTP API"},
		"alb, access log":              {with(alb, parameters{"AccessLog": "true", "AccessLogBucket": "logs"}), ""},
		"alb, access log to nowhere":   {with(alb, parameters{"AccessLog": "true"}), "AccessLogBucket"},
		"http in a VPC":                {with(parameters{"VpcId": "vpc-12345678"}), "the registry would be public"},
		"http in subnets":              {with(parameters{"SubnetIds": "subnet-12345678"}), "the registry would be public"},
		"http with a range":            {with(parameters{"AllowedCidr": "10.0.0.0/8"}), "the registry would be public"},
		"http with a scheme":           {with(parameters{"LoadBalancerScheme": "internet-facing"}), "have no effect without Entry=alb"},
		"tables of the same name":      {with(parameters{"LeaseTableName": "t-1", "DeltaTableName": "t-1"}), "must differ"},
		"tables of other names":        {with(parameters{"LeaseTableName": "t-1", "DeltaTableName": "t-2"}), ""},
		"canary":                       {with(parameters{"Deployment": "Canary10Percent5Minutes", "Release": "r1"}), ""},
		"canary without a release":     {with(parameters{"Deployment": "Canary10Percent5Minutes"}), "a new Release publishes the versions"},
		"published":                    {with(parameters{"Deployment": "Published", "Release": "r1"}), ""},
		"published without a release":  {with(parameters{"Deployment": "Published"}), "a new Release publishes the versions"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			refused := refusals(t, template(t), tt.parameters)
			if tt.refused == "" {
				assert.Empty(t, refused)
				return
			}
			require.NotEmpty(t, refused)
			assert.Contains(t, strings.Join(refused, "\n"), tt.refused)
		})
	}
}

// refusals returns what a template's rules say against parameters.
func refusals(t *testing.T, template object, parameters map[string]string) []string {
	t.Helper()
	e := evaluation{t, template, parameters}
	var out []string
	for _, rule := range dict(t, template, "Rules") {
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
