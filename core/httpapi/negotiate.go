package httpapi

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/eurekaless/registry/core/wire"
)

// encoding chooses the answer's format and form as the stock server does: JSON
// when Accept names it anywhere, otherwise XML, which is also the answer to no
// Accept and to */*; the compact form by X-Eureka-Accept.
func encoding(r *http.Request) wire.Encoding {
	e := wire.Encoding{Format: wire.XML}
	for _, accept := range r.Header.Values("Accept") {
		if strings.Contains(strings.ToLower(accept), "json") {
			e.Format = wire.JSON
		}
	}
	e.Compact = strings.EqualFold(r.Header.Get("X-Eureka-Accept"), "compact")
	return e
}

// bodyFormat returns the format of the request's body.
func bodyFormat(r *http.Request) (wire.Format, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return wire.JSON, errMediaType
	case media == "application/json":
		return wire.JSON, nil
	case media == "application/xml":
		return wire.XML, nil
	}
	return wire.JSON, errMediaType
}

// acceptsGzip reports whether Accept-Encoding takes gzip, by name or by "*".
func acceptsGzip(r *http.Request) bool {
	any := false
	for _, header := range r.Header.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(header, ",") {
			name, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				return quality(params) > 0
			case "*":
				any = quality(params) > 0
			}
		}
	}
	return any
}

// quality returns the q of an Accept-Encoding item's parameters; 1 without.
func quality(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0
			}
			return q
		}
	}
	return 1
}

// etagMatches reports whether If-None-Match names the tag, weakly compared.
func etagMatches(r *http.Request, etag string) bool {
	for _, header := range r.Header.Values("If-None-Match") {
		for item := range strings.SplitSeq(header, ",") {
			item = strings.TrimPrefix(strings.TrimSpace(item), "W/")
			if item == "*" || item == etag {
				return true
			}
		}
	}
	return false
}
