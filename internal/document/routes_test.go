package document

import (
	"net/url"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// FuzzRoutes requests any path. A path that finds a document is exactly the path of the
// document's URL; all other paths find nothing.
func FuzzRoutes(f *testing.F) {
	for _, seed := range []string{
		"/.well-known/resourcesync", "/rs/a/capabilitylist.xml", "/rs/a/resourcelist/~.xml", "/rs/a/resourcelist/YQ~1.Yg.xml",
		"/rs/a/changelist/20260101T000000.000000000Z.xml", "/rs/description/7.xml", "/rs//resourcelist.xml", "/rs/a/../b.xml",
		"/rs/a/resourcelist/%7E.xml", "/rs/a/sitemap/~Yw.xml", "/rs/{set}/resourcelist.xml", "/rs/a/resourcelist.xml/",
		"/rs/a/framework/", "/rs/a/change/", "/rs/a//framework/",
	} {
		f.Add(seed)
	}
	base, err := url.Parse("https://example.org/rs/")
	if err != nil {
		f.Fatal(err)
	}
	rt := newRoutes(base, true, false, kinds(&Config{PlainSitemaps: true, HTML: true}, &Description{}, true))
	sets := map[string]*Set{"a": {Given: Given{Name: "a", Hubs: []string{""}}}}
	f.Fuzz(func(t *testing.T, path string) {
		to, ok := rt.Match(path, sets)
		if !ok {
			return
		}
		back := rt.URL(to.Kind.Name, to.Set, to.Part)
		u, err := url.Parse(back)
		if err != nil || u.Path != path {
			t.Errorf("%q leads to %s, which lies at %s", path, to.Kind.Name, back)
		}
		if to.Kind.Name == KindResourcePage {
			if r, ok := partition.ParseRange(to.Part); ok && partition.FormatRange(r) != to.Part {
				t.Errorf("%q is another name of %s", to.Part, partition.FormatRange(r))
			}
		}
	})
}

// TestMatchIsCheap: a request to an application is not delayed by the Source in front
// of it.
func TestMatchIsCheap(t *testing.T) {
	for _, at := range []string{"https://example.org/rs/", "https://example.org/"} {
		base, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		rt := newRoutes(base, true, false, kinds(&Config{HTML: true}, &Description{}, true))
		for _, path := range []string{"/", "/papers/1", "/papers/", "/rs/papers/1", "/rs/"} {
			if n := testing.AllocsPerRun(100, func() { rt.Match(path, nil) }); n > 0 {
				t.Errorf("%s in front of %s: %v allocations", at, path, n)
			}
		}
	}
}
