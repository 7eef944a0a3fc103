package discovery

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/eurekaless/registry/core/eureka"
)

const (
	// maxTries is how many servers one operation is tried on, as the Java
	// client has it.
	maxTries = 3
	// maxDrained is how much of a body is read so that the connection can be
	// used again.
	maxDrained = 64 << 10
	// maxReason is how much of an error's body is told.
	maxReason = 512
	// contentType is that of everything that is sent.
	contentType = "application/json"
)

// request is one operation, before it is known which server it goes to.
type request struct {
	// name is for errors, such as "renew SHOP/shop-1".
	name   string
	method string
	// path is escaped and begins with a slash, query is encoded.
	path, query string
	body        []byte
	// want is the status of success.
	want int
	// missing is what a 404 means; nil when it means nothing of its own.
	missing error
	// known is the answer that is held already; zero without one.
	known source
}

// answer is a successful answer to a request.
type answer struct {
	source source
	body   []byte
	// unchanged says that the answer is the one that is held already.
	unchanged bool
}

// StatusError is an answer with a status that the operation does not have. A
// 404 is also eureka.ErrLeaseNotFound or eureka.ErrNotFound where the protocol
// gives it that meaning.
type StatusError struct {
	// Status is the HTTP status.
	Status int
	// Reason is the beginning of the body, or empty.
	Reason string

	missing error
}

// Error returns status and reason.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Unwrap returns what a 404 means, or nil.
func (e *StatusError) Unwrap() error {
	if e.Status == http.StatusNotFound {
		return e.missing
	}
	return nil
}

// do sends a request to the servers, one after the other, until one answers.
// read, if not nil, takes the answer's body; a body that it cannot read counts
// as a server that failed.
func (a *API) do(ctx context.Context, r *request, read func(context.Context, *answer) error) error {
	candidates := a.servers.candidates()
	var faults []error
	for _, s := range candidates[:min(maxTries, len(candidates))] {
		err := a.try(ctx, s, r, read)
		if ctx.Err() != nil && err != nil { // given up, which says nothing of the server
			faults = append(faults, err)
			break
		}
		if !isServerFault(err) {
			a.servers.answered(s)
			return named(r.name, err)
		}
		a.servers.failed(s)
		faults = append(faults, err)
	}
	return named(r.name, joined(faults))
}

// named returns an error that says which operation failed.
func named(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", escaped(operation), err)
}

