// Package publicaddr tells public addresses from internal ones. Strangers name URLs that
// we then request: callbacks of subscribers, and resources of Sources. Without a check
// they could make us send requests into the networks that we are in.
package publicaddr

import "net/netip"

// forbidden are addresses that are not public: the addresses in the IPv4 and IPv6
// Special-Purpose Address Registries of IANA (RFC 6890) and similar ones. In addition, all
// IPv6 addresses outside of 2000::/3 are forbidden.
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
	"3ffe::/16",        // 6bone, returned
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

// Allowed reports whether a is a public address or in one of the allowed networks.
func Allowed(a netip.Addr, allow []netip.Prefix) bool {
	a = a.WithZone("").Unmap()
	for _, p := range allow {
		if p.Contains(a) {
			return true
		}
	}
	if a.Is6() && (!globalUnicast.Contains(a) || isISATAP(a)) {
		return false
	}
	for _, p := range forbidden {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsValid()
}

// isISATAP reports whether a, in any network, contains an IPv4 address to which a router of
// that network would forward (RFC 5214).
func isISATAP(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
