package main

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
)

// clientAddress sets the remote address of a request to the last address in a header,
// which the proxy in front has added. Limits for clients use that address.
func clientAddress(header string, next http.Handler) http.Handler {
	if header == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a, ok := lastAddress(r.Header[header]); ok {
			r.RemoteAddr = net.JoinHostPort(a.String(), "0")
		}
		next.ServeHTTP(w, r)
	})
}

// token is the name of a header (RFC 9110, section 5.6.2).
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func checkClientHeader(name string) error {
	switch {
	case !token.MatchString(name):
		return errors.New("give the name of a header, such as X-Forwarded-For")
	case strings.EqualFold(name, "Forwarded"):
		return errors.New("its addresses have a syntax of their own; let the proxy set X-Forwarded-For or X-Real-IP")
	}
	return nil
}

func lastAddress(values []string) (a netip.Addr, ok bool) {
	if len(values) == 0 {
		return a, false
	}
	last := values[len(values)-1]
	last = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	if ap, err := netip.ParseAddrPort(last); err == nil {
		return ap.Addr(), true
	}
	a, err := netip.ParseAddr(strings.Trim(last, "[]"))
	return a, err == nil
}
