package rshttp_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// sized is a provider of n resources whose entries have about size bytes.
type sized struct{ n, size int }

func (s sized) Resources(_ context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		attrs := []resourcesync.Attr{{Space: "urn:weight", Name: "w", Value: strings.Repeat("l", s.size)}}
		for i := range s.n {
			res := resource(fmt.Sprintf("%06d", i))
			res.Attrs = attrs
			if r.Contains(res.Key) && !yield(res, nil) {
				return
			}
		}
	}
}

// counting divides by number alone, as an index-only scan of a table does.
type counting struct{ sized }

func (c counting) Cuts(_ context.Context, _ []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	var cuts []resourcesync.Cut
	for i := every; i < c.n; i += every {
		cuts = append(cuts, resourcesync.Cut{Key: fmt.Sprintf("%06d", i), Count: every})
	}
	return append(cuts, resourcesync.Cut{}), nil
}

// listed follows a Resource List and its index and returns what they list.
func listed(t testing.TB, src *rshttp.Source, path string) (uris []string, pages int) {
	t.Helper()
	res := get(t, src, path)
	if res.StatusCode != 200 {
		t.Fatalf("%s: %s", path, res.Status)
	}
	body := text(t, res)
	if !strings.Contains(body, "<sitemapindex") {
		return locs(body), 0
	}
	for _, loc := range locs(body) {
		part, _ := listed(t, src, strings.TrimPrefix(loc, "https://example.org"))
		uris = append(uris, part...)
		pages++
	}
	return uris, pages
}

// locs returns the URIs that a document lists. The decoder, which has its own tests, and a
// regular expression would take too long for the large documents of these tests.
func locs(body string) (uris []string) {
	for _, after := range strings.Split(body, "<loc>")[1:] {
		uri, _, _ := strings.Cut(after, "</loc>")
		uris = append(uris, uri)
	}
	return uris
}

// TestByteLimit: 120 entries of half a megabyte do not fit into one document. If the
// provider is walked, it is divided by bytes at once. If it only counts, the first
// request for a page detects that it is too large, and the index is divided again.
func TestByteLimit(t *testing.T) {
	needs.Time(t)
	heavy := sized{120, 500_000}
	src := newSource(t, nil, rshttp.Set{Provider: heavy})
	if uris, pages := listed(t, src, "/resourcesync/resourcelist.xml"); len(uris) != heavy.n || pages != 2 {
		t.Errorf("%d resources on %d pages", len(uris), pages)
	}

	src = newSource(t, nil, rshttp.Set{Provider: counting{heavy}})
	if uris, pages := listed(t, src, "/resourcesync/resourcelist.xml"); len(uris) != heavy.n || pages != 2 {
		t.Errorf("counted: %d resources on %d pages", len(uris), pages)
	}

	src = newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 110}}, rshttp.Set{Provider: counting{heavy}})
	_, entries, err := rsxml.Decode(get(t, src, "/resourcesync/resourcelist.xml").Body)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.TrimPrefix(entries[0].Loc, "https://example.org")
	res := get(t, src, first)
	if res.StatusCode != 410 || !strings.Contains(res.Header.Get("Link"), `resourcelist.xml>; rel="index"`) {
		t.Errorf("a page beyond 50 MB: %s, Link %q", res.Status, res.Header.Get("Link"))
	}
	if uris, pages := listed(t, src, "/resourcesync/resourcelist.xml"); len(uris) != heavy.n || pages != 3 {
		t.Errorf("counted and learned: %d resources on %d pages", len(uris), pages)
	}
}

// TestOutgrownPage: a range with more entries than a document may have is answered 410,
// never with a truncated list.
func TestOutgrownPage(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Provider: sized{rsxml.MaxEntries + 1, 0}})
	res := get(t, src, "/resourcesync/resourcelist/~.xml")
	if res.StatusCode != 410 || res.Header.Get("Link") != `<https://example.org/resourcesync/resourcelist.xml>; rel="index"` {
		t.Errorf("%s, Link %q", res.Status, res.Header.Get("Link"))
	}
	if body := text(t, res); strings.Contains(body, "<loc>") {
		t.Error("a list cut off")
	}
	if uris, _ := listed(t, src, "/resourcesync/resourcelist.xml"); len(uris) != rsxml.MaxEntries+1 {
		t.Errorf("the index leads to %d resources", len(uris))
	}
}

// TestPageURLs: pages have URLs that a <loc> can hold, whether the longest keys
// differ in their last bytes alone or have nothing in common.
func TestPageURLs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var p wrong
	for first := range 8 {
		for range 16 {
			key := bytes.Repeat([]byte{byte(0xf0 + first)}, resourcesync.MaxKeyLength)
			for i := resourcesync.MaxKeyLength - 4; i < len(key); i++ {
				key[i] = byte(rnd.IntN(256))
			}
			p = append(p, resourcesync.Resource{Key: string(key), URI: "https://example.org/"})
		}
	}
	slices.SortFunc(p, func(a, b resourcesync.Resource) int { return strings.Compare(a.Key, b.Key) })
	for every := range 20 {
		src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 1 + every}}, rshttp.Set{Provider: p})
		_, entries, err := rsxml.Decode(get(t, src, "/resourcesync/resourcelist.xml").Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := rsxml.CheckURI(e.Loc); err != nil {
				t.Errorf("a URL of %d characters: %v", len(e.Loc), err)
			}
		}
	}
}
