package discovery_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

func newAPI(t *testing.T, s *script) *discovery.API {
	t.Helper()
	api, err := discovery.NewAPI(fetching(s))
	require.NoError(t, err)
	return api
}

// TestOperations holds the request of each operation, and what becomes of the
// answers.
func TestOperations(t *testing.T) {
	key := eureka.NewKey("shop", "svc#1/2")
	at := time.UnixMilli(1_700_000_000_123)
	ctx := context.Background()
	application := string(wire.Encoding{}.AppendApplicationDocument(nil, &applications(shop("a")).Applications[0]))
	instance := string(wire.Encoding{}.AppendInstanceDocument(nil, shop("a")))
	for _, test := range []struct {
		name string
		call func(*discovery.API) (any, error)
		want string
		ok   reply
		gone error // what a 404 means
	}{
		{
			"register", func(a *discovery.API) (any, error) { return nil, a.Register(ctx, shop("a")) },
			"POST /apps/SHOP", reply{status: 204}, nil,
		}, {
			"heartbeat", func(a *discovery.API) (any, error) {
				return nil, a.Heartbeat(ctx, shop("svc#1/2", func(i *eureka.InstanceInfo) { i.LastDirty = at }))
			}, "PUT /apps/SHOP/svc%231%2F2?lastDirtyTimestamp=1700000000123&status=UP", reply{status: 200}, eureka.ErrLeaseNotFound,
		}, {
			"heartbeat with an override", func(a *discovery.API) (any, error) {
				return nil, a.Heartbeat(ctx, shop("a", func(i *eureka.InstanceInfo) { i.OverriddenStatus = eureka.OutOfService }))
			}, "PUT /apps/SHOP/a?overriddenstatus=OUT_OF_SERVICE&status=UP", reply{status: 200}, eureka.ErrLeaseNotFound,
		}, {
			"cancel", func(a *discovery.API) (any, error) { return nil, a.Cancel(ctx, key) },
			"DELETE /apps/SHOP/svc%231%2F2", reply{status: 200}, eureka.ErrLeaseNotFound,
		}, {
			"status", func(a *discovery.API) (any, error) { return nil, a.SetStatus(ctx, key, eureka.OutOfService, at) },
			"PUT /apps/SHOP/svc%231%2F2/status?lastDirtyTimestamp=1700000000123&value=OUT_OF_SERVICE", reply{status: 200}, eureka.ErrLeaseNotFound,
		}, {
			"end of an override", func(a *discovery.API) (any, error) { return nil, a.RemoveOverride(ctx, key, eureka.Up, at) },
			"DELETE /apps/SHOP/svc%231%2F2/status?lastDirtyTimestamp=1700000000123&value=UP", reply{status: 200}, eureka.ErrLeaseNotFound,
		}, {
			"end of an override without a status", func(a *discovery.API) (any, error) { return nil, a.RemoveOverride(ctx, key, "", time.Time{}) },
			"DELETE /apps/SHOP/svc%231%2F2/status", reply{status: 200}, eureka.ErrLeaseNotFound,
		}, {
			"metadata", func(a *discovery.API) (any, error) {
				return nil, a.SetMetadata(ctx, key, map[string]string{"note": "a+b c", "x": "y"})
			}, "PUT /apps/SHOP/svc%231%2F2/metadata?note=a%2Bb+c&x=y", reply{status: 200}, eureka.ErrLeaseNotFound,
		}, {
			"applications", func(a *discovery.API) (any, error) { return only(a.Applications(ctx)) },
			"GET /apps", reply{body: registryOf(shop("a"))}, nil,
		}, {
			"applications of regions", func(a *discovery.API) (any, error) { return only(a.Applications(ctx, "x", "y")) },
			"GET /apps?regions=x%2Cy", reply{body: registryOf(shop("a"))}, nil,
		}, {
			"delta", func(a *discovery.API) (any, error) { return only(a.Delta(ctx)) },
			"GET /apps/delta", reply{body: registryOf(shop("a"))}, nil,
		}, {
			"VIP", func(a *discovery.API) (any, error) { return only(a.VIP(ctx, "shop/1")) },
			"GET /vips/shop%2F1", reply{body: registryOf(shop("a"))}, nil,
		}, {
			"secure VIP", func(a *discovery.API) (any, error) { return only(a.SecureVIP(ctx, "shop")) },
			"GET /svips/shop", reply{body: registryOf(shop("a"))}, nil,
		}, {
			"application", func(a *discovery.API) (any, error) {
				app, err := a.Application(ctx, "shop")
				if err != nil {
					return nil, err
				}
				return app.Instances[0].ID(), nil
			}, "GET /apps/SHOP", reply{body: application}, eureka.ErrNotFound,
		}, {
			"instance", func(a *discovery.API) (any, error) { return id(a.Instance(ctx, key)) },
			"GET /apps/SHOP/svc%231%2F2", reply{body: instance}, eureka.ErrNotFound,
		}, {
			"instance by id", func(a *discovery.API) (any, error) { return id(a.InstanceByID(ctx, "a b")) },
			"GET /instances/a%20b", reply{body: instance}, eureka.ErrNotFound,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScript(t, func(asked) reply { return test.ok })
			got, err := test.call(newAPI(t, s))
			require.NoError(t, err)
			assert.Equal(t, test.want, s.requests[0].method+" "+s.requests[0].uri)
			if test.ok.body != "" {
				assert.Equal(t, "a", got)
			}
			assert.Zero(t, s.open)

			for _, status := range []int{http.StatusAccepted, http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable} {
				s.change(func(asked) reply { return reply{status: status} })
				_, err = test.call(newAPI(t, s))
				var answered *discovery.StatusError
				require.ErrorAs(t, err, &answered)
				assert.Equal(t, status, answered.Status)
				if test.gone != nil {
					assert.Equal(t, status == http.StatusNotFound, errors.Is(err, test.gone))
				}
			}
			assert.Zero(t, s.open, "bodies of errors are closed too")
		})
	}
}

// only returns the one instance's id.
func only(apps *eureka.Applications, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return apps.Applications[0].Instances[0].ID(), nil
}

func id(i *eureka.InstanceInfo, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return i.ID(), nil
}
