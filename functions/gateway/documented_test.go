package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/gateway"
)

// documentedEvents have the form, though not the values, of the events in AWS's
// documentation and in the tests of aws-lambda-go and aws-lambda-go-api-proxy:
// with fields that are null, empty, absent, or of no use here.
var documentedEvents = []struct {
	name, event string
	method      string
	path        string
	query       url.Values
	body        string
	remote      string
	header      http.Header
}{
	{"load balancer, GET", `{"requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:us-west-1:123456789012:targetgroup/reads/0a1b2c3d4e5f6071"}},
		"httpMethod": "GET", "path": "/eureka/apps", "queryStringParameters": {"regions": "us%2Ceu"},
		"headers": {"accept": "application/json", "connection": "keep-alive", "host": "reads-1.us-west-1.elb.amazonaws.com",
			"upgrade-insecure-requests": "1", "x-amzn-trace-id": "Root=1-5bdb40ca-aaaa0123456789abcdef0123", "x-forwarded-for": "192.0.2.7", "x-forwarded-port": "80", "x-forwarded-proto": "http"},
		"body": "", "isBase64Encoded": false}`,
		"GET", "/eureka/apps", url.Values{"regions": {"us,eu"}}, "", "192.0.2.7:0", http.Header{"Accept": {"application/json"}}},
	{"load balancer, lists, repeated", `{"requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:us-west-1:123456789012:targetgroup/reads/0a1b2c3d4e5f6071"}},
		"httpMethod": "GET", "path": "/eureka/apps", "multiValueQueryStringParameters": {"name": ["one", "t%20wo"]},
		"multiValueHeaders": {"cookie": ["name1=value1"], "accept": ["application/xml", "application/json"], "x-forwarded-for": ["192.0.2.7"]},
		"body": "", "isBase64Encoded": false}`,
		"GET", "/eureka/apps", url.Values{"name": {"one", "t wo"}}, "", "192.0.2.7:0", http.Header{"Accept": {"application/xml", "application/json"}, "Cookie": {"name1=value1"}}},
	{"load balancer, health check", `{"requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:us-west-1:123456789012:targetgroup/reads/0a1b2c3d4e5f6071"}},
		"httpMethod": "GET", "path": "/", "queryStringParameters": {}, "headers": {"user-agent": "ELB-HealthChecker/2.0"}, "body": "", "isBase64Encoded": false}`,
		"GET", "/", url.Values{}, "", ":0", http.Header{"User-Agent": {"ELB-HealthChecker/2.0"}}},
	{"load balancer, lists, health check", `{"requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:us-west-1:123456789012:targetgroup/reads/0a1b2c3d4e5f6071"}},
		"httpMethod": "GET", "path": "/", "multiValueQueryStringParameters": {}, "multiValueHeaders": {}, "body": null, "isBase64Encoded": false}`,
		"GET", "/", url.Values{}, "", ":0", http.Header{}},
	{"load balancer, binary body", `{"requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:us-west-1:123456789012:targetgroup/writes/0a1b2c3d4e5f6071"}},
		"httpMethod": "POST", "path": "/eureka/apps/SHOP", "queryStringParameters": null, "headers": {"content-encoding": "gzip", "x-forwarded-for": "203.0.113.1, 2001:db8::7"},
		"body": "H4sI", "isBase64Encoded": true}`,
		"POST", "/eureka/apps/SHOP", url.Values{}, "\x1f\x8b\x08", "[2001:db8::7]:0", http.Header{"Content-Encoding": {"gzip"}}},
	{"HTTP API", `{"version": "2.0", "routeKey": "$default", "rawPath": "/eureka/apps", "rawQueryString": "a=1&a=2&b=3", "cookies": ["c1", "c2"],
		"headers": {"header1": "v1", "header2": "v1,v2"}, "queryStringParameters": {"a": "1,2", "b": "3"},
		"requestContext": {"accountId": "123456789012", "apiId": "api", "authentication": {"clientCert": {"clientCertPem": "PEM", "subjectDN": "CN=x", "validity": {"notBefore": "May", "notAfter": "Aug"}}},
			"authorizer": {"jwt": {"claims": {"claim1": "v"}, "scopes": ["s"]}}, "domainName": "id.execute-api.us-east-1.amazonaws.com", "domainPrefix": "id",
			"http": {"method": "GET", "path": "/eureka/apps", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "agent"},
			"requestId": "id", "routeKey": "$default", "stage": "$default", "time": "12/Mar/2026:19:03:58 +0000", "timeEpoch": 1583348638390},
		"pathParameters": {"parameter1": "v"}, "isBase64Encoded": false, "stageVariables": {"s": "v"}}`,
		"GET", "/eureka/apps", url.Values{"a": {"1", "2"}, "b": {"3"}}, "", "192.0.2.1:0", http.Header{"Header1": {"v1"}, "Header2": {"v1,v2"}, "Cookie": {"c1; c2"}}},
	{"function URL", `{"version": "2.0", "routeKey": "$default", "rawPath": "/eureka/apps/SHOP/a%2Fb", "rawQueryString": "value=UP", "headers": {"content-type": "application/json"},
		"queryStringParameters": {"value": "UP"},
		"requestContext": {"accountId": "123456789012", "apiId": "urlid", "authentication": null, "authorizer": {"iam": {"accessKey": "AKIA", "cognitoIdentity": null, "principalOrgId": null}},
			"domainName": "urlid.lambda-url.us-west-2.on.aws", "domainPrefix": "urlid",
			"http": {"method": "PUT", "path": "/eureka/apps/SHOP/a%2Fb", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.2", "userAgent": "agent"},
			"requestId": "id", "routeKey": "$default", "stage": "$default", "time": "12/Mar/2026:19:03:58 +0000", "timeEpoch": 1583348638390},
		"body": "text", "pathParameters": null, "isBase64Encoded": false, "stageVariables": null}`,
		"PUT", "/eureka/apps/SHOP/a/b", url.Values{"value": {"UP"}}, "text", "192.0.2.2:0", http.Header{"Content-Type": {"application/json"}}},
	{"REST API", `{"resource": "/{proxy+}", "path": "/eureka/apps", "httpMethod": "GET", "headers": null, "multiValueHeaders": null,
		"queryStringParameters": null, "multiValueQueryStringParameters": null, "pathParameters": null, "stageVariables": null,
		"requestContext": {"resourcePath": "/{proxy+}", "httpMethod": "GET", "path": "/prod/eureka/apps", "stage": "prod", "authorizer": null, "protocol": "HTTP/1.1",
			"identity": {"cognitoIdentityPoolId": null, "clientCert": null, "sourceIp": "192.0.2.3", "user": null}, "domainName": "id.execute-api.us-east-1.amazonaws.com"},
		"body": null, "isBase64Encoded": false}`,
		"GET", "/eureka/apps", url.Values{}, "", "192.0.2.3:0", http.Header{}},
}

// TestDocumentedEvents: each is understood as the request that it describes.
func TestDocumentedEvents(t *testing.T) {
	for _, tt := range documentedEvents {
		t.Run(tt.name, func(t *testing.T) {
			var seen *http.Request
			var body []byte
			h := gateway.New(gateway.Config{HTTP: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				seen = r.WithContext(context.Background())
				body, _ = io.ReadAll(r.Body)
			})})
			response, err := h.Invoke(t.Context(), []byte(tt.event))
			require.NoError(t, err)
			require.NotNil(t, seen, "%s", response)
			assert.Equal(t, tt.method, seen.Method)
			assert.Equal(t, tt.path, seen.URL.Path)
			assert.Equal(t, tt.query, seen.URL.Query())
			assert.Equal(t, tt.body, string(body))
			assert.Equal(t, tt.remote, seen.RemoteAddr)
			for name, want := range tt.header {
				assert.Equal(t, want, seen.Header[name], name)
			}
		})
	}
}
