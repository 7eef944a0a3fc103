package discovery_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/core/registry"
	"github.com/eurekaless/registry/core/view"
	"github.com/eurekaless/registry/storage/memory"
)

// exampleRegistry is a registry in this process, for the examples.
func exampleRegistry() *httptest.Server {
	store := memory.New(memory.Config{})
	return httptest.NewServer(httpapi.New(httpapi.Config{
		Registry: registry.New(registry.Config{Store: store}),
		Cache:    view.New(view.Config{Source: store}),
		Logger:   quiet,
	}))
}

// exampleService is a service that greets, and its port.
func exampleService() (*httptest.Server, int) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello from ", r.URL.Path)
	}))
	u, _ := url.Parse(server.URL)
	port, _ := strconv.Atoi(u.Port())
	return server, port
}

var quiet = slog.New(slog.DiscardHandler)

// A service registers itself, and calls another one by name.
func Example() {
	registry := exampleRegistry()
	defer registry.Close()
	server, port := exampleService()
	defer server.Close()
	ctx := context.Background()

	client, err := discovery.New(discovery.Config{
		ServiceURLs:     []string{registry.URL + "/eureka"},
		Instance:        &discovery.Instance{App: "orders", HostName: "127.0.0.1", Port: port},
		RegisterAtStart: true,
		Logger:          quiet,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := client.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer client.Stop(ctx)

	if err := client.Refresh(ctx); err != nil { // not to wait for the planned fetch
		fmt.Println(err)
	}
	calls := &http.Client{Transport: client.RoundTripper(nil)}
	resp, err := calls.Get("http://ORDERS/today")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(string(body))
	// Output: hello from /today
}

// The variables that Spring services have in their environment serve as well.
func ExampleConfigFromEnv() {
	cfg, err := discovery.ConfigFromEnv([]string{ // os.Environ() in a service
		"SPRING_APPLICATION_NAME=orders",
		"SERVER_PORT=8080",
		"EUREKA_CLIENT_SERVICEURL_DEFAULTZONE=http://agent:secret@registry.example.org/eureka",
		"EUREKA_INSTANCE_LEASERENEWALINTERVALINSECONDS=10",
	})
	fmt.Println(cfg, err)
	fmt.Println(cfg.Instance.Port, cfg.Instance.RenewalInterval)
	// Output:
	// discovery of orders at [http://registry.example.org/eureka] <nil>
	// 8080 10s
}

// A health check sets the instance's status, every half a minute.
func ExampleHealthCheck() {
	registry := exampleRegistry()
	defer registry.Close()
	ping := func(context.Context) error { return fmt.Errorf("the database is away") }

	client, err := discovery.New(discovery.Config{
		ServiceURLs: []string{registry.URL + "/eureka"},
		Instance:    &discovery.Instance{App: "orders", ID: "orders-1"},
		HealthCheck: func(ctx context.Context, current eureka.Status) eureka.Status {
			if err := ping(ctx); err != nil {
				return eureka.Down
			}
			return eureka.Up
		},
		RegisterAtStart: true,
		Logger:          quiet,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client.Start(context.Background())
	defer client.Stop(context.Background())
	registered, err := client.API().Instance(context.Background(), client.Instance().Key())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registered.Status)
	// Output: DOWN
}

// Look-ups in one view fit together, and never wait.
func ExampleClient_View() {
	registry := exampleRegistry()
	defer registry.Close()
	client, err := discovery.New(discovery.Config{ServiceURLs: []string{registry.URL + "/eureka"}, Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"orders-1", "orders-2"} {
		client.API().Register(context.Background(), &eureka.InstanceInfo{
			App: "ORDERS", InstanceID: id, HostName: "orders.example.org", IPAddr: "192.0.2.1", VIPAddress: "orders", Status: eureka.Up,
		})
	}
	client.Start(context.Background())
	defer client.Stop(context.Background())

	view := client.View()
	app, _ := view.Application("orders")
	fmt.Println(len(view.VIP("orders")), len(app.All), view.HashCode())
	age, fetched := client.Age()
	fmt.Println(fetched, age < time.Minute)
	// Output:
	// 2 2 UP_2_
	// true true
}

// Listeners are told what happens.
func ExampleClient_Subscribe() {
	registry := exampleRegistry()
	defer registry.Close()
	client, err := discovery.New(discovery.Config{
		ServiceURLs:     []string{registry.URL + "/eureka"},
		Instance:        &discovery.Instance{App: "orders", ID: "orders-1"},
		RegisterAtStart: true,
		Logger:          quiet,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	registered := make(chan discovery.Event, 1)
	client.Subscribe(func(e discovery.Event) {
		if e.Kind == discovery.Registered {
			registered <- e
		}
	})
	client.Start(context.Background())
	fmt.Println((<-registered).Kind)
	fmt.Println(client.Stop(context.Background()))
	// Output:
	// registered
	// <nil>
}

// The operations of the REST API, without any timer.
func ExampleAPI() {
	registry := exampleRegistry()
	defer registry.Close()
	api, err := discovery.NewAPI(discovery.Config{ServiceURLs: []string{registry.URL + "/eureka"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	info := &eureka.InstanceInfo{
		App: "ORDERS", InstanceID: "orders-1", HostName: "orders.example.org", IPAddr: "192.0.2.1", Status: eureka.Up,
		LastDirty: time.Now(),
	}
	fmt.Println(api.Register(ctx, info), api.Heartbeat(ctx, info))
	fmt.Println(api.SetStatus(ctx, info.Key(), eureka.OutOfService, time.Time{}))
	app, err := api.Application(ctx, "orders")
	fmt.Println(app.Instances[0].Status, err)
	fmt.Println(api.Cancel(ctx, info.Key()))
	err = api.Heartbeat(ctx, info)
	fmt.Println(strings.HasPrefix(err.Error(), "renew ORDERS/orders-1: answered 404 Not Found"))
	// Output:
	// <nil> <nil>
	// <nil>
	// OUT_OF_SERVICE <nil>
	// <nil>
	// true
}
