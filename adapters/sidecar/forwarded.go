package sidecar

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
)

var (
	schemeHTTP  = []string{"http"}
	schemeHTTPS = []string{"https"}
)

// setForwarded sets the headers with the address of the client and the requested host.
// ReverseProxy has removed the common Forwarded and X-Forwarded-* headers of the client;
// setForwarded restores those of a trusted proxy.
func (p *proxy) setForwarded(r *httputil.ProxyRequest) {
	host, _, err := net.SplitHostPort(r.In.RemoteAddr)
	if err != nil {
		host = ""
	}
	var trusted http.Header          // of a trusted proxy
	values := []string{host, p.host} // one allocation for two headers
	if len(p.trusted) > 0 && p.trusts(host) {
		trusted = r.In.Header
		values[1] = r.In.Host // other clients may send any host
	}
	h := r.Out.Header
	for name := range h {
		if forwards, alias := isForwarding(name); forwards && (alias || trusted == nil) {
			delete(h, name)
		}
	}
	if values := trusted["Forwarded"]; values != nil {
		h["Forwarded"] = slices.Clone(values)
	}
	if host != "" {
		if before := trusted["X-Forwarded-For"]; before != nil {
			host = strings.Join(before, ", ") + ", " + host
		}
		values[0] = host
		h["X-Forwarded-For"] = values[:1:1]
	}
	h["X-Forwarded-Host"] = values[1:]
	if values := trusted["X-Forwarded-Host"]; values != nil {
		h["X-Forwarded-Host"] = slices.Clone(values)
	}
	switch values := trusted["X-Forwarded-Proto"]; {
	case values != nil:
		h["X-Forwarded-Proto"] = slices.Clone(values)
	case r.In.TLS != nil:
		h["X-Forwarded-Proto"] = schemeHTTPS
	default:
		h["X-Forwarded-Proto"] = schemeHTTP
	}
}

// isForwarding reports whether a header names the client of a proxy or the host that the
// client requested. An alias is a spelling, such as X_Forwarded_For, that CGI and PHP do
// not distinguish from the proper one, and that no proxy sends.
func isForwarding(name string) (forwards, alias bool) {
	if len(name) < len("forwarded") || name[0]|0x20 != 'x' && name[0]|0x20 != 'f' {
		return false, false
	}
	plain := strings.Map(func(c rune) rune {
		switch {
		case 'A' <= c && c <= 'Z':
			return c | 0x20
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
			return c
		}
		alias = true
		return '-'
	}, name)
	forwards = plain == "forwarded" || plain == "x-real-ip" || plain == "x-forwarded" || strings.HasPrefix(plain, "x-forwarded-")
	return forwards, alias
}

// trusts reports whether a proxy at this address may name its client.
func (p *proxy) trusts(address string) bool {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(p.trusted, func(prefix netip.Prefix) bool { return prefix.Contains(ip) })
}
