package gateway

import (
	"errors"
	"strings"
)

// event has the fields of every form of gateway event that are needed to
// make a request of it, so that one decoding serves all of them:
//
//	REST API          payload 1.0, "path" as the client encoded it
//	local REST API    payload 1.0 as `sam local` makes it, "path" decoded
//	HTTP API          payload 2.0 (or 1.0 by setting), path decoded
//	function URL      payload 2.0, "rawPath" as the client encoded it
//
// Which of them encode was seen on deployed gateways by others:
// https://github.com/hotsock/voker/pull/8.
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

	// payload is set by recognize.
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
	HTTP struct {
		Method   string `json:"method"`
		Path     string `json:"path"`
		SourceIP string `json:"sourceIp"`
	} `json:"http"`
}

// payload is the version of the payload format, of event and answer alike.
type payload int

const (
	payload1 payload = 1
	payload2 payload = 2
)

// errUnknownEvent is returned for what no gateway sends, such as another
// service's event.
var errUnknownEvent = errors.New("the event is no API Gateway's nor a function URL's: it names no HTTP method")

// recognize finds out the payload format.
func (ev *event) recognize() error {
	switch {
	case ev.RequestContext.HTTP.Method != "":
		ev.payload = payload2
	case ev.HTTPMethod != "":
		ev.payload = payload1
	default:
		return errUnknownEvent
	}
	return nil
}

func (ev *event) method() string {
	if ev.payload == payload2 {
		return ev.RequestContext.HTTP.Method
	}
	return ev.HTTPMethod
}

func (ev *event) sourceIP() string {
	if ev.payload == payload2 {
		return ev.RequestContext.HTTP.SourceIP
	}
	return ev.RequestContext.Identity.SourceIP
}

// rawPath returns the path as the event has it.
func (ev *event) rawPath() string {
	switch {
	case ev.payload == payload1:
		return ev.Path
	case ev.RawPath != "":
		return ev.RawPath
	}
	return ev.RequestContext.HTTP.Path
}

// pathEncoded reports whether the gateway hands the path on as the client
// encoded it. HTTP APIs and the local gateway decode it.
func (ev *event) pathEncoded() bool {
	if ev.payload == payload2 {
		return ev.functionURL()
	}
	return ev.Version == "" && !ev.local()
}

// streams reports whether what made the event takes an answer in the form of
// response streaming when its function gives such: function URLs and REST APIs
// do, HTTP APIs and the local gateway do not.
func (ev *event) streams() bool {
	return ev.functionURL() || ev.payload == payload1 && ev.pathEncoded()
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
