package httpapi_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/regions"
)

// west is a region with one instance, or one that does not answer.
type west struct{ err error }

func (w west) Applications(context.Context, ...string) (*eureka.Applications, error) {
	return &eureka.Applications{Applications: []eureka.Application{{
		Name: "CART", Instances: []*eureka.InstanceInfo{{App: "CART", InstanceID: "cart-1", Status: eureka.Down}},
	}}}, w.err
}

func (w west) Delta(context.Context, ...string) (*eureka.Applications, error) {
	return &eureka.Applications{Version: -1}, w.err
}

// TestRegions: lists hold the regions that are asked for, if they are there;
// what is not is no error, and the pages tell of it.
func TestRegions(t *testing.T) {
	for _, c := range []struct {
		name          string
		source        west
		query         string
		hash, onStart string
	}{
		{"asked for", west{}, "?regions=mars,west", "DOWN_1_UP_1_", "1 instances"},
		{"not asked for", west{}, "", "UP_1_", "1 instances"},
		{"unknown", west{}, "?regions=mars", "UP_1_", "1 instances"},
		{"away", west{errBroken}, "?regions=west", "UP_1_", "absent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t, func(cfg *httpapi.Config) {
				cfg.Regions = regions.New(regions.Config{Remotes: []regions.Remote{{Name: "west", Source: c.source}}, Now: cfg.Now, Logger: cfg.Logger})
			})
			s.must(204, s.post("SHOP", shop(nil)))
			for _, path := range []string{"/eureka/apps", "/eureka/apps/delta"} {
				all := decode(t, s.must(200, s.do("GET", path+c.query, "")))["applications"].(map[string]any)
				assert.Equal(t, c.hash, all["apps__hashcode"], path)
			}
			page := s.browse("/")
			assert.Contains(t, page, "Region <bdi>west</bdi>")
			assert.Contains(t, page, c.onStart)
		})
	}
}
