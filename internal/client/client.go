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
	if a = a.Unmap().WithZone(""); a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
