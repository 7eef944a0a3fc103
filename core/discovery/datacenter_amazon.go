package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/eurekaless/registry/core/eureka"
)

// The metadata services. EC2's has the same address in every network; those of
// ECS and Lambda are named by the environment.
const (
	ec2MetadataURL    = "http://169.254.169.254/latest"
	ec2TokenSeconds   = "60"
	ecsMetadataURI    = "ECS_CONTAINER_METADATA_URI_V4"
	lambdaMetadataAPI = "AWS_LAMBDA_METADATA_API"
	lambdaToken       = "AWS_LAMBDA_METADATA_TOKEN"
	lambdaMetadata    = "/2026-01-15/metadata/execution-environment"
	// maxMetadata is the largest answer in bytes.
	maxMetadata = 1 << 20
)

// AmazonLocator returns a locator for processes on AWS: it asks the metadata
// service of the ECS task, the Lambda function or the EC2 instance, whichever
// the environment says that there is, EC2's where it says none. Transport
// sends the requests; nil: one without a proxy.
func AmazonLocator(transport http.RoundTripper) Locator {
	if transport == nil {
		own := newTransport()
		own.Proxy = nil
		own.DisableKeepAlives = true
		transport = own
	}
	a := &amazon{client: &http.Client{Transport: transport}, getenv: os.Getenv}
	return a.locate
}

// amazon asks the metadata services of AWS.
type amazon struct {
	client *http.Client
	getenv func(string) string
}

func (a *amazon) locate(ctx context.Context) (Location, error) {
	switch {
	case a.getenv(ecsMetadataURI) != "":
		return a.task(ctx)
	case a.getenv(lambdaMetadataAPI) != "":
		return a.function(ctx)
	}
	return a.instance(ctx)
}

// ec2Fields are the entries of AmazonInfo by the path at which EC2's service
// has them.
var ec2Fields = []struct{ key, path string }{
	{"instance-id", "instance-id"},
	{"ami-id", "ami-id"},
	{"instance-type", "instance-type"},
	{amazonZone, "placement/availability-zone"},
	{"local-ipv4", "local-ipv4"},
	{"local-hostname", "local-hostname"},
	{"public-ipv4", "public-ipv4"},
	{"public-hostname", "public-hostname"},
	{"mac", "mac"},
}

// instance asks EC2's service, which gives a token first (IMDSv2).
func (a *amazon) instance(ctx context.Context) (Location, error) {
	token, err := a.ask(ctx, http.MethodPut, ec2MetadataURL+"/api/token", "X-aws-ec2-metadata-token-ttl-seconds", ec2TokenSeconds)
	if err != nil {
		return Location{}, fmt.Errorf("metadata of the EC2 instance: %w", err)
	}
	found := map[string]string{}
	for _, field := range ec2Fields {
		value, err := a.ask(ctx, http.MethodGet, ec2MetadataURL+"/meta-data/"+field.path, "X-aws-ec2-metadata-token", string(token))
		var status *StatusError
		if errors.As(err, &status) && status.Status == http.StatusNotFound {
			continue // an instance without a public address, for one
		}
		if err != nil {
			return Location{}, fmt.Errorf("metadata of the EC2 instance, %s: %w", field.path, err)
		}
		found[field.key] = string(value)
	}
	return located(found), nil
}

// task asks the ECS task's service.
func (a *amazon) task(ctx context.Context) (Location, error) {
	var task struct{ TaskARN, AvailabilityZone, Family string }
	var container struct {
		Networks []struct {
			IPv4Addresses  []string
			PrivateDNSName string
		}
	}
	base := a.getenv(ecsMetadataURI)
	if err := a.document(ctx, base+"/task", &task); err != nil {
		return Location{}, fmt.Errorf("metadata of the ECS task: %w", err)
	}
	if err := a.document(ctx, base, &container); err != nil {
		return Location{}, fmt.Errorf("metadata of the ECS task: %w", err)
	}
	found := map[string]string{
		"instance-id": task.TaskARN[strings.LastIndexByte(task.TaskARN, '/')+1:],
		amazonZone:    task.AvailabilityZone,
		"accountId":   account(task.TaskARN),
	}
	if n := container.Networks; len(n) > 0 {
		found["local-hostname"] = n[0].PrivateDNSName
		if len(n[0].IPv4Addresses) > 0 {
			found["local-ipv4"] = n[0].IPv4Addresses[0]
		}
	}
	return located(found), nil
}

// function asks Lambda's service. It knows the zone's id (such as use1-az1),
// not the name that it has in this account, so it is no zone to prefer.
func (a *amazon) function(ctx context.Context) (Location, error) {
	body, err := a.ask(ctx, http.MethodGet, "http://"+a.getenv(lambdaMetadataAPI)+lambdaMetadata, "Authorization", "Bearer "+a.getenv(lambdaToken))
	if err != nil {
		return Location{}, fmt.Errorf("metadata of the Lambda function: %w", err)
	}
	var environment struct{ AvailabilityZoneID string }
	if err := json.Unmarshal(body, &environment); err != nil {
		return Location{}, fmt.Errorf("metadata of the Lambda function: %w", err)
	}
	return located(map[string]string{
		"instance-id":          cmp.Or(a.getenv("AWS_LAMBDA_LOG_STREAM_NAME"), a.getenv("AWS_LAMBDA_FUNCTION_NAME")),
		"availability-zone-id": environment.AvailabilityZoneID,
	}), nil
}

// located returns the location that metadata describes.
func located(metadata map[string]string) Location {
	for key, value := range metadata {
		if value == "" {
			delete(metadata, key)
		}
	}
	return Location{
		DataCenter: eureka.DataCenterInfo{
			Class:    eureka.AmazonDataCenterClass,
			Name:     eureka.DataCenterAmazon,
			Metadata: metadata,
		},
		HostName: cmp.Or(metadata["public-hostname"], metadata["local-hostname"]),
		IPAddr:   metadata["local-ipv4"],
	}
}

// account returns the account in an ARN.
func account(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > 4 {
		return parts[4]
	}
	return ""
}

func (a *amazon) document(ctx context.Context, url string, out any) error {
	body, err := a.ask(ctx, http.MethodGet, url, "Accept", contentType)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}

// ask sends a request with one header.
func (a *amazon) ask(ctx context.Context, method, url, header, value string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(header, value)
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, &StatusError{Status: resp.StatusCode}
	}
	return body, nil
}
