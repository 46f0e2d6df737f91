// Package client identifies clients, for limits per client.
package client

import (
	"net"
	"net/http"
	"net/netip"
)

// Of identifies the client that sent r by the remote address of its connection,
// without the port. Of an IPv6 address it uses the first 64 bits, because one client
// usually has all addresses of such a network. Behind a proxy, all clients are one.
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

// OfAddr identifies the client with the address a, which must be valid, as [Of] does.
func OfAddr(a netip.Addr) string {
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}
