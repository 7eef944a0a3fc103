package discovery

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/eurekaless/registry/core/eureka"
)

// RoundTripper returns a transport for requests to services by name: the host
// of "http://ORDERS/path" is a VIP address or an application, of which an
// instance is picked for each request. What is enabled at the instance decides
// between https and http, see [Client.Endpoint]; but a request to
// "https://ORDERS/path" goes only where https is enabled. A host with a port
// is an address, and is passed on as it is. When no instance is known the
// registry is fetched at once, at most every five seconds, and asked again.
//
// A request that can be repeated without harm (GET, HEAD, OPTIONS, TRACE, PUT
// and DELETE, with a body that can be had again) and that could not be
// connected is tried once more on another instance.
//
// Base sends the requests; nil: http.DefaultTransport.
func (c *Client) RoundTripper(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &roundTripper{client: c, base: base}
}

type roundTripper struct {
	client *Client
	base   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Port() != "" {
		return t.base.RoundTrip(req)
	}
	first, to, err := t.pick(req, nil)
	if errors.Is(err, ErrNoUsableInstance) && t.client.fetcher.mayFetchMissed() && t.client.Refresh(req.Context()) == nil {
		first, to, err = t.pick(req, nil)
	}
	if err != nil {
		closeBody(req)
		return nil, err
	}
	resp, err := t.base.RoundTrip(directed(req, to))
	if err == nil || !repeatable(req, err) {
		return resp, err
	}
	if again, ok := t.another(req, first); ok {
		return t.base.RoundTrip(again)
	}
	return nil, err
}

// another returns the request to another instance than the one that was tried,
// with its body anew, and whether that is possible.
func (t *roundTripper) another(req *http.Request, tried *eureka.InstanceInfo) (*http.Request, bool) {
	_, to, err := t.pick(req, tried)
	if err != nil {
		return nil, false
	}
	again := directed(req, to)
	return again, rewind(again)
}

// pick returns an instance for a request, other than the one that was tried,
// and where to find it.
func (t *roundTripper) pick(req *http.Request, tried *eureka.InstanceInfo) (*eureka.InstanceInfo, *url.URL, error) {
	var to *url.URL
	var unfit error
	i, err := t.client.pickFitting(req.URL.Host, func(i *eureka.InstanceInfo) bool {
		if tried != nil && i.Key() == tried.Key() {
			return false
		}
		at, err := t.client.endpoint(i, req.URL.Scheme == "https")
		if err != nil {
			unfit = err
			return false
		}
		to = at
		return true
	})
	if err != nil && unfit != nil {
		err = fmt.Errorf("%s: %w: %w", req.URL.Host, ErrNoUsableInstance, unfit)
	}
	return i, to, err
}

// directed returns the request to an instance.
func directed(req *http.Request, to *url.URL) *http.Request {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host = to.Scheme, to.Host
	if out.Host == req.URL.Host {
		out.Host = ""
	}
	return out
}

// rewind gets the body anew, and reports whether that is possible.
func rewind(req *http.Request) bool {
	if req.Body == nil || req.Body == http.NoBody {
		return true
	}
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	req.Body = body
	return true
}

// repeatable reports whether a request that failed may be sent again.
func repeatable(req *http.Request, err error) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
	default:
		return false
	}
	var network *net.OpError
	connected := !errors.As(err, &network) || network.Op != "dial"
	return !connected && req.Context().Err() == nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// Endpoint returns scheme and host with port under which an instance is
// called: https and the secure port where that is enabled, otherwise http and
// the plain one; the other way round with [Config.PreferPlainPort]. It returns
// [ErrNoPort] when none is enabled.
func (c *Client) Endpoint(i *eureka.InstanceInfo) (*url.URL, error) { return c.endpoint(i, false) }

func (c *Client) endpoint(i *eureka.InstanceInfo, onlySecure bool) (*url.URL, error) {
	host := i.HostName
	if c.cfg.CallByIPAddress {
		host = i.IPAddr
	}
	plain, secure := inUse(i.Port) && !onlySecure, inUse(i.SecurePort)
	if secure && (!plain || !c.cfg.PreferPlainPort) {
		return &url.URL{Scheme: "https", Host: address(host, i.SecurePort)}, nil
	}
	if plain {
		return &url.URL{Scheme: "http", Host: address(host, i.Port)}, nil
	}
	return nil, fmt.Errorf("%s: %w", i.Key(), ErrNoPort)
}

// inUse reports whether a port can be called. Spring registers -1 for a server
// whose http is off.
func inUse(p eureka.Port) bool { return p.Enabled && p.Number > 0 }

func address(host string, p eureka.Port) string {
	return net.JoinHostPort(host, strconv.Itoa(p.Number))
}
