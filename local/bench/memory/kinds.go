package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// kind is a kind of request.
type kind struct {
	// who sends it, and what it is.
	who, what string
	request   func(n int) request
	// raw is what is sent instead, on a connection that is then held.
	raw func(n int) string
	// prepare is called before.
	prepare func(ctx context.Context, p *process) error
	// environment are settings that are not the defaults.
	environment []string
	// told says that the row is printed, but that the limit, which is for the
	// defaults, is not for it.
	told bool
}

// String returns who and what.
func (k kind) String() string { return k.who + ": " + k.what }

type request struct {
	method, path string
	headers      map[string]string
	body         []byte
	user         string
}

// Users, one for each role.
const (
	outsider = ""
	reader   = "read"
	service  = "register"
	peer     = "admin"
)

// kinds returns all kinds.
func kinds() []kind {
	return slices.Concat(outsiders(), readers(), services(), peers())
}

// get returns a kind of reads.
func get(user, what, path string, headers ...string) kind {
	return kind{who: nameOf(user), what: what, request: func(int) request {
		return request{method: http.MethodGet, path: path, headers: pairs(headers), user: user}
	}}
}

// send returns a kind of requests with a body.
func send(user, what, method, path string, body []byte, headers ...string) kind {
	return kind{who: nameOf(user), what: what, request: func(int) request {
		return request{method: method, path: path, headers: pairs(headers), body: body, user: user}
	}}
}

func nameOf(user string) string {
	return map[string]string{outsider: "outsider", reader: "reader", service: "service", peer: "peer"}[user]
}

func pairs(headers []string) map[string]string {
	out := map[string]string{}
	for pair := range slices.Chunk(headers, 2) {
		out[pair[0]] = pair[1]
	}
	return out
}

const (
	mediaJSON = "application/json"
	mediaXML  = "application/xml"
)

func outsiders() []kind {
	long := strings.Repeat("a", 11<<10)
	var many strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&many, "A%d: b\r\n", n)
	}
	return []kind{
		get(outsider, "health", "/health"),
		get(outsider, "no credentials", "/eureka/apps"),
		{who: "outsider", what: "guess a password", request: func(n int) request {
			return request{method: http.MethodGet, path: "/eureka/apps", headers: map[string]string{
				"Authorization": "Basic " + basic("read", fmt.Sprint("guess ", n)),
			}}
		}},
		get(outsider, "a long path", "/eureka/apps/"+long),
		get(outsider, "a long query", "/eureka/apps?"+strings.Repeat("a=b&", 2800)),
		get(outsider, "a long header", "/eureka/apps", "X-Long", long),
		{who: "outsider", what: "many headers, held", raw: func(int) string {
			return "GET /eureka/apps HTTP/1.1\r\nHost: a\r\n" + many.String() + "\r\n"
		}},
		send(outsider, "a large body", http.MethodPost, "/eureka/apps/SHOP", jsonBodies()["numbers"], "Content-Type", mediaJSON),
		{who: "outsider", what: "a large body, held", raw: func(int) string {
			return "POST /eureka/apps/SHOP HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat(" ", maxBody-1)
		}},
		{who: "outsider", what: "a request that never ends", raw: func(int) string { return "GET /" + strings.Repeat("a", 1<<20) }},
		{who: "outsider", what: "a thousand requests in a row, answers not read", raw: func(int) string {
			return strings.Repeat("GET /eureka/apps HTTP/1.1\r\nHost: a\r\n\r\n", 1000)
		}},
	}
}

