package hub

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

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
	if last := labels[len(labels)-1]; isNumber(last) {
		return errors.New("its host is an address in an unusual form: write four decimal numbers, or a name")
	}
	return nil
}

// isNumber reports whether label is a decimal, octal or hexadecimal number.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
