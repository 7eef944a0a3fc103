package gateway

import (
	"net/url"
	"strings"
)

// prefix is the first part of every path of the API; the pages for people and
// load balancers answer without it too.
const prefix = "eureka"

// escapedPath returns the path of the request, encoded and without what the
// gateway put in front of it.
func (ev *event) escapedPath() string {
	path := ev.rawPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if !ev.pathEncoded() || !wellEncoded(path) {
		path = (&url.URL{Path: path}).EscapedPath()
	}
	return ev.cutBase(path)
}

// wellEncoded reports whether a path may have been encoded by a client: it
// has only whole escapes and nothing that cannot be in an encoded path. A
// local gateway that decodes first shows itself by it.
func wellEncoded(path string) bool {
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '#' || c == '?' || c <= ' ' || c >= 0x7f:
			return false
		case c == '%':
			if i+2 >= len(path) || !hexDigit(path[i+1]) || !hexDigit(path[i+2]) {
				return false
			}
		}
	}
	return true
}

func hexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// cutBase takes the stage's name or the base path of a custom domain off an
// encoded path. Whatever stands before the API's prefix is such; without the
// prefix, what the route's greedy parameter leaves out is, or the stage's
// name. A base path may itself be called as the prefix is.
func (ev *event) cutBase(path string) string {
	if i := indexPrefix(path); i >= 0 {
		return path[i:]
	}
	if proxy := "/" + strings.Trim(ev.PathParameters["proxy"], "/"); proxy != "/" {
		if trimmed := strings.TrimRight(path, "/"); strings.HasSuffix(trimmed, proxy) {
			return path[len(trimmed)-len(proxy):]
		}
	}
	if stage := ev.RequestContext.Stage; stage != "" {
		first, end := nextPart(path, 0)
		if first == stage {
			return "/" + strings.TrimLeft(path[end:], "/")
		}
	}
	return path
}

// indexPrefix returns where the last of the first run of parts called as the
// prefix begins, slash included, or -1.
func indexPrefix(path string) int {
	found := -1
	for start := 0; start < len(path); {
		part, end := nextPart(path, start)
		switch {
		case part == prefix:
			found = end - len(prefix) - 1
		case found >= 0 && part != "":
			return found
		}
		start = end
	}
	return found
}

// nextPart returns the first part of path[start:], which begins with slashes,
// and where it ends.
func nextPart(path string, start int) (part string, end int) {
	for start < len(path) && path[start] == '/' {
		start++
	}
	end = start
	for end < len(path) && path[end] != '/' {
		end++
	}
	return path[start:end], end
}
