package httpapi

import (
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/eureka"
)

func TestParsePath(t *testing.T) {
	for path, want := range map[string]target{
		"/":                                               {resource: resourceDashboard},
		"":                                                {resource: resourceDashboard},
		"/eureka":                                         {resource: resourceDashboard},
		"/eureka/":                                        {resource: resourceDashboard},
		"/eureka/v2":                                      {resource: resourceDashboard},
		"/status":                                         {resource: resourceStatus},
		"/eureka/status":                                  {resource: resourceStatus},
		"/eureka/v2/lastn/":                               {resource: resourceLastN},
		"/health":                                         {resource: resourceHealth},
		"/eureka/apps":                                    {resource: resourceApplications},
		"/eureka//apps//":                                 {resource: resourceApplications},
		"/eureka/v2/apps/delta":                           {resource: resourceDelta},
		"/eureka/apps/shop":                               {resource: resourceApplication, app: "SHOP"},
		"/eureka/apps/shop/shop-1":                        {resource: resourceInstance, app: "SHOP", name: "shop-1"},
		"/eureka/apps/A/host:a:8080":                      {resource: resourceInstance, app: "A", name: "host:a:8080"},
		"/eureka/apps/A/host%3Aa%3A8080/status":           {resource: resourceInstanceStatus, app: "A", name: "host:a:8080"},
		"/eureka/apps/A/svc%231%2F2/metadata":             {resource: resourceInstanceMetadata, app: "A", name: "svc#1/2"},
		"/eureka/apps/A/svc%231/2/metadata":               {resource: resourceInstanceMetadata, app: "A", name: "svc#1/2"},
		"/eureka/apps/A/50%2525":                          {resource: resourceInstance, app: "A", name: "50%25"},
		"/eureka/apps/A/a+b":                              {resource: resourceInstance, app: "A", name: "a+b"},
		"/eureka/apps/A/%E6%9D%B1%20%3F":                  {resource: resourceInstance, app: "A", name: "東 ?"},
		"/eureka/apps/A/http:%2F%2Fhost%2F":               {resource: resourceInstance, app: "A", name: "http://host/"},
		"/eureka/apps/A/x%2Fstatus":                       {resource: resourceInstance, app: "A", name: "x/status"},
		"/eureka/apps/A/%2E%2E":                           {resource: resourceInstance, app: "A", name: ".."},
		"/eureka/apps/A/../status":                        {resource: resourceInstanceStatus, app: "A", name: ".."},
		"/eureka/instances/shop-1/":                       {resource: resourceInstanceByID, name: "shop-1"},
		"/eureka/vips/second.vip":                         {resource: resourceVIP, name: "second.vip"},
		"/eureka/svips/a%2Cb":                             {resource: resourceSecureVIP, name: "a,b"},
		"/eureka/peerreplication/batch/":                  {resource: resourceReplication},
		"/eureka/apps;jsessionid=1A":                      {resource: resourceApplications},
		"/eureka/apps/;jsessionid=1A":                     {resource: resourceApplications},
		"/eureka/apps/delta;jsessionid=1A.node1!2":        {resource: resourceDelta},
		"/eureka/apps/A;jsessionid=1A":                    {resource: resourceApplication, app: "A"},
		"/eureka/apps/A/b;jsessionid=1A":                  {resource: resourceInstance, app: "A", name: "b"},
		"/eureka/apps/A/b;jsessionid=1A/":                 {resource: resourceInstance, app: "A", name: "b"},
		"/eureka/apps/A/b;jsessionid=1A;x=y":              {resource: resourceInstance, app: "A", name: "b"},
		"/eureka/apps/A/b;jsessionid=":                    {resource: resourceInstance, app: "A", name: "b"},
		"/eureka/apps/A/b/status;jsessionid=1A":           {resource: resourceInstanceStatus, app: "A", name: "b"},
		"/eureka/apps/A/b/metadata;jsessionid=1A":         {resource: resourceInstanceMetadata, app: "A", name: "b"},
		"/eureka/instances/b;jsessionid=1A":               {resource: resourceInstanceByID, name: "b"},
		"/eureka/vips/b;jsessionid=1A":                    {resource: resourceVIP, name: "b"},
		"/eureka/peerreplication/batch;jsessionid=1A":     {resource: resourceReplication},
		"/;jsessionid=1A":                                 {resource: resourceDashboard},
		"/eureka;jsessionid=1A":                           {resource: resourceDashboard},
		"/status;jsessionid=1A":                           {resource: resourceStatus},
		"/eureka/apps/A/b;c":                              {resource: resourceInstance, app: "A", name: "b;c"},
		"/eureka/apps/A/b;c=d;jsessionid=1A":              {resource: resourceInstance, app: "A", name: "b;c=d"},
		"/eureka/apps/A/b;jsessionid":                     {resource: resourceInstance, app: "A", name: "b;jsessionid"},
		"/eureka/apps/A/b;jsession=1A":                    {resource: resourceInstance, app: "A", name: "b;jsession=1A"},
		"/eureka/apps/A/jsessionid=1A":                    {resource: resourceInstance, app: "A", name: "jsessionid=1A"},
		"/eureka/apps/A/b%3Bjsessionid=1A":                {resource: resourceInstance, app: "A", name: "b;jsessionid=1A"},
		"/eureka/apps/A/b;jsessionid=1A/c":                {resource: resourceInstance, app: "A", name: "b;jsessionid=1A/c"},
		"/eureka/apps/A;b/c":                              {resource: resourceInstance, app: "A;B", name: "c"},
		"/actuator/health":                                {resource: resourceHealth},
		"/actuator/health/":                               {resource: resourceHealth},
		"//actuator//health":                              {resource: resourceHealth},
		"/actuator/health/readiness":                      {resource: resourceHealth},
		"/eureka/v2/actuator/health/liveness;jsessionid=": {resource: resourceHealth},
		"/actuator":                                       {},
		"/actuator/":                                      {},
		"/actuator/info":                                  {},
		"/actuator/health/db":                             {},
		"/actuator/health/liveness/x":                     {},
		"/apps":                                           {},
		"/EUREKA/apps":                                    {},
		"/eurekas/apps":                                   {},
		"/eureka/instances":                               {},
		"/eureka/peerreplication":                         {},
		"/eureka/peerreplication/batch/more":              {},
		"/eureka/status/more":                             {},
		"/eureka/nothing/here":                            {},
	} {
		t.Run(path, func(t *testing.T) {
			u, err := url.Parse("http://registry.example.org" + path)
			require.NoError(t, err)
			got, err := parsePath(u)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

// TestParseDecodedPath: some gateways hand the path over decoded; then it is
// not decoded again.
func TestParseDecodedPath(t *testing.T) {
	got, err := parsePath(&url.URL{Path: "/eureka/apps/A/50%25#1/2/metadata"})
	require.NoError(t, err)
	assert.Equal(t, target{resource: resourceInstanceMetadata, app: "A", name: "50%25#1/2"}, got)
}

func TestEveryErrorHasAStatus(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		retry  bool
	}{
		{eureka.Invalidf("port", "no"), 400, false},
		{eureka.TooLargef("body", "no"), 413, false},
		{eureka.ErrLeaseNotFound, 404, false},
		{eureka.ErrNotFound, 404, false},
		{eureka.ErrConflict, 503, true},
		{eureka.ErrThrottled, 503, true},
		{eureka.ErrUnavailable, 503, true},
		{eureka.ErrCorrupt, 500, false},
		{errMediaType, 415, false},
	} {
		status, retry := statusOf(c.err)
		assert.Equal(t, c.status, status, "%v", c.err)
		assert.Equal(t, c.retry, retry, "%v", c.err)
	}
}

// TestPathThatIsNotUTF8: no instance has such an id.
func TestPathThatIsNotUTF8(t *testing.T) {
	for _, path := range []string{"/eureka/apps/Z%FC", "/eureka/apps/A/z%FCrich", "/eureka/instances/%C3", "/eureka/vips/%FF"} {
		u, err := url.Parse("http://registry.example.org" + path)
		require.NoError(t, err)
		_, err = parsePath(u)
		assert.ErrorIs(t, err, eureka.ErrInvalid, path)
	}
}

func FuzzParsePath(f *testing.F) {
	for _, path := range []string{
		"/eureka/apps/A/svc%231%2F2/metadata", "//eureka//v2/apps/", "/eureka/apps/%zz", "/status",
		"/eureka/apps/A/b;jsessionid=1A", "/eureka/apps/A/b;c;jsessionid=1A/", "/eureka/apps/A/b;jsessionid=1A/status;jsessionid=2B",
		"/actuator/health/liveness", "/eureka//actuator//health;jsessionid=1A", "/eureka/apps/A/z\xfcrich",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := parsePath(&url.URL{Path: path})
		if err != nil && utf8.ValidString(path) {
			t.Fatalf("a decoded path needs no decoding: %v", err)
		}
		if got.resource == resourceInstance && got.app == "" {
			t.Fatalf("an instance without application from %q", path)
		}
	})
}