// readers read the registry of fatRegistry.
func readers() []kind {
	out := []kind{
		get(reader, "list, JSON", "/eureka/apps", "Accept", mediaJSON),
		get(reader, "list, JSON in gzip", "/eureka/apps", "Accept", mediaJSON, "Accept-Encoding", "gzip"),
		get(reader, "list, XML", "/eureka/apps", "Accept", mediaXML),
		get(reader, "list, XML in gzip", "/eureka/apps", "Accept", mediaXML, "Accept-Encoding", "gzip"),
		get(reader, "list, compact", "/eureka/apps", "Accept", mediaJSON, "X-Eureka-Accept", "compact"),
		get(reader, "application", "/eureka/apps/SHOP", "Accept", mediaJSON),
		get(reader, "VIP", "/eureka/vips/vip-1", "Accept", mediaJSON),
		{who: "reader", what: "each VIP in each form", request: func(n int) request {
			headers := map[string]string{"Accept": []string{mediaJSON, mediaXML}[n%2]}
			if n/2%2 == 1 {
				headers["Accept-Encoding"] = "gzip"
			}
			return request{method: http.MethodGet, path: fmt.Sprintf("/eureka/%s/vip-%d", []string{"vips", "svips"}[n/4%2], n), headers: headers, user: reader}
		}},
		{who: "reader", what: "everything in every form", request: func(n int) request {
			headers := map[string]string{"Accept": []string{mediaJSON, mediaXML}[n%2]}
			if n/2%2 == 1 {
				headers["Accept-Encoding"] = "gzip"
			}
			if n/4%2 == 1 {
				headers["X-Eureka-Accept"] = "compact"
			}
			return request{method: http.MethodGet, path: "/eureka/apps" + []string{"", "/SHOP", "/delta"}[n/8%3], headers: headers, user: reader}
		}},
		{who: "reader", what: "VIPs that nobody has", request: func(n int) request {
			return request{method: http.MethodGet, path: fmt.Sprintf("/eureka/vips/none-%d,%s", n, strings.Repeat("a,", 4000)), user: reader}
		}},
		get(reader, "many regions", "/eureka/apps?regions="+strings.Repeat("a,", 5000), "Accept", mediaJSON),
		get(reader, "many entity tags", "/eureka/apps", "Accept", mediaJSON, "If-None-Match", strings.Repeat(`"a",`, 2500)),
		get(reader, "many encodings", "/eureka/apps", "Accept", mediaJSON, "Accept-Encoding", strings.Repeat("gzip;q=0,", 1200)),
		get(reader, "instance", "/eureka/apps/SHOP/fat-1", "Accept", mediaXML),
		get(reader, "instance by id", "/eureka/instances/fat-1", "Accept", mediaJSON),
		get(reader, "dashboard", "/", "Accept", "text/html"),
		get(reader, "page of an instance", "/?app=SHOP&id=fat-1", "Accept", "text/html"),
		get(reader, "status", "/status"),
		get(reader, "last leases", "/lastn"),
		{who: "reader", what: "list, answer not read", raw: func(int) string {
			return "GET /eureka/apps HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nAuthorization: Basic " + basic(reader, password) + "\r\n\r\n"
		}},
		{who: "reader", what: "each VIP, answer not read", raw: func(n int) string {
			return fmt.Sprintf("GET /eureka/vips/vip-%d HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nAuthorization: Basic %s\r\n\r\n", n, basic(reader, password))
		}},
	}
	for n := range out {
		out[n].prepare = fatRegistry
	}
	delta := get(reader, "deltas", "/eureka/apps/delta", "Accept", mediaJSON)
	delta.environment = []string{"REGISTRY_CACHE_REFRESH=1s"}
	delta.prepare = func(ctx context.Context, p *process) error {
		err := fatRegistry(ctx, p)
		time.Sleep(3 * time.Second) // until a view holds what was registered
		return err
	}
	scans := get(reader, "list with REGISTRY_CACHE_REFRESH=0s", "/eureka/apps", "Accept", mediaJSON)
	scans.environment = []string{"REGISTRY_CACHE_REFRESH=0s"}
	scans.prepare, scans.told = fatRegistry, true // each list is made anew
	return append(out, delta, scans)
}

