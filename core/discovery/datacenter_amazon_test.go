package discovery

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

// metadataService answers by method and URL, to those who show the header.
type metadataService struct {
	answers       map[string]string
	header, value string
}

func (m metadataService) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusOK, Request: req, Header: http.Header{}}
	answer, ok := m.answers[req.Method+" "+req.URL.String()]
	switch {
	case !ok:
		resp.StatusCode = http.StatusNotFound
	case req.Method == http.MethodGet && m.header != "" && req.Header.Get(m.header) != m.value:
		resp.StatusCode = http.StatusUnauthorized
	}
	resp.Body = io.NopCloser(strings.NewReader(answer))
	return resp, nil
}

func ask(t *testing.T, m metadataService, environment map[string]string) (Location, error) {
	t.Helper()
	a := &amazon{client: &http.Client{Transport: m}, getenv: func(name string) string { return environment[name] }}
	return a.locate(context.Background())
}

func TestAmazonInstance(t *testing.T) {
	const base = "GET http://169.254.169.254/latest/meta-data/"
	m := metadataService{header: "X-aws-ec2-metadata-token", value: "token", answers: map[string]string{
		"PUT http://169.254.169.254/latest/api/token": "token",
		base + "instance-id":                          "i-1", base + "ami-id": "ami-1", base + "instance-type": "m5.large",
		base + "placement/availability-zone": "us-east-1a", base + "local-ipv4": "10.0.0.1",
		base + "local-hostname": "ip-10-0-0-1.ec2.internal", base + "mac": "00:00",
	}}
	at, err := ask(t, m, nil)
	require.NoError(t, err)
	assert.Equal(t, Location{
		DataCenter: eureka.DataCenterInfo{
			Class: eureka.AmazonDataCenterClass, Name: eureka.DataCenterAmazon,
			Metadata: map[string]string{
				"instance-id": "i-1", "ami-id": "ami-1", "instance-type": "m5.large", "availability-zone": "us-east-1a",
				"local-ipv4": "10.0.0.1", "local-hostname": "ip-10-0-0-1.ec2.internal", "mac": "00:00",
			},
		},
		HostName: "ip-10-0-0-1.ec2.internal", IPAddr: "10.0.0.1",
	}, at)

	m.answers[base+"public-hostname"] = "ec2.example.org"
	at, err = ask(t, m, nil)
	require.NoError(t, err)
	assert.Equal(t, "ec2.example.org", at.HostName)

	m.value = "another"
	_, err = ask(t, m, nil)
	assert.ErrorContains(t, err, "401", "a refusal is no missing entry")
	_, err = ask(t, metadataService{}, nil)
	assert.Error(t, err, "no service, no location")
}

func TestAmazonTask(t *testing.T) {
	m := metadataService{answers: map[string]string{
		"GET http://169.254.170.2/v4/x/task": `{"TaskARN": "arn:aws:ecs:us-west-2:111122223333:task/default/8f03", "AvailabilityZone": "us-west-2d", "Family": "f"}`,
		"GET http://169.254.170.2/v4/x":      `{"Networks": [{"IPv4Addresses": ["10.0.2.106"], "PrivateDNSName": "ip-10-0-2-106.ec2.internal"}]}`,
	}}
	environment := map[string]string{"ECS_CONTAINER_METADATA_URI_V4": "http://169.254.170.2/v4/x"}
	at, err := ask(t, m, environment)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"instance-id": "8f03", "accountId": "111122223333", "availability-zone": "us-west-2d",
		"local-ipv4": "10.0.2.106", "local-hostname": "ip-10-0-2-106.ec2.internal",
	}, at.DataCenter.Metadata)
	assert.Equal(t, "10.0.2.106", at.IPAddr)

	m.answers["GET http://169.254.170.2/v4/x"] = "not JSON"
	_, err = ask(t, m, environment)
	assert.ErrorContains(t, err, "ECS task")
}

func TestAmazonFunction(t *testing.T) {
	m := metadataService{header: "Authorization", value: "Bearer secret", answers: map[string]string{
		"GET http://127.0.0.1:9001/2026-01-15/metadata/execution-environment": `{"AvailabilityZoneID": "use1-az1"}`,
	}}
	environment := map[string]string{"AWS_LAMBDA_METADATA_API": "127.0.0.1:9001", "AWS_LAMBDA_METADATA_TOKEN": "secret", "AWS_LAMBDA_FUNCTION_NAME": "f"}
	at, err := ask(t, m, environment)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"instance-id": "f", "availability-zone-id": "use1-az1"}, at.DataCenter.Metadata)
	assert.Empty(t, ZoneOf(&eureka.InstanceInfo{DataCenter: at.DataCenter}), "the id is not the name that others have")

	environment["AWS_LAMBDA_METADATA_TOKEN"] = "wrong"
	_, err = ask(t, m, environment)
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "wrong")
}
