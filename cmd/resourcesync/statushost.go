package main

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// checkHost has next answer requests for an IP address, for localhost, or for the
// host in listen, the value of --status. A web page can point its own name at an
// address of this computer and read the answers under that name (DNS rebinding); it
// cannot make a browser send one of these.
func checkHost(listen string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(listen) // which is listened to
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := hostname(r.Host); host == "localhost" || own != "" && strings.EqualFold(host, own) || isAddress(host) {
			next.ServeHTTP(w, r)
			return
		}
		if reqbody.None(w, r) {
			http.Error(w, "The status is not public under this name. Use an IP address, localhost, or the name in --status.", http.StatusMisdirectedRequest)
		}
	})
}

// hostname returns the host in a Host header, without a port, brackets or a dot at
// its end.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
