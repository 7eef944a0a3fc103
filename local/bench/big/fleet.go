package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// perApp is how many instances an application has.
const perApp = 10

// leaseSeconds is longer than a run: nobody is to be evicted for the pause
// after the registrations.
const leaseSeconds = 3600

// key returns the names of an instance, by its number.
func key(n int) eureka.Key {
	app := fmt.Sprintf("SERVICE-%05d", n/perApp)
	return eureka.Key{App: app, ID: fmt.Sprintf("host-%06d:%s:8080", n, strings.ToLower(app))}
}

// dirty is an instance's last dirty timestamp in milliseconds, when it
// registers for the generation-th time.
func dirty(n, generation int) int64 { return 1_700_000_000_000 + int64(n)*7919 + int64(generation) }

// register is the event of a registration.
func register(n, generation int, status eureka.Status) []byte {
	return event(http.MethodPost, "/eureka/apps/"+key(n).App, "", string(registration(n, generation, status)))
}

// instance is what a registration registers.
func instance(n int, status eureka.Status, at time.Time) *eureka.InstanceInfo {
	i, err := wire.DecodeRegistration(wire.JSON, registration(n, 0, status), wire.Limits{})
	if err != nil {
		panic(err) // the write function takes it
	}
	i.LastUpdated, i.Lease.Registered, i.Lease.LastRenewed, i.Lease.ServiceUp = at, at, at, at
	return i
}

// registration is the body of a registration, as Spring Cloud sends it.
func registration(n, generation int, status eureka.Status) []byte {
	k := key(n)
	// A multiplication by an odd constant scatters the bits.
	bits := uint32(n) * 2654435761
	ip := fmt.Sprintf("10.%d.%d.%d", bits>>24, bits>>16&255, bits>>8&255)
	vip := strings.ToLower(k.App)
	body, err := json.Marshal(map[string]any{"instance": map[string]any{
		"instanceId": k.ID, "hostName": ip, "app": k.App, "ipAddr": ip, "status": status, "overriddenStatus": "UNKNOWN",
		"port":           map[string]any{"$": 8080, "@enabled": "true"},
		"securePort":     map[string]any{"$": 443, "@enabled": "false"},
		"countryId":      1,
		"dataCenterInfo": map[string]any{"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
		"leaseInfo":      map[string]any{"renewalIntervalInSecs": 30, "durationInSecs": leaseSeconds},
		"metadata": map[string]any{
			"management.port": "8081", "zone": "eu-1" + string(rune('a'+bits%3)), "version": strconv.Itoa(int(bits%50) + generation),
		},
		"homePageUrl":    "http://" + ip + ":8080/",
		"statusPageUrl":  "http://" + ip + ":8080/actuator/info",
		"healthCheckUrl": "http://" + ip + ":8080/actuator/health",
		"vipAddress":     vip, "secureVipAddress": vip,
		"lastUpdatedTimestamp": dirty(n, generation), "lastDirtyTimestamp": strconv.FormatInt(dirty(n, generation), 10),
	}})
	if err != nil {
		panic(err) // texts and numbers can be encoded
	}
	return body
}

// renew is the event of a heartbeat. It does not say which registration it is
// of: an instance that changes at the same moment is renewed all the same.
func renew(n int) []byte {
	return event(http.MethodPut, leasePath(n), "status=UP", "")
}

func cancel(n int) []byte { return event(http.MethodDelete, leasePath(n), "", "") }

func leasePath(n int) string {
	k := key(n)
	return "/eureka/apps/" + k.App + "/" + url.PathEscape(k.ID)
}

// event is a request as an HTTP API hands it on.
func event(method, path, query, body string) []byte {
	out, err := json.Marshal(map[string]any{
		"version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query, "body": body,
		"headers": map[string]string{"accept": "application/json", "accept-encoding": "gzip", "content-type": "application/json"},
		"requestContext": map[string]any{
			"domainName": "abcdef1234.execute-api.eu-central-1.amazonaws.com", "stage": "$default",
			"http": map[string]string{"method": method, "path": path, "sourceIp": "192.0.2.44"},
		},
	})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return out
}
