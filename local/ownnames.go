package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ownNames serves requests that name this machine, and refuses others. A page
// can lead its own name to a loopback address once a browser has loaded it (DNS
// rebinding), and then the browser takes what is served there for a part of that
// page's site: it may read and write as if it were local
// (TestARebindingPageIsRefused). hostname is what the machine is called in its
// network.
func ownNames(hostname string, log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ownName(r.Host, hostname) {
			next.ServeHTTP(w, r)
			return
		}
		log.WarnContext(r.Context(), "request refused: its host name is not this machine's", "host", r.Host)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusMisdirectedRequest)
		// The client has gone when this fails.
		_, _ = w.Write([]byte(`{"error":"Host: not a name of this machine, which alone is served without credentials;` +
			` use localhost, or set REGISTRY_CREDENTIALS_FILE, or REGISTRY_ANONYMOUS=true to serve under any name"}` + "\n"))
	})
}

// privateDomains are the ends of names that nobody can have in the Internet:
// those that are reserved, and the one that some systems give themselves.
// Containers know their host by names in internal.
var privateDomains = []string{"localhost", "local", "internal", "test", "localdomain"}

// ownName reports whether no stranger's page can be loaded under the name in a
// Host header and this machine be called so afterwards. Programs that are not
// browsers may send none.
func ownName(host, hostname string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true // an address cannot be led elsewhere
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	domain := name[strings.LastIndexByte(name, '.')+1:]
	return domain == name || name == strings.ToLower(hostname) || slices.Contains(privateDomains, domain)
}
