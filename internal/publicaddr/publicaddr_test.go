package publicaddr

import (
	"net/netip"
	"testing"
)

func TestAllowed(t *testing.T) {
	allow := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd12::/48")}
	for addr, want := range map[string]bool{
		"93.184.215.14":            true,
		"2606:2800:21f::1":         true,
		"127.0.0.1":                false,
		"::ffff:127.0.0.1":         false,
		"::1":                      false,
		"10.2.0.1":                 false,
		"10.1.2.3":                 true,
		"::ffff:10.1.2.3":          true,
		"169.254.169.254":          false,
		"fe80::1%eth0":             false,
		"fd12::1":                  true,
		"fd13::1":                  false,
		"2002:7f00:1::":            false,
		"2606:2800::5efe:7f00:1":   false,
		"2606:2800::200:5efe:7f:1": false,
	} {
		if got := Allowed(netip.MustParseAddr(addr), allow); got != want {
			t.Errorf("%s: %t, want %t", addr, got, want)
		}
	}
	if Allowed(netip.Addr{}, nil) {
		t.Error("no address is allowed")
	}
}
