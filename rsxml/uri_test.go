package rsxml

import (
	"net/url"
	"strings"
	"testing"
)

var longURI = "https://example.org/" + strings.Repeat("a", MaxURI-len("https://example.org/"))

func TestCheckURI(t *testing.T) {
	for _, uri := range []string{
		"https://example.org",
		"https://example.org/",
		"HTTP://example.org:8080/a/b.html;v=1?q[]=a+b&c=%C3%A9#frag",
		"http://user:pass@[2001:db8::1]:80/",
		"http://localhost",
		"https://example.org/~a!$&'()*,=:@-._",
		"gsiftp://grid.example.org/a",
		"urn:isbn:0451450523",
		"info:doi/10.1000/182",
		"a+b-c.d1:x",
		longURI,
	} {
		if err := CheckURI(uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
		if n := testing.AllocsPerRun(10, func() { CheckURI(uri) }); n != 0 {
			t.Errorf("%.50s: %v allocations", uri, n)
		}
		if u, err := url.Parse(uri); err != nil || !u.IsAbs() {
			t.Errorf("%s: net/url has another opinion: %v", uri, err)
		}
	}
	for uri, want := range map[string]string{
		"":                          `rsxml: URI "" is not absolute: resolve it against the base URI of the Source`,
		"/a":                        "not absolute",
		"//example.org/a":           "not absolute",
		"example.org/a:b":           "not absolute",
		"1a:b":                      "not absolute",
		":a":                        "not absolute",
		"h tp://example.org/":       "not absolute",
		"https://example.org/a b":   `rsxml: URI "https://example.org/a b" has " " at byte 21: write it as %20`,
		"https://example.org/é":     `has "é" at byte 20: write it as %C3%A9`,
		"https://example.org/\xff":  "write it as %FF",
		"https://example.org/<>":    "write it as %3C",
		"https://example.org/a\\b":  "write it as %5C",
		"https://example.org/a\x00": "write it as %00",
		"https://example.org/a\x7f": "write it as %7F",
		"https://example.org/{a}":   "write it as %7B",
		"https://example.org/100%":  "write it as %25",
		"https://example.org/%4":    "write it as %25",
		"https://example.org/%zz":   "at byte 20 without two hexadecimal digits: write it as %25",
		"https:example.org":         "no host",
		"https:/example.org":        "no host",
		"https://":                  "no host",
		"https:///a":                "no host",
		"http://:80/":               "no host",
		"http://user@/a":            "no host",
		"https://example.org:http/": `the invalid port "http"`,
		"https://[::1]:8x":          `the invalid port "8x"`,
		"HTTP://?a":                 "no host",
		longURI + "a":               "has 2049 characters: a <loc> has at most 2048, publish a shorter one",
	} {
		err := CheckURI(uri)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: got %v, want %s", uri, err, want)
		} else if len(err.Error()) > 300 {
			t.Errorf("%.100q: the error has %d bytes", uri, len(err.Error()))
		}
	}
}
