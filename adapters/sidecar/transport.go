package sidecar

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// NewTransport returns the transport that [NewProxy] uses by default for an upstream of a
// site, for hosts that want to modify it. It keeps enough idle connections for one busy
// upstream, closes them before common web servers do, adds no Accept-Encoding, and
// ignores the proxies of the environment. It waits five minutes for the header of a
// response after the request is sent. For an upstream with the scheme h2c it uses HTTP/2
// only. The certificate of an https upstream must be valid for its name or, if the
// upstream is an IP address, for the name of the site.
func NewTransport(upstream, site string) *http.Transport {
	t := &http.Transport{
		DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		// net/http keeps two per host, so most requests of a busy proxy would
		// need a new connection.
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: 1024,
		// Apache closes idle connections after five seconds. A request sent at that
		// moment fails unless it can be repeated.
		IdleConnTimeout:        4 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  5 * time.Second,
		ResponseHeaderTimeout:  5 * time.Minute, // for slow reports and long polling
		MaxResponseHeaderBytes: 1 << 20,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
	}
	to, err := url.Parse(upstream)
	public, siteErr := url.Parse(site)
	if err == nil && siteErr == nil && net.ParseIP(to.Hostname()) != nil {
		t.TLSClientConfig = &tls.Config{ServerName: public.Hostname()}
	}
	if strings.HasPrefix(upstream, "h2c:") {
		t.Protocols.SetUnencryptedHTTP2(true)
	} else {
		t.Protocols.SetHTTP1(true)
		t.Protocols.SetHTTP2(true)
	}
	return t
}
