package rshttp_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestD7_DocumentsAtTheRoot: with the base /, the Source takes the paths that Paths
// lists and leaves all others to the application.
func TestD7_DocumentsAtTheRoot(t *testing.T) {
	src, err := rshttp.New("https://example.org/", []rshttp.Set{{Provider: memory.New(nil)}}, &rshttp.Options{Sitemaps: rshttp.PlainSitemaps})
	if err != nil {
		t.Fatal(err)
	}
	paths := src.Paths()
	for _, want := range []string{"capabilitylist.xml", "changelist.xml", "changelist/", "description/", "resourcelist.xml", "resourcelist/", "sitemap.xml", "sitemap/"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%q is not in %q", want, paths)
		}
	}
	if slices.Contains(paths, "resourcedump.xml") {
		t.Errorf("a set without content has a dump in %q", paths)
	}
	app := src.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for path, want := range map[string]int{
		"/capabilitylist.xml": 200, "/resourcelist.xml": 200, "/sitemap.xml": 200, "/.well-known/resourcesync": 200,
		"/": 418, "/a.xml": 418, "/a/resourcelist.xml": 418, "/resourcedump.xml": 418, "/resourcelist": 418, "/a.zip": 418,
	} {
		w := httptest.NewRecorder()
		app.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}
