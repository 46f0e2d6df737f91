package dir

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestD8_ListAndGETAgree: for each media type that a name can indicate, and for names
// that indicate none, a list has the same type and content coding as GET and HEAD
// responses.
func TestD8_ListAndGETAgree(t *testing.T) {
	here := t.TempDir()
	for ext := range mediaTypes {
		write(t, here, "x"+ext, "content of "+ext)
		write(t, here, "x"+ext+".gz", "content of "+ext)
	}
	write(t, here, "X.SVGZ", "\x1f\x8b\x08")
	write(t, here, "unknown", "text")
	age(t, here)
	d := openDir(t, here, nil)
	server := httptest.NewServer(d.Handler(nil))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	coded := 0
	for _, r := range complete(t, d) {
		live := server.URL + strings.TrimPrefix(r.URI, "https://example.org")
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got, body := do(t, client, method, live)
			checkHeader(t, got, r)
			if coding := got.Header.Get("Content-Encoding"); coding != r.Encoding {
				t.Errorf("%s %s: Content-Encoding %q, listed %q", method, r.Key, coding, r.Encoding)
			}
			if sum := fmt.Sprintf("%x", sha256.Sum256(body)); method == http.MethodGet && sum != r.Hashes[0].Digest {
				t.Errorf("%s: other bytes", r.Key)
			}
		}
		if r.Encoding != "" {
			coded++
		}
	}
	if coded != 2 {
		t.Errorf("%d files have a content coding, want x.svgz and X.SVGZ", coded)
	}
	part := serve(d, http.MethodGet, base+"x.svgz", http.Header{"Range": {"bytes=0-1"}})
	if part.Code != http.StatusPartialContent || part.Header().Get("Content-Length") != "2" || part.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("a range: %d %v", part.Code, part.Header())
	}
	missing := serve(d, http.MethodGet, base+"x.svgz", http.Header{"Range": {"bytes=1000-"}})
	if missing.Code != http.StatusRequestedRangeNotSatisfiable || missing.Header().Get("Content-Encoding") != "" {
		t.Errorf("no range: %d %v", missing.Code, missing.Header())
	}
	changed := serve(d, http.MethodGet, base+"x.svgz", http.Header{"If-Match": {`"x"`}})
	if changed.Code != http.StatusPreconditionFailed || changed.Header().Get("Content-Length") != "" {
		t.Errorf("another version: %d %v", changed.Code, changed.Header())
	}
}
