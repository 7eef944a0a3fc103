package access

import (
	"net/http"
	"net/netip"
)

// Parts of an address, in bits, under which one customer of a network has all
// addresses: a subnet of IPv6; and what one network has, a provider's
// allocation or a large customer's.
const (
	subnetBits   = 64
	network6Bits = 32
	network4Bits = 16
)

// source is where a request comes from, as far as attempts are counted: the
// address that has the connection, or behind a gateway the one that the gateway
// names; headers that a client can write do not count. Both are empty when it
// is not known.
type source struct {
	// address is the address; of IPv6 the subnet, whose addresses are anybody's
	// who has one.
	address string
	// network is the network around it.
	network string
}

func sourceOf(r *http.Request) source {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return source{}
	}
	ip := address.Addr().Unmap().WithZone("")
	if ip.Is6() {
		return source{address: prefix(ip, subnetBits), network: prefix(ip, network6Bits)}
	}
	return source{address: ip.String(), network: prefix(ip, network4Bits)}
}

// prefix returns the first bits of an address, which has more.
func prefix(ip netip.Addr, bits int) string {
	p, _ := ip.Prefix(bits)
	return p.String()
}
