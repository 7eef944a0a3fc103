// Package sdkconfig loads the AWS SDK's configuration as programs on any machine
// want it. A function has what it needs at hand and does without: the loader
// looks in many places, which takes a cold start some 10 ms, and is 0.1 MB of a
// package.
package sdkconfig

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/eurekaless/registry/storage/dynamodb"
)

// What a loopback endpoint is asked with where nothing is configured: an engine
// there wants some region and some credentials and checks neither.
const (
	localRegion      = "us-east-1"
	localCredentials = "local"
)

// Load loads the SDK's configuration for DynamoDB and its streams: environment,
// files and the machine's role, as everywhere on AWS. With a loopback endpoint a
// missing region and missing credentials are made up, and the machine's role is
// not looked for.
func Load(ctx context.Context, cfg dynamodb.ClientConfig) (aws.Config, error) {
	local := dynamodb.Loopback(cfg.Endpoint)
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(cfg.HTTPClient()),
		config.WithRetryer(cfg.Retryer),
	}
	if local {
		options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("AWS configuration: %w", err)
	}
	if local {
		makeUpMissing(ctx, &loaded)
	}
	return loaded, nil
}

// makeUpMissing gives a configuration for a loopback endpoint what it lacks.
func makeUpMissing(ctx context.Context, loaded *aws.Config) {
	loaded.Region = cmp.Or(loaded.Region, localRegion)
	if loaded.Credentials != nil {
		if _, err := loaded.Credentials.Retrieve(ctx); err == nil {
			return
		}
	}
	loaded.Credentials = credentials.NewStaticCredentialsProvider(localCredentials, localCredentials, "")
}

// NewClient returns a client for DynamoDB. Build it once for a process.
func NewClient(ctx context.Context, cfg dynamodb.ClientConfig, options ...func(*awsdynamodb.Options)) (*awsdynamodb.Client, error) {
	loaded, err := Load(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return dynamodb.ClientFrom(loaded, cfg, options...), nil
}
