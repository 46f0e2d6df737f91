package main

import (
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
)

// TestScanAsForms checks all valid forms of --scan-as.
func TestScanAsForms(t *testing.T) {
	address := netip.MustParseAddr
	for given, want := range map[string]sitemap.Stranger{
		"none":                       {Off: true},
		"192.0.2.1":                  {Address: address("192.0.2.1")},
		"2001:db8::1":                {Address: address("2001:db8::1")},
		" 192.0.2.1, ":               {Address: address("192.0.2.1")},
		"192.0.2.1,CF-Connecting-IP": {Address: address("192.0.2.1"), Headers: []string{"CF-Connecting-IP"}},
		"203.0.113.7, x-forwarded-for, forwarded": {Address: address("203.0.113.7"), Headers: []string{"x-forwarded-for", "forwarded"}},
		"2001:db8::1 X-Real-IP":                   {Address: address("2001:db8::1"), Headers: []string{"X-Real-IP"}},
	} {
		c, err := parseProxy([]string{"--upstream", "http://127.0.0.1:1", "--scan-as", given})
		must(t, err)
		if got := c.Sets[0].(*origin.Upstream).Stranger; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", given, got, want)
		}
	}
}

// TestScanAs: invalid forms of --scan-as are refused with what is valid.
func TestScanAs(t *testing.T) {
	const form, names = "give none, or an address and optionally the names of headers, such as 192.0.2.1,CF-Connecting-IP", "cannot name a client; give the names of headers that the web server trusts, such as CF-Connecting-IP"
	for given, want := range map[string]string{
		"":                            form,
		",":                           form,
		"NONE":                        form,
		"none,X-Real-IP":              form,
		"X-Real-IP":                   form,
		"visitor.example.org":         form,
		"192.0.2.1:80":                form,
		"192.0.2.0/24":                form,
		"fe80::1%eth0":                form,
		"192.0.2.1,X-Real-IP:":        `"X-Real-IP:" ` + names,
		"192.0.2.1,X-Real-IP,bé":      `"bé" ` + names,
		"192.0.2.1,192.0.2.2/32":      `"192.0.2.2/32" ` + names,
		"192.0.2.1,host":              `"host" ` + names,
		"192.0.2.1,X-Forwarded-Host":  `"X-Forwarded-Host" ` + names,
		"192.0.2.1,Transfer-Encoding": `"Transfer-Encoding" ` + names,
	} {
		args := []string{"--upstream", "http://127.0.0.1:1", "--base-url", "https://example.org/"}
		if _, err := parseProxy(append(args, "--scan-as", given)); err == nil || !strings.Contains(err.Error(), `scan-as "`+given+`": `+want) {
			t.Errorf("%q: %v\nwant %s", given, err, want)
		}
		if given == "" {
			continue // an empty variable is none
		}
		t.Setenv("RESOURCESYNC_SCAN_AS", given)
		if _, err := parseProxy(args); err == nil || !strings.Contains(err.Error(), "RESOURCESYNC_SCAN_AS") || !strings.Contains(err.Error(), want) {
			t.Errorf("RESOURCESYNC_SCAN_AS=%s: %v\nwant %s", given, err, want)
		}
		os.Unsetenv("RESOURCESYNC_SCAN_AS")
	}
}
