package bucket

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

func TestTemplate(t *testing.T) {
	for _, wrong := range []string{
		"", "https://example.org/", "https://example.org/{name}", "https://example.org/{key}/{key}", "{key}",
		"ftp://example.org/{key}", "https://{key}", "https://u:p@example.org/{key}", "https://example.org/%{key}", "https://example.org/#{key}", "https://example.org/ü/{key}",
	} {
		if _, err := parseTemplate(wrong); err == nil || !strings.Contains(err.Error(), "bucket: URI") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	for _, c := range []struct{ template, key, uri string }{
		{"https://example.org/{key}", "a b/c+d", "https://example.org/a%20b/c%2Bd"},
		{"https://example.org/get?name={key}&x", "ü", "https://example.org/get?name=%C3%BC&x"},
	} {
		parsed, err := parseTemplate(c.template)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.uri(c.key); got != c.uri || !parsed.isURI(c.uri, c.key) || parsed.isURI(c.uri, c.key+"x") || parsed.isURI("x"+c.uri, c.key) {
			t.Errorf("%s of %q: %s, expected %s", c.template, c.key, got, c.uri)
		}
		if n := testing.AllocsPerRun(10, func() { parsed.isURI(c.uri, c.key) }); n != 0 {
			t.Errorf("isURI takes %v allocations", n)
		}
	}
}

// Each name has a URI of its own, from which it is found again.
func FuzzTemplate(f *testing.F) {
	f.Add("a b/ü+%2F")
	parsed, err := parseTemplate("https://example.org/{key}?x")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if key == "" || len(key) > 600 {
			return
		}
		uri := parsed.uri(key)
		if got, err := parsed.key(uri); got != key || err != nil || rsxml.CheckURI(uri) != nil || !parsed.isURI(uri, key) {
			t.Errorf("%q: %s, %q, %v", key, uri, got, err)
		}
	})
}

// However often the bucket is scanned, each object is due once in a period.
func TestIsDue(t *testing.T) {
	b := &Bucket{options: Options{VerifyEvery: time.Hour}}
	begin := time.Unix(1_800_000_000, 0)
	for _, key := range []string{"a", "b", "folder/c", "folder/d"} {
		due := 0
		for last, now := begin, begin; now.Before(begin.Add(3 * time.Hour)); last = now {
			if now = now.Add(7 * time.Minute); now.After(begin.Add(3 * time.Hour)) {
				now = begin.Add(3 * time.Hour)
			}
			if b.isDue(key, last, now) {
				due++
			}
		}
		if due != 3 {
			t.Errorf("%s was due %d times in 3 periods", key, due)
		}
	}
	if !b.isDue("a", begin, begin.Add(2*time.Hour)) {
		t.Error("after a long time an object is not due")
	}
}

func TestContentEncoding(t *testing.T) {
	for coding, want := range map[string]string{"": "", "gzip": "gzip", "aws-chunked": "", "identity": "", "a\"b": ""} {
		if got := contentEncoding(http.Header{"Content-Encoding": {coding}}); got != want {
			t.Errorf("%q: %q", coding, got)
		}
	}
}
