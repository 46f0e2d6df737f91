package virtualzip_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// TestName writes "~*" in place of the digest.
func TestName(t *testing.T) {
	long := strings.Repeat("x", 250)
	for _, tt := range []struct{ uri, want string }{
		// Names that are kept.
		{"https://example.org/papers/1.pdf", "https/example.org/papers/1.pdf"},
		{"http://example.org/papers/1.pdf", "http/example.org/papers/1.pdf"},
		{"https://example.org/10.5281/zenodo.42/data_v1.2-final.tar.gz", "https/example.org/10.5281/zenodo.42/data_v1.2-final.tar.gz"},

		// Names that may be confused with others.
		{"https://example.org/papers", "https/example.org/papers~*"},
		{"https://example.org/papers/", "https/example.org/papers/index~*"},
		{"https://example.org/", "https/example.org/index~*"},
		{"https://example.org", "https/example.org/index~*"},
		{"https://example.org/10.5281", "https/example.org/10.5281~*"},
		{"https://example.org/Papers/1.pdf", "https/example.org/Papers/1~*.pdf"},
		{"HTTPS://EXAMPLE.ORG/papers/1.pdf", "HTTPS/EXAMPLE.ORG/papers/1~*.pdf"},
		{"https://example.org/lib.git/a.pdf", "https/example.org/lib_git/a~*.pdf"},
		{"https://example.org//a.pdf", "https/example.org/a~*.pdf"},
		{"https://example.org/a.pdf?", "https/example.org/a~*.pdf"},
		{"https://example.org/a.pdf#page=2", "https/example.org/a_page_2~*.pdf"},
		{"https://example.org/%61.pdf", "https/example.org/a~*.pdf"},

		// Names that people can still read.
		{"https://example.org/caf%C3%A9/na%C3%AFve.txt", "https/example.org/café/naïve~*.txt"},
		{"https://example.org/%E8%AB%96%E6%96%87.pdf", "https/example.org/論文~*.pdf"},
		{"https://example.org/%E0%A4%B9%E0%A4%BF%E0%A4%A8%E0%A5%8D%E0%A4%A6%E0%A5%80", "https/example.org/हिन्दी~*"},
		{"https://example.org/caf%E9.pdf", "https/example.org/caf_E9~*.pdf"},
		{"https://example.org/my%20own%20paper.pdf", "https/example.org/my_own_paper~*.pdf"},
		{"https://example.org/view.php?id=12&format=pdf", "https/example.org/view_id_12_format_pdf~*.php"},
		{"https://example.org/?id=12", "https/example.org/id_12~*"},
		{"https://user@example.org:8080/a.pdf", "https/user_example.org_8080/a~*.pdf"},
		{"urn:isbn:978-3-16-148410-0", "urn/isbn_978-3-16-148410-0~*"},
		{"info:doi/10.1000/182", "info/doi/10.1000/182~*"},
		{"papers/1.pdf", "papers/1~*.pdf"},
		{"", "index~*"},

		// Unsafe names.
		{"https://example.org/../../etc/passwd", "https/example.org/__/__/etc/passwd~*"},
		{"https://example.org/%2e%2e/%2e/a.pdf", "https/example.org/__/_/a~*.pdf"},
		{"https://example.org/..%2f..%2fa.pdf", "https/example.org/_._.._a~*.pdf"},
		{"https://example.org/C:%5Cwindows%5Ca.dll", "https/example.org/C_windows_a~*.dll"},
		{"https://example.org/a%00b%0A%1B%7F%C2%85%E2%80%AE.pdf", "https/example.org/a_b_~*.pdf"},
		{"https://example.org/con/nul.tar.gz", "https/example.org/_con/_nul.tar~*.gz"},
		{"https://example.org/LPT1/com9.txt", "https/example.org/_LPT1/_com9~*.txt"},
		{"https://example.org/com10.txt", "https/example.org/com10.txt"},
		{"https://example.org/COM%C2%B9.txt", "https/example.org/COM_~*.txt"},
		{"https://example.org/conin%24", "https/example.org/conin_~*"},
		{"https://example.org/con%20/nul%20.txt/aux.", "https/example.org/con_/nul__txt/aux_~*"},
		{"https://aux/?nul", "https/_aux/_nul~*"},
		{"con:prn", "_con/_prn~*"},
		{"https://example.org/.ssh/.htaccess", "https/example.org/_ssh/_htaccess~*"},
		{"https://example.org/-rf/-x.pdf", "https/example.org/_rf/_x~*.pdf"},
		{"https://example.org/a./b%20/c.", "https/example.org/a_/b_/c_~*"},
		{"https://example.org/a~b~c5zk23of3liowozbqzzzo4djbm.pdf", "https/example.org/a_b_c5zk23of3liowozbqzzzo4djbm~*.pdf"},

		// Names that are too long.
		{"https://example.org/" + strings.Repeat("y/", 2490), "https/example.org/" + strings.Repeat("y/", 90) + "index~*"},
		{"https://example.org/?" + strings.Repeat("%C3%A9", 900), "https/example.org/" + strings.Repeat("é", 86) + "~*"},
		{"https://example.org/" + long + ".pdf", "https/example.org/" + long[:200-27-4] + "~*.pdf"},
		{"https://example.org/" + long + "/a.pdf", "https/example.org/a~*.pdf"},
		{"https://example.org/" + strings.Repeat("folder/", 40) + "a.pdf", "https/example.org/" + strings.Repeat("folder/", 25) + "a~*.pdf"},
	} {
		got := digest.ReplaceAllString(virtualzip.Name("resources", tt.uri), "~*")
		if got != "resources/"+tt.want {
			t.Errorf("Name(%q):\n%s\nwant\n%s", tt.uri, got, "resources/"+tt.want)
		}
	}
}

