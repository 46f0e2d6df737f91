package localname

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for uri, want := range map[string]string{
		"https://example.org/a/b.pdf":             "a/b.pdf",
		"https://example.org":                     "index.html",
		"https://example.org/":                    "index.html",
		"https://example.org/a/":                  "a/index.html",
		"https://example.org/a?x=1&y=/2":          "a%3Fx=1&y=%2F2",
		"https://example.org/?q":                  "%3Fq",
		"https://example.org/a%20b":               "a b",
		"https://example.org/caf%C3%A9":           "café",
		"https://example.org/100%25":              "100%",
		"https://example.org/100%2541":            "100%2541",
		"https://example.org/a%2Fb":               "a%2Fb",
		"https://example.org/a%5Cb":               "a%5Cb",
		"https://example.org/%ff":                 "%25ff",
		"https://example.org/%00":                 "%00",
		"https://example.org/../../etc/passwd":    "%2E%2E/%2E%2E/etc/passwd",
		"https://example.org/%2e%2e/%2e%2e/a":     "%2E%2E/%2E%2E/a",
		"https://example.org/..%2f..%2fa":         "..%2F..%2Fa",
		"https://example.org/a/./b":               "a/%2E/b",
		"https://example.org/CON":                 "%43ON",
		"https://example.org/com1.txt":            "%63om1.txt",
		"https://example.org/console":             "console",
		"https://example.org/a.":                  "a%2E",
		"https://example.org/a%20":                "a%20",
		"https://example.org/.resourcesync/state": "%2Eresourcesync/state",
		"https://example.org/.ResourceSync":       "%2EResourceSync",
		"https://example.org/a/.resourcesync":     "a/.resourcesync",
		"https://example.org/~/x":                 "%7E/x",
		"https://example.org/RESOUR~1/state.db":   "RESOUR%7E1/state.db",
		"https://example.org/longna~12.txt":       "longna%7E12.txt",
		"https://example.org/a~1b":                "a~1b",
		"https://example.org/~bob/x":              "~bob/x",
		"https://example.org/a:b":                 "a%3Ab",
		"https://EXAMPLE.org/a":                   "a",
		"https://other.example/a":                 "other.example/a",
		"https://other.example:8080/":             "other.example%3A8080/index.html",
	} {
		if got := Of(uri, "example.org"); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}

func TestOfDerived(t *testing.T) {
	for _, uri := range []string{
		"https://example.org//a", "https://example.org/" + strings.Repeat("a", 201) + ".PDF", "https://example.org/" + strings.Repeat("a/", 400),
		"mailto:a@example.org", "https://example.org/?" + strings.Repeat("a", 300), "::",
	} {
		got := Of(uri, "example.org")
		if got != Derived(uri) || !strings.HasPrefix(got, "~/") || len(got) > 90 {
			t.Errorf("%.80s: %s", uri, got)
		}
	}
	if got := Derived("https://example.org/a/Scan.PDF"); !strings.HasSuffix(got, ".pdf") {
		t.Errorf("%s has no extension", got)
	}
}

func TestFold(t *testing.T) {
	for a, b := range map[string]string{"README": "readme", "Straße": "STRASSE", "caf\u00e9": "cafe\u0301", "ﬁ": "fi"} {
		if Fold(a) != Fold(b) {
			t.Errorf("%q and %q differ", a, b)
		}
	}
	if Fold("a") == Fold("b") {
		t.Error("a and b are equal")
	}
}

// FuzzOf: each URI gets a path inside the copy and outside of its state.
func FuzzOf(f *testing.F) {
	for _, uri := range []string{"https://example.org/a/b?c", "https://example.org/%2e%2e/%5c/..\\x", "https://example.org/.resourcesync/x", "file:///etc/passwd", "https://a/b\x00c", "//", "https://../x", "https://.resourcesync/x"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		name := Of(uri, "example.org")
		if !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) || len(name) > maxPath {
			t.Errorf("%q: %q is not a local path", uri, name)
		}
		for i, s := range strings.Split(name, "/") {
			if len(s) > 255 || strings.ContainsAny(s, "<>:\"\\|?*\x00") || strings.HasSuffix(s, ".") || strings.HasSuffix(s, " ") || reserved.MatchString(s) {
				t.Errorf("%q: the name %q is not safe", uri, s)
			}
			if i == 0 && Fold(s) == Fold(State) {
				t.Errorf("%q: %q is the folder of the state", uri, name)
			}
		}
	})
}
