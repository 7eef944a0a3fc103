package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// request is what is sent, and the status that is right.
type request struct {
	method, path string
	body         []byte
	want         int
}

// fleet makes up instances by number, each with names and times of its own,
// about as varied as a real fleet's: all of them in one gzip take some 70 bytes
// each.
type fleet struct {
	perApp int
}

func (f fleet) names(i int) (app, id string) {
	app = fmt.Sprintf("SERVICE-%04d", i/f.perApp)
	return app, fmt.Sprintf("host-%06d:%s:8080", i, strings.ToLower(app))
}

// dirty is the last dirty timestamp, in milliseconds.
func dirty(i int) string { return strconv.Itoa(1_700_000_000_000 + i*7919) }

func (f fleet) heartbeat(i int) request {
	app, id := f.names(i)
	return request{http.MethodPut, "/apps/" + app + "/" + id + "?status=UP&lastDirtyTimestamp=" + dirty(i), nil, http.StatusOK}
}

func (f fleet) application(i int) request {
	app, _ := f.names(i)
	return request{http.MethodGet, "/apps/" + app, nil, http.StatusOK}
}

// register is a registration as Spring Cloud sends it.
func (f fleet) register(i int) request {
	app, id := f.names(i)
	// A multiplication by an odd constant scatters the bits.
	bits := uint32(i) * 2654435761
	ip := fmt.Sprintf("10.%d.%d.%d", bits>>24, bits>>16&255, bits>>8&255)
	vip := strings.ToLower(app)
	body, err := json.Marshal(map[string]any{"instance": map[string]any{
		"instanceId": id, "hostName": ip, "app": app, "ipAddr": ip,
		"status": "UP", "overriddenStatus": "UNKNOWN",
		"port":       map[string]any{"$": 8080, "@enabled": "true"},
		"securePort": map[string]any{"$": 443, "@enabled": "false"},
		"countryId":  1,
		"dataCenterInfo": map[string]any{
			"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn",
		},
		"leaseInfo": map[string]any{"renewalIntervalInSecs": 30, "durationInSecs": 90},
		"metadata": map[string]any{
			"management.port": "8081", "zone": "eu-1" + string(rune('a'+bits%3)), "version": strconv.Itoa(int(bits % 50)),
		},
		"homePageUrl":    "http://" + ip + ":8080/",
		"statusPageUrl":  "http://" + ip + ":8080/actuator/info",
		"healthCheckUrl": "http://" + ip + ":8080/actuator/health",
		"vipAddress":     vip, "secureVipAddress": vip,
		"isCoordinatingDiscoveryServer": "false",
		"lastUpdatedTimestamp":          dirty(i), "lastDirtyTimestamp": dirty(i),
	}})
	if err != nil {
		panic(err) // texts and numbers can be encoded
	}
	return request{http.MethodPost, "/apps/" + app, body, http.StatusNoContent}
}
