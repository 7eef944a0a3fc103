package sdkconfig_test

import (
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/sdkconfig"
)

// nothingConfigured takes everything away that the SDK could find on this
// machine.
func nothingConfigured(t *testing.T) {
	t.Helper()
	nowhere := filepath.Join(t.TempDir(), "nothing")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_DYNAMODB": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
	} {
		t.Setenv(name, value)
	}
}

func TestALoopbackEndpointNeedsNoConfiguration(t *testing.T) {
	nothingConfigured(t)

	cfg, err := sdkconfig.Load(t.Context(), dynamodb.ClientConfig{Endpoint: "http://127.0.0.1:8000"})

	require.NoError(t, err)
	assert.Equal(t, "us-east-1", cfg.Region)
	found, err := cfg.Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "local", found.AccessKeyID)
}

func TestALoopbackEndpointTakesWhatIsConfigured(t *testing.T) {
	nothingConfigured(t)
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "someone")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")

	cfg, err := sdkconfig.Load(t.Context(), dynamodb.ClientConfig{Endpoint: "http://localhost:8000"})

	require.NoError(t, err)
	assert.Equal(t, "eu-west-1", cfg.Region)
	found, err := cfg.Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "someone", found.AccessKeyID)
}

func TestNothingIsMadeUpElsewhere(t *testing.T) {
	for _, endpoint := range []string{"", "https://dynamodb.eu-west-1.amazonaws.com", "http://172.17.0.1:8000"} {
		nothingConfigured(t)

		cfg, err := sdkconfig.Load(t.Context(), dynamodb.ClientConfig{Endpoint: endpoint})

		require.NoError(t, err)
		assert.Empty(t, cfg.Region, endpoint)
		_, err = cfg.Credentials.Retrieve(t.Context())
		assert.Error(t, err, endpoint)
	}
}

func TestTheEndpointMayComeFromTheSDKsOwnVariable(t *testing.T) {
	nothingConfigured(t)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://172.17.0.1:8000")

	client, err := sdkconfig.NewClient(t.Context(), dynamodb.ClientConfig{})
	require.NoError(t, err)
	assert.Equal(t, "http://172.17.0.1:8000", aws.ToString(client.Options().BaseEndpoint))

	client, err = sdkconfig.NewClient(t.Context(), dynamodb.ClientConfig{Endpoint: "http://127.0.0.1:8000"})
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:8000", aws.ToString(client.Options().BaseEndpoint))
}
