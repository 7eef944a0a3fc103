package access

import (
	"net/http"
	"net/netip"
)

// sharedPrefix is the part of an IPv6 address, in bits, that one customer of a
// network has all addresses under.
const sharedPrefix = 64

// source returns where a request comes from, as far as attempts are counted:
// the address that has the connection, or behind a gateway the one that the
// gateway names; headers that a client can write do not count.
func source(r *http.Request) string {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	ip := address.Addr().Unmap().WithZone("")
	if ip.Is6() {
		prefix, _ := ip.Prefix(sharedPrefix) // of an IPv6 address there is one
		return prefix.String()
	}
	return ip.String()
}
