package boot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

func loadRegions(text string) (boot.Config, error) {
	return boot.Load(func(name string) (string, bool) {
		return map[string]string{"REGISTRY_REMOTE_REGIONS": text, "AWS_REGION": "us-east-1"}[name], true
	}, boot.Local)
}

func TestRemoteRegions(t *testing.T) {
	cfg, err := loadRegions("us-west-2=https://ops:secret-word@registry.example.org/eureka, eu=http://127.0.0.1:1/eureka")
	require.NoError(t, err)
	assert.Equal(t, []boot.RemoteRegion{
		{Name: "us-west-2", URL: "https://ops:secret-word@registry.example.org/eureka"}, {Name: "eu", URL: "http://127.0.0.1:1/eureka"},
	}, cfg.RemoteRegions)
	assert.Equal(t, []boot.Value{{Name: "REGISTRY_REMOTE_REGIONS",
		Value: "us-west-2=https://***@registry.example.org/eureka, eu=http://127.0.0.1:1/eureka"}}, cfg.Changed(), "passwords are not shown")
	for _, wrong := range []string{"https://x/eureka", "a=x", "a=ftp://u:secret-word@x/", "a=http://x/,a=http://y/", "a b=http://x/", ","} {
		_, err := loadRegions(wrong)
		require.ErrorContains(t, err, "REGISTRY_REMOTE_REGIONS", wrong)
		assert.NotContains(t, err.Error(), "secret-word")
	}
}
