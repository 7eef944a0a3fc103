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
	// The api-proxy would print these faults to the standard output. A path
	// always makes a URL.
	if strings.ContainsFunc(ev.method(), func(c rune) bool { return c < 'A' || c > 'Z' }) {
		return nil, errors.New("method: only capital letters make one")
	}
	query, encoded := ev.rawQuery()
	if strings.ContainsFunc(query, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return nil, errors.New("query: control characters must be encoded")
	}
	// Nothing that a client sends as a query has one; it would end the query here.
	query = strings.ReplaceAll(query, "#", "%23")
	var r *http.Request
	if encoded {
		r = ev.plainRequest(query)
	}
	if r == nil {
		var err error
		if r, err = ev.proxyRequest(query); err != nil {
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
	r.RemoteAddr = net.JoinHostPort(ev.sourceIP(r.Header), "0")
	return r.WithContext(ctx), nil
}

// plainRequest makes what nearly all requests are, reads and heartbeats: no
// body, and the query, if any, as the client sent it. For others it returns
// nil. (TestPlainRequests compares it with the api-proxy's.)
func (ev *event) plainRequest(query string) *http.Request {
	if ev.Body != "" {
		return nil
	}
	uri := ev.escapedPath()
	if query != "" {
		uri += "?" + query
	}
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil
	}
	return &http.Request{
		Method: ev.method(), URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
	}
}

// proxyRequest lets the api-proxy translate what it translates well. It takes
// a load balancer's query values for decoded, so these events go as payload
// 2.0, whose query is not taken apart (TestH27).
func (ev *event) proxyRequest(query string) (*http.Request, error) {
	if ev.payload == payload1 {
		return (&core.RequestAccessor{}).EventToRequest(events.APIGatewayProxyRequest{
			HTTPMethod:                      ev.method(),
			Path:                            ev.escapedPath(),
			QueryStringParameters:           ev.Query,
			MultiValueQueryStringParameters: ev.MultiQuery,
			Body:                            ev.Body,
			IsBase64Encoded:                 ev.Base64,
		})
	}
	e := events.APIGatewayV2HTTPRequest{
		RawPath:         ev.escapedPath(),
		RawQueryString:  query,
		Body:            ev.Body,
		IsBase64Encoded: ev.Base64,
	}
	if query == "" && ev.payload == payload2 {
		e.QueryStringParameters = ev.Query
	}
	e.RequestContext.HTTP.Method = ev.method()
	return (&core.RequestAccessorV2{}).EventToRequest(e)
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