// escaped returns a text with everything escaped that does not print: names and
// answers of others end on terminals.
func escaped(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 && utf8.ValidString(text) {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// joined returns one error for several, without a line for each.
func joined(faults []error) error {
	if len(faults) == 1 {
		return faults[0]
	}
	format := strings.Repeat("%w; ", len(faults))
	args := make([]any, len(faults))
	for n, err := range faults {
		args[n] = err
	}
	return fmt.Errorf(strings.TrimSuffix(format, "; "), args...)
}

// isServerFault reports whether another server may do better. An answer below
// 500 is one that every server would give.
func isServerFault(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Status >= http.StatusInternalServerError || status.Status == http.StatusTooManyRequests
	}
	return err != nil
}

// try sends a request to one server.
func (a *API) try(ctx context.Context, s *server, r *request, read func(context.Context, *answer) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	req, err := a.newRequest(ctx, s, r)
	if err != nil {
		return err
	}
	began := a.now()
	status, err := a.exchange(req, s, r, read)
	if a.onCall != nil {
		a.onCall(Call{Operation: r.name, Server: s.base, Status: status, Took: a.now().Sub(began), Err: err})
	}
	return err
}

// exchange sends a request and reads the answer. The body is always drained
// and closed; where nothing is to be read from it, only the status counts
// (TestH21).
func (a *API) exchange(req *http.Request, s *server, r *request, read func(context.Context, *answer) error) (status int, err error) {
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() {
		io.CopyN(io.Discard, resp.Body, maxDrained) // what fails here was not needed
		resp.Body.Close()
	}()
	from := source{path: r.path, server: s, etag: resp.Header.Get("ETag")}
	switch {
	case resp.StatusCode == http.StatusNotModified && r.known.server == s:
		return resp.StatusCode, read(req.Context(), &answer{source: r.known, unchanged: true})
	case resp.StatusCode != r.want:
		return resp.StatusCode, newStatusError(resp, r)
	case read == nil:
		return resp.StatusCode, nil
	}
	body, err := readBody(resp, a.maxBytes)
	if err != nil {
		return resp.StatusCode, fmt.Errorf("read the answer of %s: %w", s.base, err)
	}
	return resp.StatusCode, read(req.Context(), &answer{source: from, body: body})
}

// newRequest returns the request for one server. All operations of the
// protocol can be repeated without harm, and say so to the transport by a key
// that is not sent: it then tries again on its own when it met a connection
// that the server had just closed.
func (a *API) newRequest(ctx context.Context, s *server, r *request) (*http.Request, error) {
	address := s.base + r.path
	if r.query != "" {
		address += "?" + r.query
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if s.user != "" {
		req.SetBasicAuth(s.user, s.password)
	}
	h := req.Header
	h["Idempotency-Key"] = []string{}
	h.Set("User-Agent", userAgent)
	h.Set("DiscoveryIdentity-Name", a.name)
	h.Set("Accept", contentType)
	if r.body != nil {
		h.Set("Content-Type", contentType)
	}
	if r.method == http.MethodGet {
		a.describeReading(h, s, r)
	}
	return req, nil
}

// describeReading sets the headers that choose an answer's form.
func (a *API) describeReading(h http.Header, s *server, r *request) {
	if a.compact {
		h.Set("X-Eureka-Accept", "compact")
	}
	// Named in any case, so that the transport does not ask for gzip itself.
	h.Set("Accept-Encoding", "identity")
	if a.gzip {
		h.Set("Accept-Encoding", "gzip")
	}
	if r.known.server == s && r.known.etag != "" {
		h.Set("If-None-Match", r.known.etag)
	}
}

func newStatusError(resp *http.Response, r *request) error {
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason)) // what there is of it
	return &StatusError{
		Status:  resp.StatusCode,
		Reason:  escaped(strings.Join(strings.Fields(strings.ToValidUTF8(string(reason), "")), " ")),
		missing: r.missing,
	}
}

// ErrResponseTooLarge says that an answer is larger than
// [Config.MaxResponseBytes].
var ErrResponseTooLarge = errors.New("response too large")

// sized makes a decoder's error about sizes one that is [ErrResponseTooLarge].
func sized(err error) error {
	if errors.Is(err, eureka.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrResponseTooLarge, err)
	}
	return err
}

// readBody reads a body of at most limit bytes, decompressed.
func readBody(resp *http.Response, limit int) ([]byte, error) {
	body := io.Reader(resp.Body)
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		defer unzipped.Close()
		body = unzipped
	}
	var data bytes.Buffer // which doubles: less garbage than io.ReadAll makes
	n, err := data.ReadFrom(io.LimitReader(body, int64(limit)+1))
	if err == nil && n > int64(limit) {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrResponseTooLarge, limit)
	}
	return data.Bytes(), err
}

// newHTTPClient returns a client that follows a redirect only when it asks for
// the same: the usual change of a PUT into a GET would take a page for an
// answered heartbeat.
func newHTTPClient(transport http.RoundTripper) *http.Client {
	const maxRedirects = 3
	return &http.Client{
		Transport: transport,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.Method != via[0].Method || len(via) > maxRedirects {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// newTransport returns the transport that a client owns. Idle connections end
// before the servers' usual limits, so that few requests meet a connection
// that is just being closed.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       45 * time.Second,
		ForceAttemptHTTP2:     true,
	}
}

// segment returns a text as one segment of a path.
func segment(text string) string { return url.PathEscape(text) }

// list asks for a list of applications.
func (a *API) list(ctx context.Context, r *request) (*eureka.Applications, *answer, error) {
	r.method, r.want = http.MethodGet, http.StatusOK
	var apps *eureka.Applications
	var got *answer
	err := a.do(ctx, r, func(ctx context.Context, answered *answer) (err error) {
		got = &answer{source: answered.source, unchanged: answered.unchanged} // without the body, which is large
		if !answered.unchanged {
			apps, err = a.decoder().Applications(ctx, answered.body)
		}
		return sized(err)
	})
	if err != nil {
		return nil, nil, err
	}
	return apps, got, nil
}
