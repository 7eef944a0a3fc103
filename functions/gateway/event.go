package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// event has the fields of every form of gateway event that are needed to
// make a request of it, so that one decoding serves all of them:
//
//	REST API          payload 1.0, "path" as the client encoded it
//	local REST API    payload 1.0 as `sam local` makes it, "path" decoded
//	HTTP API          payload 2.0 (or 1.0 by setting), path decoded
//	function URL      payload 2.0, "rawPath" as the client encoded it
//	load balancer     "path" and query as the client encoded them; headers and
//	                  query values single, or lists by the target group's setting
//
// Which gateways encode was seen on deployed ones by others:
// https://github.com/hotsock/voker/pull/8. For load balancers see
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html.
type event struct {
	Version        string            `json:"version"`
	Headers        map[string]string `json:"headers"`
	Query          map[string]string `json:"queryStringParameters"`
	PathParameters map[string]string `json:"pathParameters"`
	Body           string            `json:"body"`
	Base64         bool              `json:"isBase64Encoded"`
	RequestContext requestContext    `json:"requestContext"`

	// Payload 1.0.
	HTTPMethod   string              `json:"httpMethod"`
	Path         string              `json:"path"`
	MultiHeaders map[string][]string `json:"multiValueHeaders"`
	MultiQuery   map[string][]string `json:"multiValueQueryStringParameters"`

	// Payload 2.0.
	RawPath  string   `json:"rawPath"`
	RawQuery string   `json:"rawQueryString"`
	Cookies  []string `json:"cookies"`

	// payload is set by decode.
	payload payload
}

type requestContext struct {
	Stage        string `json:"stage"`
	DomainName   string `json:"domainName"`
	Path         string `json:"path"`
	ResourcePath string `json:"resourcePath"`
	Identity     struct {
		SourceIP string `json:"sourceIp"`
	} `json:"identity"`
	ELB *struct {
		TargetGroupARN string `json:"targetGroupArn"`
	} `json:"elb"`
	HTTP struct {
		Method   string `json:"method"`
		Path     string `json:"path"`
		SourceIP string `json:"sourceIp"`
	} `json:"http"`
}

// payload is the form of an event, and of the response to it.
type payload int

const (
	payload1 payload = iota + 1
	payload2
	// balancer has one value a header and parameter, balancerLists has lists.
	balancer
	balancerLists
)

// lists reports whether the response has lists of header values.
func (p payload) lists() bool { return p == payload1 || p == balancerLists }

// isBalancer reports whether a load balancer sent the event.
func (p payload) isBalancer() bool { return p == balancer || p == balancerLists }

// errUnknownEvent is returned for what no gateway sends, such as another
// service's event.
var errUnknownEvent = errors.New("not an event of API Gateway, a function URL or a load balancer: it names no HTTP method")

// decode decodes an event and finds out its form.
func decode(data []byte) (*event, error) {
	ev := new(event)
	if err := json.Unmarshal(data, ev); err != nil {
		return nil, fmt.Errorf("decode gateway event: %w", err)
	}
	switch {
	case ev.RequestContext.HTTP.Method != "":
		ev.payload = payload2
	case ev.HTTPMethod == "":
		return nil, errUnknownEvent
	case ev.RequestContext.ELB == nil:
		ev.payload = payload1
	case ev.MultiHeaders != nil:
		ev.payload = balancerLists
	default:
		ev.payload = balancer
	}
	return ev, nil
}

func (ev *event) method() string {
	if ev.payload == payload2 {
		return ev.RequestContext.HTTP.Method
	}
	return ev.HTTPMethod
}

// sourceIP returns the client's address. A load balancer appends it to what
// the client sent as X-Forwarded-For, so only the last entry can be trusted.
func (ev *event) sourceIP(h http.Header) string {
	switch {
	case ev.payload == payload2:
		return ev.RequestContext.HTTP.SourceIP
	case !ev.payload.isBalancer():
		return ev.RequestContext.Identity.SourceIP
	}
	lines := h.Values("X-Forwarded-For")
	if len(lines) == 0 {
		return ""
	}
	last := lines[len(lines)-1]
	return withoutPort(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]))
}

// withoutPort returns an address without the port that a load balancer may be
// set to append, and without the brackets that IPv6 has then.
func withoutPort(address string) string {
	if both, err := netip.ParseAddrPort(address); err == nil {
		return both.Addr().String()
	}
	if strings.HasPrefix(address, "[") && strings.HasSuffix(address, "]") {
		return address[1 : len(address)-1]
	}
	return address
}

// rawPath returns the path as the event has it.
func (ev *event) rawPath() string {
	switch {
	case ev.payload != payload2:
		return ev.Path
	case ev.RawPath != "":
		return ev.RawPath
	}
	return ev.RequestContext.HTTP.Path
}

// rawQuery returns the query as the client encoded it, and false where the
// gateway decoded it.
func (ev *event) rawQuery() (string, bool) {
	switch {
	case ev.payload == payload2 && ev.RawQuery != "":
		return ev.RawQuery, true
	case !ev.payload.isBalancer():
		return "", len(ev.Query) == 0 && len(ev.MultiQuery) == 0
	}
	var pairs []string
	for name, value := range ev.Query {
		pairs = append(pairs, name+"="+value)
	}
	for name, values := range ev.MultiQuery {
		for _, value := range values {
			pairs = append(pairs, name+"="+value)
		}
	}
	return strings.Join(pairs, "&"), true
}

// pathEncoded reports whether the gateway hands the path on as the client
// encoded it. HTTP APIs and the local gateway decode it.
func (ev *event) pathEncoded() bool {
	switch {
	case ev.payload == payload2:
		return ev.functionURL()
	case ev.payload.isBalancer():
		return true
	}
	return ev.Version == "" && !ev.local()
}

// functionURL reports whether a function URL made the event.
func (ev *event) functionURL() bool {
	return ev.payload == payload2 && strings.Contains(ev.RequestContext.DomainName, ".lambda-url.")
}

// local reports whether `sam local` made the event. It has no field that says
// so, but it names a port in the domain name, and repeats the resource's
// pattern where API Gateway has the path.
func (ev *event) local() bool {
	rc := &ev.RequestContext
	return strings.Contains(rc.DomainName, ":") ||
		strings.Contains(rc.Path, "{") && rc.Path == rc.ResourcePath
}
