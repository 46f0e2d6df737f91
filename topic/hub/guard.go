package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/internal/publicaddr"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A guard prevents requests to callbacks, which strangers name, from reaching internal
// addresses. It checks each address when it is dialled, and caches no result.
type guard struct {
	allow []netip.Prefix
}

// errForbidden means that a callback leads to a forbidden address. Operators see it, and
// subscribers do not.
var errForbidden = errors.New("hub: the address is not public, and is not among the allowed ones (AllowCallbacks, --allow-callbacks)")

// addr returns an error if a must not be dialled.
func (g *guard) addr(a netip.Addr) error {
	if !publicaddr.Allowed(a, g.allow) {
		return fmt.Errorf("%w: %v", errForbidden, a.WithZone("").Unmap())
	}
	return nil
}

// control checks the address of a connection before it is made.
func (g *guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("%w: %s %s", errForbidden, network, address)
	}
	return g.addr(ap.Addr())
}

// transport returns the transport of all requests to callbacks. It uses no proxy, follows no
// redirects, has no cookies, and dials no address that g forbids. Callers set a time-out,
// and read only a small part of responses. They do not use an http.Client, which would parse
// the targets of redirects and name them in errors.
//
// A connection is reused only for callbacks with the same name and port, even over HTTP/2,
// so it always leads to a checked address. Over HTTP/2, a callback cannot send more of a
// response than fits into a small window before the hub reads it. A dead connection is closed
// soon, because a retry must not wait until the system detects it.
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
			MaxReceiveBufferPerConnection: 64 << 10, // the minimum
			SendPingTimeout:               o.Timeout,
			PingTimeout:                   o.Timeout,
			WriteByteTimeout:              o.Timeout,
		},
	}
}

// reason returns the reason for a failed request to a callback, for logs and operators:
// short, and without the callback.
func reason(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if isTimeout(err) {
		return "no answer in time"
	}
	// net/http quotes the response, which may repeat our request.
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

// callback checks the URL of a callback, and returns its host for limits: the name in lower
// case or the IPv4 address, without the port, or the first 64 bits of an IPv6 address. One
// party usually has all ports of a host, and all addresses of such a network. It does not
// resolve names; their addresses are checked when they are dialled. Its errors are for the
// sender of the callback, not for logs.
func (g *guard) callback(raw string) (host string, err error) {
	if err := rsxml.CheckURI(raw); err != nil {
		return "", err
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", errors.New("it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("its scheme is neither http nor https")
	case u.User != nil:
		return "", errors.New("it has a user name: put identifying data into the query")
	case strings.Contains(raw, "#"):
		return "", errors.New("it has a fragment, which is never sent: remove it")
	}
	if err := checkPort(u); err != nil {
		return "", err
	}
	name := strings.ToLower(u.Hostname())
	if strings.HasPrefix(u.Host, "[") {
		return g.callbackIPv6(name)
	}
	if a, err := netip.ParseAddr(name); err == nil && a.Is4() {
		return name, g.addr(a)
	}
	if err := checkName(name); err != nil {
		return "", err
	}
	if (name == "localhost" || strings.HasSuffix(name, ".localhost")) &&
		g.addr(netip.AddrFrom4([4]byte{127, 0, 0, 1})) != nil && g.addr(netip.IPv6Loopback()) != nil {
		return "", fmt.Errorf("%w: %s", errForbidden, name)
	}
	return name, nil
}

// checkPort reports why the port of u is forbidden. Of the ports below 1024, at which other
// than web servers listen, only two are allowed.
func checkPort(u *url.URL) error {
	port := u.Port()
	if port == "" {
		if strings.HasSuffix(u.Host, ":") {
			return errors.New("its port is empty: remove the colon")
		}
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || port[0] == '0' {
		return errors.New("its port is not a number from 1 to 65535")
	}
	if n < 1024 && n != 80 && n != 443 {
		return errors.New("its port must be 80, 443, or 1024 or higher")
	}
	return nil
}

func (g *guard) callbackIPv6(literal string) (host string, err error) {
	a, err := netip.ParseAddr(literal)
	switch {
	case err != nil || !a.Is6():
		return "", errors.New("its host is not an IPv6 address")
	case a.Zone() != "":
		return "", errors.New("its address has a zone, which has a meaning on one machine only")
	case a.Is4In6():
		return "", errors.New("its address is an IPv4 address in IPv6: write it as such")
	}
	return client.OfAddr(a), g.addr(a)
}

// checkName reports why name cannot be a host in the Domain Name System. It refuses names
// that some resolvers read as numeric addresses.
func checkName(name string) error {
	if len(name) > 253 {
		return errors.New("its host is longer than 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 {
			return errors.New("its host begins or ends with a dot, or has a part that is empty or longer than 63 characters")
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return fmt.Errorf("its host has %q: use letters, digits, hyphens and dots, and xn-- for other scripts", c)
			}
		}
	}
	if numbers.MatchString(labels[len(labels)-1]) {
		return errors.New("its host is an address in an unusual form: write four decimal numbers, or a name")
	}
	return nil
}

// numbers matches decimal, octal and hexadecimal numbers.
var numbers = regexp.MustCompile("^(0x[0-9a-f]*|[0-9]*)$")