func services() []kind {
	out := []kind{
		send(service, "usual registration", http.MethodPost, "/eureka/apps/SHOP", []byte(`{"instance":`+instanceJSON("shop-1", `"zone":"a"`)+`}`), "Content-Type", mediaJSON),
		{who: "service", what: "instances as large as allowed", request: func(n int) request {
			return request{method: http.MethodPost, path: "/eureka/apps/SHOP", headers: map[string]string{"Content-Type": mediaJSON}, body: fatRegistration(n), user: service}
		}},
		send(service, "too large an instance", http.MethodPost, "/eureka/apps/SHOP",
			zipped([]byte(`{"instance":`+instanceJSON("shop-1", `"more":"`+strings.Repeat("x", 1_000_000)+`"`)+`}`)), "Content-Type", mediaJSON, "Content-Encoding", "gzip"),
		send(service, "a body of a gigabyte in gzip", http.MethodPost, "/eureka/apps/SHOP", gigabyte(), "Content-Type", mediaJSON, "Content-Encoding", "gzip"),
		{who: "service", what: "metadata in a long query", prepare: fatRegistry, request: func(n int) request {
			return request{method: http.MethodPut, path: fmt.Sprintf("/eureka/apps/SHOP/fat-%d/metadata?%s", n%fatInstances, manyParameters()), user: service}
		}},
		{who: "service", what: "status", prepare: fatRegistry, request: func(n int) request {
			return request{method: http.MethodPut, path: fmt.Sprintf("/eureka/apps/SHOP/fat-%d/status?value=DOWN", n%fatInstances), user: service}
		}},
		{who: "service", what: "heartbeat", prepare: fatRegistry, request: func(n int) request {
			return request{method: http.MethodPut, path: fmt.Sprintf("/eureka/apps/SHOP/fat-%d", n%fatInstances), user: service}
		}},
		{who: "service", what: "cancel", prepare: fatRegistry, request: func(n int) request {
			return request{method: http.MethodDelete, path: fmt.Sprintf("/eureka/apps/SHOP/fat-%d", n%fatInstances), user: service}
		}},
		{who: "service", what: "a large body, held", raw: func(int) string {
			return "POST /eureka/apps/SHOP HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Basic " + basic(service, password) +
				"\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat(" ", maxBody-1)
		}},
	}
	for _, format := range []struct {
		name, media string
		bodies      map[string][]byte
	}{{"JSON", mediaJSON, jsonBodies()}, {"XML", mediaXML, xmlBodies()}} {
		for _, name := range slices.Sorted(maps.Keys(format.bodies)) {
			what := "1 MiB of " + format.name + ", " + name
			out = append(out,
				send(service, what, http.MethodPost, "/eureka/apps/SHOP", format.bodies[name], "Content-Type", format.media),
				send(service, what+", in gzip", http.MethodPost, "/eureka/apps/SHOP", zipped(format.bodies[name]), "Content-Type", format.media, "Content-Encoding", "gzip"))
		}
	}
	return out
}

func peers() []kind {
	var out []kind
	all := batches()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		k := send(peer, "batch, "+name, http.MethodPost, "/eureka/peerreplication/batch", zipped(all[name]), "Content-Type", mediaJSON, "Content-Encoding", "gzip")
		k.prepare = fatRegistry
		out = append(out, k)
	}
	form := send(peer, "form of the dashboard", http.MethodPost, "/action", fill("a=b", "&%d=b", ""),
		"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	return append(out, form)
}

// fatRegistry registers as many instances as there are requests at once, each as
// large as one may be.
func fatRegistry(ctx context.Context, p *process) error {
	for n := range fatInstances {
		status, err := p.send(ctx, kind{request: func(int) request {
			return request{method: http.MethodPost, path: "/eureka/apps/SHOP", headers: map[string]string{"Content-Type": mediaJSON}, body: fatRegistration(n), user: service}
		}}, n)
		if err != nil {
			return err
		}
		if status != http.StatusNoContent {
			return errors.New("a registration was answered " + word(status))
		}
	}
	return nil
}

// manyParameters is a query of as many parameters as fit.
func manyParameters() string {
	var b strings.Builder
	for n := 0; b.Len() < 10_000; n++ {
		fmt.Fprintf(&b, "%d=&", n)
	}
	return b.String()
}