var digest = regexp.MustCompile(`~[a-z2-7]{26}`)

// TestNameFolder checks that the longest folder leaves room for a file.
func TestNameFolder(t *testing.T) {
	folder := strings.Repeat("f", 120)
	for _, uri := range []string{"https://example.org/1.pdf", "https://example.org/" + strings.Repeat("y", 300) + ".abcdefghijkl"} {
		name := virtualzip.Name(folder, uri)
		if rest, ok := strings.CutPrefix(name, folder+"/"); !ok || len(name) > virtualzip.MaxName || rest == "" {
			t.Errorf("Name(…, %q) = %q", uri, name)
		}
	}
}

// checkName reports what makes a name unsafe.
func checkName(name string) error {
	if !fs.ValidPath(name) || len(name) > virtualzip.MaxName {
		return fmt.Errorf("%q is not a valid path, or too long", name)
	}
	for segment := range strings.SplitSeq(name, "/") {
		switch {
		case len(segment) > virtualzip.MaxSegment:
			return fmt.Errorf("%q: a segment is too long", name)
		case strings.TrimLeft(segment, ".-") != segment || strings.TrimRight(segment, ". ") != segment:
			return fmt.Errorf("%q: a segment begins or ends badly", name)
		case strings.ContainsAny(segment, `\:*?"<>|$%&'`+"`") || strings.ContainsFunc(segment, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }):
			return fmt.Errorf("%q: a character is not safe", name)
		case device.MatchString(segment):
			return fmt.Errorf("%q: a segment is a device", name)
		}
	}
	return nil
}

var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)`)

// fold maps names to the same name that a case-insensitive file system considers equal.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// checkApart reports whether two names cannot be unpacked side by side.
func checkApart(a, b string) error {
	a, b = fold(a), fold(b)
	if a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") {
		return fmt.Errorf("%q and %q exclude each other", a, b)
	}
	return nil
}

// TestSpellingsApart: names that people or file systems consider equal differ if their
// URIs do.
func TestSpellingsApart(t *testing.T) {
	uris := []string{
		"https://example.org/caf%C3%A9.txt", "https://example.org/caf%c3%a9.txt", "https://example.org/café.txt", // NFC
		"https://example.org/cafe%CC%81.txt", "https://example.org/cafe\u0301.txt", // NFD
		"https://example.org/%63af%C3%A9.txt", "https://example.org/CAF%C3%89.txt", "https://example.org/./caf%C3%A9.txt",
		"https://example.org/caf%C3%A9.txt?", "https://example.org/caf%C3%A9.txt#", "https://example.org/caf%C3%A9.txt?#",
		"https://example.org//caf%C3%A9.txt", "https://example.org:443/caf%C3%A9.txt", "https://EXAMPLE.org/caf%C3%A9.txt",
	}
	// Without letter case and marks, which is more than any file system overlooks.
	plain := strings.NewReplacer("é", "e", "É", "e", "\u0301", "")
	for i, a := range uris {
		for _, b := range uris[:i] {
			if err := checkApart(plain.Replace(virtualzip.Name("r", a)), plain.Replace(virtualzip.Name("r", b))); err != nil {
				t.Errorf("%q, %q: %v", a, b, err)
			}
		}
	}
}

// TestNamesApart makes names of URIs that are as alike as possible.
func TestNamesApart(t *testing.T) {
	parts := []string{"a", "A", "/", "/", ".", "b", ".pdf", ".PDF", "~", "%", "%2F", "%c3%a9", "e%CC%81", "é", "?", "_", "-", "\u212a", "k", ".git", "index", "#", ":", "//", "c5zk23of3liowozbqzzzo4djbm", "~c5zk23of3liowozbqzzzo4djbm", "con"}
	r := rand.New(rand.NewPCG(1, 2))
	uris := make(map[string]string) // by folded name
	folders := make(map[string]string)
	for range 20_000 {
		uri := []string{"https://h/", "http://h/", "https://", "https:", "h/", "HTTPS://h/"}[r.IntN(6)]
		for range r.IntN(6) {
			uri += parts[r.IntN(len(parts))]
		}
		name := virtualzip.Name("r", uri)
		if err := checkName(name); err != nil {
			t.Fatalf("Name(%q): %v", uri, err)
		}
		key := fold(name)
		if other, ok := uris[key]; ok && other != uri {
			t.Fatalf("%q and %q have the name %q", uri, other, name)
		}
		uris[key] = uri
		for i, c := range key {
			if c == '/' {
				folders[key[:i]] = uri
			}
		}
	}
	for name, uri := range uris {
		if other, ok := folders[name]; ok {
			t.Fatalf("%q is at %q, a folder for %q", uri, name, other)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("https://example.org/a.pdf", "https://example.org/A.pdf")
	f.Add("https://example.org/a.pdf", "https://example.org/a.pdf/b.pdf")
	f.Add("https://example.org/%2e%2e", "https://example.org/"+strings.Repeat("é", 300))
	f.Add("https://example.org", "://")
	f.Fuzz(func(t *testing.T, a, b string) {
		nameA, nameB := virtualzip.Name("resources", a), virtualzip.Name("resources", b)
		for _, name := range []string{nameA, nameB} {
			if err := checkName(name); err != nil {
				t.Error(err)
			}
			if !utf8.ValidString(name) {
				t.Errorf("%q is not UTF-8", name)
			}
		}
		if a != b {
			if err := checkApart(nameA, nameB); err != nil {
				t.Error(err)
			}
		}
	})
}
