package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"
)

// request makes the request that a server on the other side of the gateway
// would have seen. Where there is a body, or a query that the gateway has taken
// apart, the api-proxy makes body, query and URL; it must be given
// an encoded path, since it parses a URL that it has put together as text
// ('#' and '?' would end the path, '%25' be decoded twice: TestH27). Headers
// are set here: it takes a header apart at each comma, so that Get sees only
// its first part, drops them all when there is an empty list of multi-value
// ones, and makes a header line of each cookie.
func (ev *event) request(ctx context.Context) (*http.Request, error) {
	if err := ev.check(); err != nil {
		return nil, err
	}
	r := ev.plainRequest()
	if r == nil {
		var err error
		if r, err = ev.proxyRequest(); err != nil {
			return nil, fmt.Errorf("body: not the base64 that it is said to be: %w", err)
		}
	}
	r.Header = ev.headers()
	r.Host = r.Header.Get("Host")
	if r.Host == "" {
		r.Host = ev.RequestContext.DomainName
	}
	r.Header.Del("Host")
	r.URL.Scheme, r.URL.Host = "", ""
	r.RemoteAddr = net.JoinHostPort(ev.sourceIP(), "0")
	return r.WithContext(ctx), nil
}

// check refuses what makes no URL or method, before the api-proxy prints it to
// the standard output. A path always makes one.
func (ev *event) check() error {
	if strings.ContainsFunc(ev.method(), func(c rune) bool { return c < 'A' || c > 'Z' }) {
		return errors.New("method: only capital letters make one")
	}
	if strings.ContainsFunc(ev.RawQuery, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return errors.New("query: control characters must be encoded")
	}
	return nil
}

// plainRequest makes what nearly all requests are, reads and heartbeats: no
// body, and the query, if any, as the client sent it. For others it returns
// nil. (TestPlainRequests holds it to the api-proxy's.)
func (ev *event) plainRequest() *http.Request {
	if ev.Body != "" || ev.RawQuery == "" && (len(ev.Query) > 0 || len(ev.MultiQuery) > 0) {
		return nil
	}
	uri := ev.escapedPath()
	if ev.RawQuery != "" {
		uri += "?" + ev.RawQuery
	}
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil
	}
	return &http.Request{
		Method: ev.method(), URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
	}
}

// proxyRequest lets the api-proxy translate what it translates well.
func (ev *event) proxyRequest() (*http.Request, error) {
	if ev.payload == payload2 {
		e := events.APIGatewayV2HTTPRequest{
			RawPath:               ev.escapedPath(),
			RawQueryString:        ev.RawQuery,
			QueryStringParameters: ev.Query,
			Body:                  ev.Body,
			IsBase64Encoded:       ev.Base64,
		}
		e.RequestContext.HTTP.Method = ev.method()
		return (&core.RequestAccessorV2{}).EventToRequest(e)
	}
	return (&core.RequestAccessor{}).EventToRequest(events.APIGatewayProxyRequest{
		HTTPMethod:                      ev.method(),
		Path:                            ev.escapedPath(),
		QueryStringParameters:           ev.Query,
		MultiValueQueryStringParameters: ev.MultiQuery,
		Body:                            ev.Body,
		IsBase64Encoded:                 ev.Base64,
	})
}

// headers returns the request's headers: a value with commas stays whole, and
// cookies are one line, as in HTTP/1.1.
func (ev *event) headers() http.Header {
	h := make(http.Header, len(ev.Headers)+1)
	values := make([]string, 0, len(ev.Headers))
	for name, values := range ev.MultiHeaders {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	for name, value := range ev.Headers {
		if key := http.CanonicalHeaderKey(name); h[key] == nil {
			values = append(values, value)
			h[key] = values[len(values)-1 : len(values) : len(values)]
		}
	}
	if len(ev.Cookies) > 0 {
		h.Set("Cookie", strings.Join(ev.Cookies, "; "))
	}
	return h
}
