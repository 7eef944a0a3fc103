// Package apigateway does locally what API Gateway's HTTP API or a function URL
// does on AWS: it turns each request into an event (payload format 2.0) as JSON,
// calls a Lambda handler with it, and sends the response that the handler's JSON
// describes.
package apigateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/uuid"
)

// The service's own limits.
const (
	// MaxBody is the largest request body, in bytes.
	MaxBody = 10 << 20
	// MaxAnswer is the largest answer of a function, in bytes of JSON.
	MaxAnswer = 6_291_556
	// Timeout is how long a function may take.
	Timeout = 29 * time.Second
)

// Function is a Lambda handler, as of github.com/aws/aws-lambda-go/lambda.
type Function interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// Gateway is an http.Handler in front of functions.
type Gateway struct {
	route func(method string) Function
	log   *slog.Logger
	now   func() time.Time
	// domain is the events' domain name.
	domain string
	// pathEncoded says that paths are passed on as the client encoded them.
	pathEncoded bool
}

// New returns a gateway. route chooses the function for a method, as the
// template's routes do.
func New(route func(method string) Function, log *slog.Logger, now func() time.Time) *Gateway {
	return &Gateway{route: route, log: log, now: now, domain: "localhost"}
}

// NewFunctionURL returns a function URL that invokes a function without response
// streaming.
func NewFunctionURL(function Function, log *slog.Logger, now func() time.Time) *Gateway {
	g := New(func(string) Function { return function }, log, now)
	g.domain, g.pathEncoded = "local.lambda-url.us-east-1.on.aws", true
	return g
}

// ServeHTTP answers one request. What goes wrong between gateway and function
// is answered as API Gateway answers it, and logged.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	event, err := g.event(w, r)
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(w, status)
		return
	}
	answer, err := g.invoke(r.Context(), g.route(r.Method), event)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		g.log.ErrorContext(r.Context(), "gateway: function timed out", "error", err)
		refuse(w, http.StatusServiceUnavailable)
	case err != nil:
		g.log.ErrorContext(r.Context(), "gateway: function failed", "error", err)
		refuse(w, http.StatusInternalServerError)
	default:
		g.answer(w, answer)
	}
}

// refuse answers in the gateway's own words.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"message":%q}`, http.StatusText(status))
}

// invoke calls the function by way of JSON in both directions.
func (g *Gateway) invoke(ctx context.Context, f Function, event events.APIGatewayV2HTTPRequest) (out events.APIGatewayV2HTTPResponse, err error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return out, fmt.Errorf("encode event: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: event.RequestContext.RequestID})
	answer, err := f.Invoke(ctx, payload)
	if err != nil {
		return out, err
	}
	if len(answer) > MaxAnswer {
		return out, fmt.Errorf("answer of %d bytes is over the limit of %d", len(answer), MaxAnswer)
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return out, fmt.Errorf("decode answer: %w", err)
	}
	if out.StatusCode == 0 {
		return out, errors.New("answer without a statusCode")
	}
	return out, nil
}

func (g *Gateway) answer(w http.ResponseWriter, answer events.APIGatewayV2HTTPResponse) {
	body := []byte(answer.Body)
	if answer.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(answer.Body); err != nil {
			g.log.Error("gateway: answer is not base64", "error", err)
			refuse(w, http.StatusInternalServerError)
			return
		}
	}
	for name, value := range answer.Headers {
		w.Header().Set(name, value)
	}
	for _, cookie := range answer.Cookies {
		w.Header().Add("Set-Cookie", cookie)
	}
	w.WriteHeader(answer.StatusCode)
	// The client has gone when this fails.
	_, _ = w.Write(body)
}

// event describes a request.
func (g *Gateway) event(w http.ResponseWriter, r *http.Request) (events.APIGatewayV2HTTPRequest, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		return events.APIGatewayV2HTTPRequest{}, fmt.Errorf("read body: %w", err)
	}
	now := g.now()
	source, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		source = r.RemoteAddr
	}
	// HTTP APIs pass on the decoded path. Both pass on the encoded query.
	path := r.URL.Path
	if g.pathEncoded {
		path = r.URL.EscapedPath()
	}
	event := events.APIGatewayV2HTTPRequest{
		Version:               "2.0",
		RouteKey:              "$default",
		RawPath:               path,
		RawQueryString:        r.URL.RawQuery,
		Cookies:               cookies(r),
		Headers:               headers(r, source),
		QueryStringParameters: query(r),
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey:     "$default",
			AccountID:    "000000000000",
			Stage:        "$default",
			RequestID:    uuid.NewString(),
			APIID:        "local",
			DomainName:   g.domain,
			DomainPrefix: strings.Split(g.domain, ".")[0],
			Time:         now.UTC().Format("02/Jan/2006:15:04:05 -0700"),
			TimeEpoch:    now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method:    r.Method,
				Path:      path,
				Protocol:  r.Proto,
				SourceIP:  source,
				UserAgent: r.UserAgent(),
			},
		},
	}
	if isText(r.Header.Get("Content-Type")) && utf8.Valid(body) { // JSON would lose what is not UTF-8
		event.Body = string(body)
	} else {
		event.Body = base64.StdEncoding.EncodeToString(body)
		event.IsBase64Encoded = len(body) > 0
	}
	return event, nil
}

// headers has names in lower case and several values of one joined; cookies
// are apart.
func headers(r *http.Request, source string) map[string]string {
	out := map[string]string{}
	for name, values := range r.Header {
		if name != "Cookie" {
			out[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	out["host"] = r.Host
	out["x-forwarded-for"] = strings.TrimPrefix(out["x-forwarded-for"]+", "+source, ", ")
	out["x-forwarded-proto"] = "http"
	return out
}

func cookies(r *http.Request) []string {
	var out []string
	for _, line := range r.Header.Values("Cookie") {
		for cookie := range strings.SplitSeq(line, ";") {
			out = append(out, strings.TrimSpace(cookie))
		}
	}
	return out
}

// query has values decoded and several of one name joined.
func query(r *http.Request) map[string]string {
	out := map[string]string{}
	for name, values := range r.URL.Query() {
		out[name] = strings.Join(values, ",")
	}
	return out
}

// isText reports whether the service hands a body of the type on as it is.
func isText(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)
	switch kind {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(kind, "text/")
}
