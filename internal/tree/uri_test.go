package tree

import (
	"net/url"
	"testing"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

var base = &url.URL{Scheme: "https", Host: "example.org", Path: "/lists/a.xml"}

func TestResolve(t *testing.T) {
	for ref, want := range map[string]string{
		"https://example.org/a%20b":     "https://example.org/a%20b",
		"/a b":                          "https://example.org/a%20b",
		"b":                             "https://example.org/lists/b",
		"//example.net/b":               "https://example.net/b",
		"https://example.org/100%.txt":  "https://example.org/100%25.txt",
		"https://example.org/50%2":      "https://example.org/50%252",
		"https://example.org/%zz%41":    "https://example.org/%25zz%41",
		"https://example.org/é%2Fb c":   "https://example.org/%C3%A9%2Fb%20c",
		"https://example.org/a?b=%&c=d": "https://example.org/a?b=%25&c=d",
		"https://example.org/<a>\\b^":   "https://example.org/%3Ca%3E%5Cb%5E",
		"https://user@example.org/a":    "https://user@example.org/a",
		"http://[2001:db8::1]:80/a":     "http://[2001:db8::1]:80/a",
		"HTTPS://EXAMPLE.ORG/A":         "HTTPS://EXAMPLE.ORG/A",
		"https://bücher.example/a":      "https://b%C3%BCcher.example/a",
		"":                              "https://example.org/lists/a.xml",

		"ftp://example.org/a": "", "urn:isbn:1": "", "http://[::1/a": "", "http:///a": "", "http://a b/": "", "http://example.org:http/": "",
		"//::": "", "http://::/": "", "//example.org:1:2/a": "",
	} {
		got, ok := Resolve(base, ref)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %q, %t, want %q", ref, got, ok, want)
		}
		if _, ok := Resolve(nil, ref); ok != (rsxml.CheckURI(ref) == nil && want != "") {
			t.Errorf("%q without a base: %t", ref, ok)
		}
	}
}

// FuzzResolve: each text resolves to a URI that can be requested, and that does not change when
// it is resolved again.
func FuzzResolve(f *testing.F) {
	for _, ref := range []string{"", "a%", "//[::1]:0/%41", "https://a:b@c/%zz?%#%", "http://a\\b/é"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		uri, ok := Resolve(base, ref)
		if !ok {
			if name := unreadable(ref); !IsUnreadable(name) || rsxml.CheckURI(name) == nil {
				t.Errorf("%q has the name %q", ref, name)
			}
			return
		}
		if u, err := url.Parse(uri); err != nil || u.Host == "" || IsUnreadable(uri) {
			t.Fatalf("%q is resolved to %q, which cannot be requested: %v", ref, uri, err)
		}
		if again, ok := Resolve(base, uri); !ok || again != uri {
			t.Errorf("%q is resolved to %q, and that to %q, %t", ref, uri, again, ok)
		}
	})
}
