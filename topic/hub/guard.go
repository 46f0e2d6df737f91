package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// A guard keeps requests to callbacks, which strangers name, from reaching what is
// not theirs to reach. What counts is the address that is dialled, each time
// that it is dialled; no verdict is kept.
type guard struct {
	allow []netip.Prefix
}

// forbidden are the addresses that are not those of somebody's server on the
// internet: the IPv4 and IPv6 Special-Purpose Address Registries of IANA (RFC
// 6890) and their like. Of IPv6, moreover, nothing but 2000::/3 is open.
var forbidden = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carrier-grade NAT, and metadata of Alibaba Cloud
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // the host of virtual machines at Azure
	"169.254.0.0/16",   // link-local, and metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments, and metadata of Oracle Cloud
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarking
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast
	"2001::/23",        // protocol assignments: Teredo, benchmarking, ORCHID
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4: an IPv4 address inside
	"3ffe::/16",        // 6bone, given back
	"3fff::/20",        // documentation
)

var globalUnicast = netip.MustParsePrefix("2000::/3")

func prefixes(s ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(s))
	for i := range s {
		out[i] = netip.MustParsePrefix(s[i])
	}
	return out
}

// errForbidden says that a callback leads to an address that it must not.
var errForbidden = errors.New("hub: callbacks must not lead to this address")

// addr returns an error if a must not be dialled.
func (g *guard) addr(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	for _, p := range g.allow {
		if p.Contains(a) {
			return nil
		}
	}
	if a.Is6() && (!globalUnicast.Contains(a) || isISATAP(a)) {
		return fmt.Errorf("%w: %v", errForbidden, a)
	}
	for _, p := range forbidden {
		if p.Contains(a) {
			return fmt.Errorf("%w: %v", errForbidden, a)
		}
	}
	return nil
}

// isISATAP reports whether a, of whatever network, has an IPv4 address in it to
// which a router of that network would bring it (RFC 5214).
func isISATAP(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// control looks at the address of a connection about to be made.
func (g *guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("%w: %s %s", errForbidden, network, address)
	}
	return g.addr(ap.Addr())
}

// transport returns what makes all requests to callbacks: it uses no proxy, follows
// no redirects, has no cookies, and dials nothing that g forbids. Whoever uses it
// sets a time-out, and reads answers to a small bound only. An http.Client around
// it would look at where redirects lead, and tell of it in its errors.
//
// A connection is used again for callbacks with the same name and port alone, also
// if it is one of HTTP/2 and the other side could answer for more: so it leads to
// an address that was judged. Over HTTP/2 a callback sends no more of an answer
// than fits into a small window before that is read, and a connection is closed
// soon once nothing comes from the other side, or nothing can be sent to it: what
// is tried again must not wait until the system gives up a dead connection.
func (g *guard) transport(o *Options) *http.Transport {
	dialer := &net.Dialer{
		Timeout:        o.Timeout,
		KeepAlive:      30 * time.Second,
		Resolver:       o.Resolver,
		ControlContext: g.control,
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		TLSHandshakeTimeout:    o.Timeout,
		MaxIdleConns:           max(2048, 2*o.Workers),
		MaxIdleConnsPerHost:    o.PerHost,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 32 << 10,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     2 * answerBytes,
			MaxReceiveBufferPerConnection: 64 << 10, // less is not taken
			SendPingTimeout:               o.Timeout,
			PingTimeout:                   o.Timeout,
			WriteByteTimeout:              o.Timeout,
		},
	}
}

// reason returns why a request to a callback has failed, fit for logs and
// operators: short, and without the callback.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if isTimeout(err) {
		return "no answer in time"
	}
	// net/http quotes what the other side has sent, which may be our request.
	text, _, _ := strings.Cut(err.Error(), `"`)
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimRight(text, " :(="))
	switch {
	case strings.TrimSpace(text) == "":
		return "the request has failed"
	case len(text) > 200:
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}
