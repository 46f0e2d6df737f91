package wellknown

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestAppendRobots(t *testing.T) {
	const uri = "https://example.org/resourcelist.xml"
	const line = "Sitemap: " + uri
	tests := []struct {
		name, existing string
		sitemaps       []string
		added          string
	}{
		// Example 11 of the core specification.
		{"core example 11", "User-agent: *\nDisallow: /cgi-bin/\nDisallow: /tmp/\n", []string{"http://example.com/dataset1/resourcelist.xml"},
			"Sitemap: http://example.com/dataset1/resourcelist.xml\n"},
		{"nothing yet", "", []string{uri, "https://example.org/2"}, line + "\nSitemap: https://example.org/2\n"},
		{"nothing to add", "User-agent: *", nil, ""},

		{"there already", "User-agent: *\n" + line + "\n", []string{uri}, ""},
		{"there without the end of its line", line, []string{uri}, ""},
		{"there in another case", "sItEmAp:" + uri + "\n", []string{uri}, ""},
		{"there with white space", " \tSitemap \t:\t " + uri + " \t\nUser-agent: *\n", []string{uri}, ""},
		{"there with a comment", line + " # ours\n", []string{uri}, ""},
		{"there after a byte order mark", "\uFEFF" + line + "\n", []string{uri}, ""},
		{"some there", line + "\n", []string{"https://example.org/2", uri}, "Sitemap: https://example.org/2\n"},
		{"given twice", "", []string{uri, uri}, line + "\n"},

		{"there in another case of the URI", "Sitemap: HTTPS://example.org/resourcelist.xml\n", []string{uri}, line + "\n"},
		{"a longer URI there", line + ".gz\n", []string{uri}, line + "\n"},
		{"there as a comment", "#" + line + "\n", []string{uri}, line + "\n"},
		{"another field", "X-" + line + "\nDisallow: " + line + "\n", []string{uri}, line + "\n"},
		{"not a field", "Sitemap " + uri + "\nSitemap\n:\n", []string{uri}, line + "\n"},

		{"CR LF", "User-agent: *\r\nDisallow:\r\n", []string{uri}, line + "\r\n"},
		{"last line without end", "User-agent: *\nDisallow:", []string{uri}, "\n" + line + "\n"},
		{"CR LF, last line without end", "User-agent: *\r\nDisallow:", []string{uri}, "\r\n" + line + "\r\n"},
		{"CR", "User-agent: *\r" + line + "\rDisallow:\r", []string{uri, "https://example.org/2"}, "Sitemap: https://example.org/2\n"},
		{"empty line first", "\n\r\nUser-agent: *\r\n", []string{uri}, line + "\n"},
		{"byte order mark only", "\uFEFF", []string{uri}, "\n" + line + "\n"},
		{"not UTF-8", "# \xff\xfe\n", []string{uri}, line + "\n"},

		{"URIs that would break out", "", []string{"https://example.org/\r\nDisallow: /", "https://example.org/é x", "https://example.org/#x", "#", ""},
			"Sitemap: https://example.org/%0D%0ADisallow:%20/\nSitemap: https://example.org/%C3%A9%20x\nSitemap: https://example.org/\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := test.existing + test.added
			got := AppendRobots(nil, []byte(test.existing), test.sitemaps)
			if string(got) != want {
				t.Errorf("got\n%q\nwant\n%q", got, want)
			}
			if got := AppendRobots([]byte("before"), []byte(test.existing), test.sitemaps); string(got) != "before"+want {
				t.Errorf("appended:\n%q", got)
			}
			if again := AppendRobots(nil, got, test.sitemaps); !bytes.Equal(again, got) {
				t.Errorf("merged again:\n%q", again)
			}
		})
	}
}

// checkMerge fails unless merging only adds lines of its own.
func checkMerge(t *testing.T, existing []byte, sitemaps []string) {
	t.Helper()
	merged := AppendRobots(nil, existing, sitemaps)
	added, ok := bytes.CutPrefix(merged, existing)
	if !ok {
		t.Fatalf("%q has become %q", existing, merged)
	}
	if len(added) > 0 {
		newline := "\n"
		if bytes.HasSuffix(added, []byte("\r\n")) {
			newline = "\r\n"
		}
		if len(existing) > 0 && existing[len(existing)-1] != '\n' && existing[len(existing)-1] != '\r' {
			if added, ok = bytes.CutPrefix(added, []byte(newline)); !ok {
				t.Fatalf("the last line of %q goes on: %q", existing, added)
			}
		}
		lines := strings.Split(strings.TrimSuffix(string(added), newline), newline)
		if len(lines) > len(sitemaps) {
			t.Fatalf("%d lines for %d sitemaps: %q", len(lines), len(sitemaps), added)
		}
		for _, line := range lines {
			uri, ok := strings.CutPrefix(line, "Sitemap: ")
			if !ok || uri == "" || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == '#' || r > '~' }) {
				t.Fatalf("line %q added", line)
			}
		}
	}
	if again := AppendRobots(nil, merged, sitemaps); !bytes.Equal(again, merged) {
		t.Fatalf("%q, merged again: %q", merged, again)
	}
	if other := AppendRobots(nil, merged, slices.Sorted(slices.Values(sitemaps))); !bytes.Equal(other, merged) {
		t.Fatalf("%q, merged again in another order: %q", merged, other)
	}
}

func FuzzAppendRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /tmp/\n"), "https://example.org/1", "https://example.org/2")
	f.Add([]byte("\uFEFFSitemap: https://example.org/1\r\nsitemap :https://example.org/3"), "https://example.org/1", "https://example.org/1")
	f.Add([]byte("Sitemap: a # b\rSitemap"), "a", "a\nb#c")
	f.Fuzz(func(t *testing.T, existing []byte, first, second string) {
		checkMerge(t, existing, []string{first, second})
	})
}

// The same for texts that are closer to a robots.txt than a fuzzer's.
func TestAppendRobotsProperties(t *testing.T) {
	pieces := []string{"\n", "\r\n", "\r", "Sitemap:", "SITEMAP: ", "Disallow: /", "https://example.org/1", "https://example.org/2", " ", "\t", "#", "\uFEFF", ":", "\x00"}
	sitemaps := []string{"https://example.org/1", "https://example.org/2", "https://example.org/3"}
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var existing []byte
		for range rng.IntN(20) {
			existing = append(existing, pieces[rng.IntN(len(pieces))]...)
		}
		rng.Shuffle(len(sitemaps), func(i, j int) { sitemaps[i], sitemaps[j] = sitemaps[j], sitemaps[i] })
		checkMerge(t, existing, sitemaps)
	}
}
