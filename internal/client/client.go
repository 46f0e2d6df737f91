// Package client tells clients apart, for limits that each of them has.
package client

import (
	"net"
	"net/http"
	"net/netip"
)

// Of returns who has sent r: the address that its connection comes from, without
// the port. Of an IPv6 address it is the first 64 bits, because whoever has one
// address of these has all. Behind a proxy everybody is the proxy.
func Of(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	return OfAddr(a)
}

// OfAddr returns who has the address a, which must be valid: what [Of] says of a
// request that comes from there.
func OfAddr(a netip.Addr) string {
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}
