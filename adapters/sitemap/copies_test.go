package sitemap

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestCopyOfTheSecond: a sitemap that was written in the second of the response can change again with
// the same Last-Modified, which is therefore no condition of the next request.
func TestCopyOfTheSecond(t *testing.T) {
	const date = "Tue, 03 Mar 2026 12:00:00 GMT"
	u, err := url.Parse("https://example.org/sitemap.xml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCopies(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for modified, kept := range map[string]bool{date: false, "Tue, 03 Mar 2026 11:59:59 GMT": true} {
		d, err := c.download(u, http.Header{"Date": {date}, "Last-Modified": {modified}}, strings.NewReader("<urlset/>"))
		if err != nil {
			t.Fatal(err)
		}
		d.end(true)
		copied := c.open(u)
		if copied == nil != !kept {
			t.Fatalf("%s: there is a copy: %t", modified, copied != nil)
		}
		if copied == nil {
			continue
		}
		if got := copied.Header().Get("If-Modified-Since"); got != modified {
			t.Errorf("the next request says If-Modified-Since: %q", got)
		}
		if text, err := io.ReadAll(copied); err != nil || string(text) != "<urlset/>" {
			t.Errorf("the copy is %q, %v", text, err)
		}
		copied.close()
		c.prune(nil)
	}
}
